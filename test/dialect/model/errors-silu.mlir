// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid gates. Labels are those of docs/spec/model.md.

// silu_grad_c1: a cotangent of a different shape
func.func @f(%x: tensor<2xf32>, %dy: tensor<3xf32>) {
  // expected-error @below {{'model.silu_grad' op failed to verify that all of {dy, x} have same type}}
  %0 = model.silu_grad %dy, %x : (tensor<3xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// swiglu_c1: a gate and up of different shapes
func.func @f(%x: tensor<2xf32>, %u: tensor<3xf32>) {
  // expected-error @below {{'model.swiglu' op failed to verify that all of {gate, up} have same type}}
  %0 = model.swiglu %x, %u : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

// swiglu_grad_c1: a gate and up of different shapes
func.func @f(%x: tensor<2xf32>, %u: tensor<2xf64>) {
  // expected-error @below {{'model.swiglu_grad' op failed to verify that all of {dy, gate, up} have same type}}
  %0:2 = model.swiglu_grad %x, %x, %u : (tensor<2xf32>, tensor<2xf32>, tensor<2xf64>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// swiglu_grad_c2: a cotangent of a different shape
func.func @f(%x: tensor<2xf32>, %dy: tensor<3xf32>) {
  // expected-error @below {{'model.swiglu_grad' op failed to verify that all of {dy, gate, up} have same type}}
  %0:2 = model.swiglu_grad %dy, %x, %x : (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}
