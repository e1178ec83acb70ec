// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid scalars of a step. Labels are those of docs/spec/model.md.

// power_sum_c1: no gradients
func.func @f() {
  // expected-error @below {{'model.power_sum' op failed to verify that there is at least one operand}}
  %0 = model.power_sum {p = 2.0 : f64} : () -> tensor<f32>
  return
}

// -----

// power_sum_c2: a result with dims
func.func @f(%g: tensor<2xf32>) {
  // expected-error @below {{'model.power_sum' op result #0 must be scalar tensor of 32-bit float or 64-bit float values, but got 'tensor<2xf32>'}}
  %0 = model.power_sum %g {p = 2.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// power_sum_c3: a power of 0
func.func @f(%g: tensor<2xf32>) {
  // expected-error @below {{'model.power_sum' op attribute 'p' failed to satisfy constraint: 64-bit float attribute whose value is above 0}}
  %0 = model.power_sum %g {p = 0.0 : f64} : (tensor<2xf32>) -> tensor<f32>
  return
}

// -----

// norm_root_c1: an operand with dims
func.func @f(%s: tensor<2xf32>) {
  // expected-error @below {{'model.norm_root' op operand #0 must be scalar tensor of 32-bit float or 64-bit float values, but got 'tensor<2xf32>'}}
  %0 = model.norm_root %s {p = 2.0 : f64} : (tensor<2xf32>) -> tensor<f32>
  return
}

// -----

// norm_root_c2: a negative power
func.func @f(%s: tensor<f32>) {
  // expected-error @below {{'model.norm_root' op attribute 'p' failed to satisfy constraint: 64-bit float attribute whose value is above 0}}
  %0 = model.norm_root %s {p = -1.0 : f64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// clip_coefficient_c1: a result with dims
func.func @f(%s: tensor<f32>) {
  // expected-error @below {{'model.clip_coefficient' op result #0 must be scalar tensor of 32-bit float or 64-bit float values, but got 'tensor<1xf32>'}}
  %0 = model.clip_coefficient %s {max_norm = 1.0 : f64} : (tensor<f32>) -> tensor<1xf32>
  return
}

// -----

// clip_coefficient_c2: a limit of 0
func.func @f(%s: tensor<f32>) {
  // expected-error @below {{'model.clip_coefficient' op attribute 'max_norm' failed to satisfy constraint: 64-bit float attribute whose value is above 0}}
  %0 = model.clip_coefficient %s {max_norm = 0.0 : f64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// all_finite_c1: no scalars
func.func @f() {
  // expected-error @below {{'model.all_finite' op failed to verify that there is at least one operand}}
  %0 = model.all_finite : () -> tensor<ui8>
  return
}

// -----

// all_finite_c2: an operand with dims
func.func @f(%s: tensor<f32>, %v: tensor<3xf32>) {
  // expected-error @below {{'model.all_finite' op operand #1 must be variadic of scalar tensor of 32-bit float or 64-bit float values, but got 'tensor<3xf32>'}}
  %0 = model.all_finite %s, %v : (tensor<f32>, tensor<3xf32>) -> tensor<ui8>
  return
}
