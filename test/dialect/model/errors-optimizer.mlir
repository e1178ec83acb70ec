// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid optimizer updates. Labels are those of docs/spec/model.md.

// update_c2: a gradient of a different shape
func.func @f(%p: tensor<4xf32>, %g: tensor<3xf32>, %lr: tensor<f32>, %s: tensor<i64>, %c: tensor<f32>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.adam' op gradient has the wrong shape, expected 4 but got 3}}
  %0:3 = model.adam %p, %g, %p, %p, %lr, %s, %c, %ok {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// update_c2: a gradient of a different element type
func.func @f(%p: tensor<4xf32>, %g: tensor<4xbf16>, %lr: tensor<f32>, %s: tensor<i64>, %c: tensor<f32>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.adamw' op gradient has the wrong element type, expected 'f32' but got 'bf16'}}
  %0:3 = model.adamw %p, %g, %p, %p, %lr, %s, %c, %ok {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// update_c3: a learning rate with dims
func.func @f(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<1xf32>, %s: tensor<i64>, %c: tensor<f32>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.adamw' op operand #4 must be scalar tensor of 32-bit float or 64-bit float values, but got 'tensor<1xf32>'}}
  %0:3 = model.adamw %p, %g, %p, %p, %lr, %s, %c, %ok {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xf32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// update_c2: a gradient of a different shape
func.func @f(%p: tensor<4xf32>, %g: tensor<3xf32>, %lr: tensor<f32>, %s: tensor<i64>, %c: tensor<f32>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.sgd' op gradient has the wrong shape, expected 4 but got 3}}
  %0 = model.sgd %p, %g, %lr, %s, %c, %ok {momentum = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = false} : (tensor<4xf32>, tensor<3xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  return
}

// -----

// update_c1: momentum without its buffer
func.func @f(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %s: tensor<i64>, %c: tensor<f32>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.sgd' op lists do not fit, expected 3 operands and 2 results for each parameter but got 2 and 1}}
  %0 = model.sgd %p, %g, %lr, %s, %c, %ok {momentum = 0.9 : f64, weight_decay = 0.0 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  return
}

// -----

// update_c1: a buffer without momentum
func.func @f(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %s: tensor<i64>, %c: tensor<f32>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.sgd' op lists do not fit, expected 2 operands and 1 result for each parameter but got 3 and 2}}
  %0:2 = model.sgd %p, %g, %p, %lr, %s, %c, %ok {momentum = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// sgd_c1: nesterov without momentum
func.func @f(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %s: tensor<i64>, %c: tensor<f32>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.sgd' op nesterov without momentum, expected momentum more than 0 but got 0}}
  %0 = model.sgd %p, %g, %lr, %s, %c, %ok {momentum = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = true} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  return
}

// -----

// update_c3: a guard with dims
func.func @f(%p: tensor<4xf32>, %lr: tensor<f32>, %s: tensor<i64>, %ok: tensor<2xui8>) {
  // expected-error @below {{'model.sgd' op operand #5 must be scalar tensor of 8-bit unsigned integer values, but got 'tensor<2xui8>'}}
  %0 = model.sgd %p, %p, %lr, %s, %lr, %ok {momentum = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<2xui8>) -> tensor<4xf32>
  return
}

// -----

// update_c1: no parameter
func.func @f(%lr: tensor<f32>, %s: tensor<i64>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.sgd' op lists do not fit, expected 2 operands and 1 result for each parameter but got 0 and 0}}
  model.sgd %lr, %s, %lr, %ok {momentum = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = false} : (tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> ()
  return
}

// -----

// update_c1: a second parameter without a gradient
func.func @f(%p: tensor<4xf32>, %lr: tensor<f32>, %s: tensor<i64>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.sgd' op lists do not fit, expected 2 operands and 1 result for each parameter but got 3 and 2}}
  %0:2 = model.sgd %p, %p, %p, %lr, %s, %lr, %ok {momentum = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// update_c2: a second parameter's state of a different shape
func.func @f(%p: tensor<4xf32>, %q: tensor<3xf32>, %lr: tensor<f32>, %s: tensor<i64>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.adamw' op exp_avg_sq has the wrong shape, expected 3 but got 4}}
  %0:6 = model.adamw %p, %p, %p, %p, %q, %q, %q, %p, %lr, %s, %lr, %ok {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// update_c2: a new parameter of a different shape
func.func @f(%p: tensor<4xf32>, %lr: tensor<f32>, %s: tensor<i64>, %ok: tensor<ui8>) {
  // expected-error @below {{'model.sgd' op new parameter has the wrong shape, expected 4 but got 3}}
  %0 = model.sgd %p, %p, %lr, %s, %lr, %ok {momentum = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<3xf32>
  return
}
