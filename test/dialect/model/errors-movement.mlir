// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid data movement. Labels are those of docs/spec/model.md.

// broadcast_c1: an extent that does not repeat
func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{'model.broadcast' op operand does not broadcast to the result, expected extents of 4 or 1 but got 2}}
  %0 = model.broadcast %x : (tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

// broadcast_c1: a result smaller than the operand
func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{'model.broadcast' op operand does not broadcast to the result, expected extents of 1 or 1 but got 2}}
  %0 = model.broadcast %x : (tensor<2xf32>) -> tensor<1xf32>
  return
}

// -----

// broadcast_c2: a different element type
func.func @f(%x: tensor<1xf32>) {
  // expected-error @below {{'model.broadcast' op result has the wrong element type, expected 'f32' but got 'f64'}}
  %0 = model.broadcast %x : (tensor<1xf32>) -> tensor<2xf64>
  return
}

// -----

// reshape_c1: a different number of elements
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @below {{'model.reshape' op result has the wrong number of elements, expected 6 but got 5}}
  %0 = model.reshape %x : (tensor<2x3xf32>) -> tensor<5xf32>
  return
}

// -----

// reshape_c2: a different element type
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @below {{'model.reshape' op result has the wrong element type, expected 'f32' but got 'f64'}}
  %0 = model.reshape %x : (tensor<2x3xf32>) -> tensor<6xf64>
  return
}

// -----

// transpose_c1: a dim twice
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @below {{'model.transpose' op not a permutation, expected each of 0 to 1 once but got [0, 0]}}
  %0 = model.transpose %x {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

// slice_c1: a list for two dims
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.slice' op start has the wrong length, expected 1 but got 2}}
  %0 = model.slice %x {start = array<i64: 0, 0>, limit = array<i64: 2>, step = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// slice_c2: beyond the end
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.slice' op range is out of bounds in dim 0, expected 0 <= start <= limit <= 4 but got 0 and 5}}
  %0 = model.slice %x {start = array<i64: 0>, limit = array<i64: 5>, step = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// slice_c2: no step
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.slice' op step is out of range in dim 0, expected at least 1 but got 0}}
  %0 = model.slice %x {start = array<i64: 0>, limit = array<i64: 2>, step = array<i64: 0>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// split_c1: a dim that the operand does not have
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.split' op dim is out of range, expected at least 0 and less than 1 but got 1}}
  %0:2 = model.split %x {dim = 1 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// split_c2: a result with a different extent of another dim
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @below {{'model.split' op result has the wrong shape, expected 2x6 but got 2x3}}
  %0:2 = model.split %x {dim = 0 : i64} : (tensor<4x6xf32>) -> (tensor<2x6xf32>, tensor<2x3xf32>)
  return
}

// -----

// split_c3: results that are smaller than the operand
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.split' op sum of the results' extents along dim 0, expected 4 but got 3}}
  %0:2 = model.split %x {dim = 0 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<1xf32>)
  return
}

// -----

// concat_c1: no operands
func.func @f() {
  // expected-error @below {{'model.concat' op operands are missing, expected at least 1 but got 0}}
  %0 = model.concat {dim = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

// concat_c2: a dim that the operands do not have
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.concat' op dim is out of range, expected at least 0 and less than 1 but got 1}}
  %0 = model.concat %x, %x {dim = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

// concat_c3: operands with different extents of another dim
func.func @f(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) {
  // expected-error @below {{'model.concat' op operand has the wrong shape, expected 4x2 but got 4x3}}
  %0 = model.concat %x, %y {dim = 0 : i64} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<8x2xf32>
  return
}

// -----

// pad_c1: a list for two dims
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.pad' op high has the wrong length, expected 1 but got 2}}
  %0 = model.pad %x {low = array<i64: 1>, high = array<i64: 1, 1>, step = array<i64: 1>, value = 0.0 : f64} : (tensor<4xf32>) -> tensor<6xf32>
  return
}

// -----

// pad_c2: negative padding
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.pad' op padding is out of range in dim 0, expected at least 0 but got -1 and 1}}
  %0 = model.pad %x {low = array<i64: -1>, high = array<i64: 1>, step = array<i64: 1>, value = 0.0 : f64} : (tensor<4xf32>) -> tensor<6xf32>
  return
}

// -----

// pad_c2: no step
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.pad' op step is out of range in dim 0, expected at least 1 but got 0}}
  %0 = model.pad %x {low = array<i64: 1>, high = array<i64: 1>, step = array<i64: 0>, value = 0.0 : f64} : (tensor<4xf32>) -> tensor<6xf32>
  return
}

// -----

// gather_c1: a table without rows
func.func @f(%x: tensor<f32>, %i: tensor<2xi32>) {
  // expected-error @below {{values of rank 1 or more, but got 'tensor<f32>'}}
  %0 = model.gather %x, %i : (tensor<f32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

// scatter_add_c1: a result without rows
func.func @f(%x: tensor<2xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{values of rank 1 or more, but got 'tensor<f32>'}}
  %0 = model.scatter_add %x, %i : (tensor<2xf32>, tensor<2xi32>) -> tensor<f32>
  return
}

// -----

// scatter_add_c2: updates of a different shape
func.func @f(%x: tensor<2x3xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'model.scatter_add' op operand #0 has the wrong extents, expected [2, 4] but got [2, 3]}}
  %0 = model.scatter_add %x, %i : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<9x4xf32>
  return
}
