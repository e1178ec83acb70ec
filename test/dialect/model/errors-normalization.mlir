// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid norms. Labels are those of docs/spec/model.md.

// layer_norm_c1: a scalar
func.func @f(%x: tensor<f32>, %w: tensor<4xf32>) {
  // expected-error @below {{'model.layer_norm' op operand #0 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 1 or more, but got 'tensor<f32>'}}
  %0:3 = model.layer_norm %x, %w, %w {epsilon = 1.0e-5 : f64} : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// layer_norm_c2: a weight of the wrong length
func.func @f(%x: tensor<2x4xf32>, %w: tensor<3xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'model.layer_norm' op operand #1 has the wrong extents, expected [4] but got [3]}}
  %0:3 = model.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// layer_norm_c2: a bias of a different element type
func.func @f(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{'model.layer_norm' op failed to verify that element type of weight, bias is that of x}}
  %0:3 = model.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf64>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// layer_norm: the statistics of bf16 are f32
func.func @f(%x: tensor<2x4xbf16>, %w: tensor<4xbf16>) {
  // expected-error @below {{'model.layer_norm' op inferred type(s) 'tensor<2x4xbf16>', 'tensor<2xf32>', 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<2x4xbf16>', 'tensor<2xbf16>', 'tensor<2xbf16>'}}
  // expected-error @below {{'model.layer_norm' op failed to infer returned types}}
  %0:3 = model.layer_norm %x, %w, %w {epsilon = 1.0e-5 : f64} : (tensor<2x4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> (tensor<2x4xbf16>, tensor<2xbf16>, tensor<2xbf16>)
  return
}

// -----

// layer_norm_grad_c1: a cotangent of a different shape
func.func @f(%dy: tensor<2x3xf32>, %x: tensor<2x4xf32>, %w: tensor<4xf32>, %m: tensor<2xf32>, %r: tensor<2xf32>) {
  // expected-error @below {{'model.layer_norm_grad' op failed to verify that all of {dy, x, dx} have same type}}
  %0:3 = model.layer_norm_grad %dy, %x, %w, %m, %r : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// layer_norm_grad_c1: a scalar
func.func @f(%dy: tensor<f32>, %x: tensor<f32>, %w: tensor<4xf32>, %m: tensor<2xf32>, %r: tensor<2xf32>) {
  // expected-error @below {{'model.layer_norm_grad' op operand #1 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 1 or more, but got 'tensor<f32>'}}
  %0:3 = model.layer_norm_grad %dy, %x, %w, %m, %r : (tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// layer_norm_grad_c1: an addend of a different shape
func.func @f(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %m: tensor<2xf32>, %a: tensor<4xf32>) {
  // expected-error @below {{'model.layer_norm_grad' op operand #5 has the wrong extents, expected [2, 4] but got [4]}}
  %0:3 = model.layer_norm_grad %x, %x, %w, %m, %m, %a : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// layer_norm_grad_c2: a weight of the wrong length
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %w: tensor<3xf32>, %m: tensor<2xf32>, %r: tensor<2xf32>) {
  // expected-error @below {{'model.layer_norm_grad' op operand #2 has the wrong extents, expected [4] but got [3]}}
  %0:3 = model.layer_norm_grad %dy, %x, %w, %m, %r : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// layer_norm_grad_c3: a mean of a different shape
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %w: tensor<4xf32>, %m: tensor<3xf32>, %r: tensor<2xf32>) {
  // expected-error @below {{'model.layer_norm_grad' op operand #3 has the wrong extents, expected [2] but got [3]}}
  %0:3 = model.layer_norm_grad %dy, %x, %w, %m, %r : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// layer_norm_grad_c4: a gradient of the wrong length
func.func @f(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %w: tensor<4xf32>, %m: tensor<2xf32>, %r: tensor<2xf32>) {
  // expected-error @below {{'model.layer_norm_grad' op result #2 has the wrong extents, expected [4] but got [3]}}
  %0:3 = model.layer_norm_grad %dy, %x, %w, %m, %r : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

// layer_norm_grad_c4: a different element type
func.func @f(%dy: tensor<2x4xbf16>, %x: tensor<2x4xbf16>, %w: tensor<4xbf16>, %m: tensor<2xf32>, %r: tensor<2xf32>) {
  // expected-error @below {{'model.layer_norm_grad' op failed to verify that element type of dweight, dbias is that of weight or its statistics type}}
  %0:3 = model.layer_norm_grad %dy, %x, %w, %m, %r : (tensor<2x4xbf16>, tensor<2x4xbf16>, tensor<4xbf16>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x4xbf16>, tensor<4xf16>, tensor<4xf32>)
  return
}
