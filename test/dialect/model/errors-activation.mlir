// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid activations. Labels are those of docs/spec/model.md.

// gelu_c1: an unknown approximation
func.func @f(%x: tensor<2xf32>) {
  // expected-error @+2 {{expected one of [none, tanh] for an approximation of GELU, got: sigmoid}}
  // expected-error @+1 {{failed to parse Model_GeluApproximationAttr parameter 'value' which is to be a `::sluice::GeluApproximation`}}
  %0 = model.gelu %x {approximate = #model.approximation<sigmoid>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// gelu_grad_c1: a cotangent of a different element type
func.func @f(%x: tensor<2xf32>, %dy: tensor<2xf64>) {
  // expected-error @below {{'model.gelu_grad' op failed to verify that all of {dy, x} have same type}}
  %0 = model.gelu_grad %dy, %x {approximate = #model.approximation<tanh>} : (tensor<2xf64>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// gelu_grad_c2: an unknown approximation
func.func @f(%x: tensor<2xf32>) {
  // expected-error @+2 {{expected one of [none, tanh] for an approximation of GELU, got: erf}}
  // expected-error @+1 {{failed to parse Model_GeluApproximationAttr parameter 'value' which is to be a `::sluice::GeluApproximation`}}
  %0 = model.gelu_grad %x, %x {approximate = #model.approximation<erf>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
