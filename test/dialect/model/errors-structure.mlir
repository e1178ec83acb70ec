// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid parameters, modules and steps. Labels are those of docs/spec/model.md.

// parameter_c1: an unknown initializer, in the short form
// expected-error @below {{expected zeros, ones, constant, normal, uniform or undefined but got 'xavier'}}
model.parameter @w : tensor<2xf32> xavier

// -----

// parameter_c1: an unknown initializer, in the generic form
// expected-error @below {{'model.parameter' op attribute 'init' failed to satisfy constraint: an initializer}}
"model.parameter"() {sym_name = "w", type = tensor<2xf32>, init = "xavier"} : () -> ()

// -----

// parameter_c2: a negative standard deviation
// expected-error @below {{'model.parameter' op standard deviation is out of range, expected at least 0 but got -1}}
model.parameter @w : tensor<2xf32> normal(0.0, -1.0)

// -----

// parameter_c2: a range whose end is before its begin
// expected-error @below {{'model.parameter' op range is empty, expected low at most high but got 1.000000e+00 and -1.000000e+00}}
model.parameter @w : tensor<2xf32> uniform(1.0, -1.0)

// -----

// read_c1: no such parameter
func.func @f() {
  // expected-error @below {{'model.read' op unknown parameter, expected a model.parameter but got @w}}
  %0 = model.read @w : tensor<2xf32>
  return
}

// -----

// read_c2: a different shape than the parameter's
// expected-note @below {{parameter declared here}}
model.parameter @w : tensor<2xf32> zeros
func.func @f() {
  // expected-error @below {{'model.read' op value has the wrong type, expected a float tensor of shape 2 but got 'tensor<3xf32>'}}
  %0 = model.read @w : tensor<3xf32>
  return
}

// -----

// write_c1: a symbol that is not a parameter
func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{'model.write' op unknown parameter, expected a model.parameter but got @f}}
  model.write @f, %x : tensor<2xf32>
  return
}

// -----

// write_c2: an integer value
// expected-note @below {{parameter declared here}}
model.parameter @w : tensor<2xf32> zeros
func.func @f(%x: tensor<2xi32>) {
  // expected-error @below {{'model.write' op value has the wrong type, expected a float tensor of shape 2 but got 'tensor<2xi32>'}}
  model.write @w, %x : tensor<2xi32>
  return
}

// -----

// gradient_c2: a different shape than the parameter's
// expected-note @below {{parameter declared here}}
model.parameter @w : tensor<f32> zeros
func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{'model.gradient' op value has the wrong type, expected a float tensor of shape scalar but got 'tensor<2xf32>'}}
  %0 = model.gradient @w, %x : tensor<2xf32>
  return
}

// -----

// yield_c1: a value that is not the region's result
func.func @f(%x: tensor<2xf32>) {
  // expected-note @below {{region of this op}}
  %0 = model.block "h" -> tensor<3xf32> {
    // expected-error @below {{'model.yield' op values do not fit the region's results, expected 'tensor<3xf32>' but got 'tensor<2xf32>'}}
    model.yield %x : tensor<2xf32>
  }
  return
}

// -----

// parameter_c3: integers without state
// expected-error @below {{'model.parameter' op element type, expected a float, or 'state' on the parameter, but got 'i64'}}
model.parameter @n : tensor<4xi64> zeros

// -----

// parameter_c3: a state has no distribution
// expected-error @below {{'model.parameter' op a state begins with one value, expected zeros, ones, constant or undefined but got normal}}
model.parameter @n : tensor<4xf32> normal(0.0, 1.0) state

// -----

// read_c2: a state is read as it is declared
model.parameter @n : tensor<4xf32> zeros state
func.func @f() {
  // expected-error @below {{'model.read' op value has the wrong type, expected that of the state, 'tensor<4xf32>', but got 'tensor<4xbf16>'}}
  %0 = model.read @n : tensor<4xbf16>
  return
}

// -----

// parameter_c4: a padding row of a tensor that is not a table
// expected-error @below {{'model.parameter' op padding, expected rank 2 and initializer normal or uniform but got rank 1 and normal}}
model.parameter @b : tensor<4xf32> normal(0.0, 1.0) {padding = 0 : i64}

// -----

// parameter_c4: a padding row of a table without an initializer
// expected-error @below {{'model.parameter' op padding, expected rank 2 and initializer normal or uniform but got rank 2 and undefined}}
model.parameter @t : tensor<4x2xf32> undefined {padding = 0 : i64}

// -----

// parameter_c4: a padding row of a constant
// expected-error @below {{'model.parameter' op padding, expected rank 2 and initializer normal or uniform but got rank 2 and ones}}
model.parameter @b : tensor<4x2xf32> ones {padding = 0 : i64}

// -----

// parameter_c4: a row after the table
// expected-error @below {{'model.parameter' op padding 4 is not a row of the table, which has 4 rows}}
model.parameter @b : tensor<4x2xf32> uniform(0.0, 1.0) {padding = 4 : i64}

// -----

// parameter_c4: a row before the table
// expected-error @below {{'model.parameter' op padding -1 is not a row of the table, which has 4 rows}}
model.parameter @b : tensor<4x2xf32> uniform(0.0, 1.0) {padding = -1 : i64, spmd.sharding = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>}
