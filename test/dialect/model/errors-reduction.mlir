// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid reductions. Labels are those of docs/spec/model.md.

// reduce_c1: a dim that the operand does not have
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @below {{'model.reduce_sum' op dim is out of range, expected at least 0 and less than 2 but got 2}}
  %0 = model.reduce_sum %x {dims = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_c1: a negative dim
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @below {{'model.reduce_max' op dim is out of range, expected at least 0 and less than 2 but got -1}}
  %0 = model.reduce_max %x {dims = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// reduce_c1: a dim twice
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @below {{'model.reduce_mean' op dims are out of order, expected rising dims but got 1 after 1}}
  %0 = model.reduce_mean %x {dims = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// without keep the dims are removed
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @below {{'model.reduce_sum' op inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<2x1xf32>'}}
  // expected-error @below {{'model.reduce_sum' op failed to infer returned types}}
  %0 = model.reduce_sum %x {dims = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  return
}
