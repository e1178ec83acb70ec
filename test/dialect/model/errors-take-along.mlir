// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid indices along a dim. Labels are those of docs/spec/model.md.

// take_along_c1: indices of a different rank
func.func @f(%x: tensor<3x5xf32>, %i: tensor<3xi64>) {
  // expected-error @below {{'model.take_along' op indices have the wrong rank, expected 2 but got 1}}
  %0 = model.take_along %x, %i {dim = 1 : i64} : (tensor<3x5xf32>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

// take_along_c3: more rows than the operand has
func.func @f(%x: tensor<3x5xf32>, %i: tensor<4x2xi64>) {
  // expected-error @below {{'model.take_along' op indices are too long in dim 0, expected at most 3 but got 4}}
  %0 = model.take_along %x, %i {dim = 1 : i64} : (tensor<3x5xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  return
}

// -----

// add_along_c4: updates of a different shape than their indices
func.func @f(%x: tensor<3x3xf32>, %i: tensor<3x2xi64>) {
  // expected-error @below {{'model.add_along' op operand #1 has the wrong extents, expected [3, 3] but got [3, 2]}}
  %0 = model.add_along %x, %i {dim = 1 : i64} : (tensor<3x3xf32>, tensor<3x2xi64>) -> tensor<3x5xf32>
  return
}

// -----

// argmax_c2: a dim of extent 0
func.func @f(%x: tensor<3x0xf32>) {
  // expected-error @below {{'model.argmax' op dim has no maximum, expected an extent of at least 1 but got 0}}
  %0 = model.argmax %x {dim = 1 : i64} : (tensor<3x0xf32>) -> tensor<3xi64>
  return
}
