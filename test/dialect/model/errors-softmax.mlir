// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid softmax. Labels are those of docs/spec/model.md.

// softmax_c1: a scalar
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{'model.softmax' op operand #0 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 1 or more, but got 'tensor<f32>'}}
  %0 = model.softmax %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// softmax_grad_c1: a scalar
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{'model.softmax_grad' op operand #1 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 1 or more, but got 'tensor<f32>'}}
  %0 = model.softmax_grad %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// softmax_grad_c2: a cotangent of a different shape
func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{'model.softmax_grad' op failed to verify that all of {dy, y} have same type}}
  %0 = model.softmax_grad %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}
