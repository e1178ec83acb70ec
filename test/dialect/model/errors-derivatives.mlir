// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid derivatives, indices and statistics. Labels are those of docs/spec/model.md.

// adaptive_avg_pool2d_grad_c1: other channels
func.func @f(%dy: tensor<2x2x3x5xf32>) {
  // expected-error @below {{'model.adaptive_avg_pool2d_grad' op result #0 has the wrong extents, expected [2, 7, 9, 5] but got [2, 7, 9, 4]}}
  %0 = model.adaptive_avg_pool2d_grad %dy : (tensor<2x2x3x5xf32>) -> tensor<2x7x9x4xf32>
  return
}

// -----

// add_along_c1: indices of a different rank
func.func @f(%x: tensor<3xf32>, %i: tensor<3xi64>) {
  // expected-error @below {{'model.add_along' op indices have the wrong rank, expected 2 but got 1}}
  %0 = model.add_along %x, %i {dim = 0 : i64} : (tensor<3xf32>, tensor<3xi64>) -> tensor<3x5xf32>
  return
}

// -----

// add_along_c2: a dim that the operand does not have
func.func @f(%x: tensor<3x2xf32>, %i: tensor<3x2xi64>) {
  // expected-error @below {{'model.add_along' op dim is out of range, expected at least 0 and less than 2 but got 2}}
  %0 = model.add_along %x, %i {dim = 2 : i64} : (tensor<3x2xf32>, tensor<3x2xi64>) -> tensor<3x5xf32>
  return
}

// -----

// add_along_c3: more rows than the result has
func.func @f(%x: tensor<4x2xf32>, %i: tensor<4x2xi64>) {
  // expected-error @below {{'model.add_along' op indices are too long in dim 0, expected at most 3 but got 4}}
  %0 = model.add_along %x, %i {dim = 1 : i64} : (tensor<4x2xf32>, tensor<4x2xi64>) -> tensor<3x5xf32>
  return
}

// -----

// argmax_c1: a dim that the operand does not have
func.func @f(%x: tensor<3x5xf32>) {
  // expected-error @below {{'model.argmax' op dim is out of range, expected at least 0 and less than 2 but got -1}}
  %0 = model.argmax %x {dim = -1 : i64} : (tensor<3x5xf32>) -> tensor<3xi64>
  return
}

// -----

// take_along_c2: a dim that the operand does not have
func.func @f(%x: tensor<3x5xf32>, %i: tensor<3x2xi64>) {
  // expected-error @below {{'model.take_along' op dim is out of range, expected at least 0 and less than 2 but got 2}}
  %0 = model.take_along %x, %i {dim = 2 : i64} : (tensor<3x5xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  return
}

// -----

// avg_pool2d_grad_c1: a cotangent of a different extent
func.func @f(%dy: tensor<2x4x4x4xf32>) {
  // expected-error @below {{'model.avg_pool2d_grad' op dy has the wrong shape, expected 2x4x5x4 but got 2x4x4x4}}
  %0 = model.avg_pool2d_grad %dy {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x4x4x4xf32>) -> tensor<2x7x9x4xf32>
  return
}

// -----

// max_pool2d_grad_c1: a cotangent of a different extent
func.func @f(%dy: tensor<2x4x4x4xf32>, %x: tensor<2x7x9x4xf32>) {
  // expected-error @below {{'model.max_pool2d_grad' op dy has the wrong shape, expected 2x4x5x4 but got 2x4x4x4}}
  %0 = model.max_pool2d_grad %dy, %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x4x4x4xf32>, tensor<2x7x9x4xf32>) -> tensor<2x7x9x4xf32>
  return
}

// -----

// conv2d_input_grad_c1: filters for other channels
func.func @f(%dy: tensor<2x7x9x6xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @below {{'model.conv2d_input_grad' op weight has the wrong number of input channels, expected 2 but got 3}}
  %0 = model.conv2d_input_grad %dy, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x7x9x6xf32>, tensor<6x3x3x3xf32>) -> tensor<2x7x9x4xf32>
  return
}

// -----

// conv2d_weight_grad_c1: a cotangent of a different extent
func.func @f(%dy: tensor<2x5x7x6xf32>, %x: tensor<2x7x9x4xf32>) {
  // expected-error @below {{'model.conv2d_weight_grad' op dy has the wrong shape, expected 2x7x9x6 but got 2x5x7x6}}
  %0 = model.conv2d_weight_grad %dy, %x {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x5x7x6xf32>, tensor<2x7x9x4xf32>) -> tensor<6x2x3x3xf32>
  return
}

// -----

// batch_norm_grad_c1: a cotangent of a different shape
func.func @f(%dy: tensor<3x4xf32>, %x: tensor<2x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{'model.batch_norm_grad' op failed to verify that all of {dy, x, dx} have same type}}
  %0:3 = model.batch_norm_grad %dy, %x, %w, %w, %w {epsilon = 1.0e-5} : (tensor<3x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// batch_norm_grad_c2: statistics of other channels
func.func @f(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %m: tensor<3xf32>) {
  // expected-error @below {{'model.batch_norm_grad' op operand #3 has the wrong extents, expected [4] but got [3]}}
  %0:3 = model.batch_norm_grad %x, %x, %w, %m, %w {epsilon = 1.0e-5} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// batch_norm_grad_c3: a narrower gradient
func.func @f(%x: tensor<2x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{'model.batch_norm_grad' op failed to verify that element type of dweight, dbias is that of weight or its statistics type}}
  %0:3 = model.batch_norm_grad %x, %x, %w, %w, %w {epsilon = 1.0e-5} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xbf16>)
  return
}

// -----

// running_average_c1: a value for other channels
func.func @f(%x: tensor<4xf32>, %v: tensor<3xf32>) {
  // expected-error @below {{'model.running_average' op failed to verify that all of {old, value} have same type}}
  %0 = model.running_average %x, %v {momentum = 0.1} : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

// count_up_c1: a different shape
func.func @f(%n: tensor<i64>) {
  // expected-error @below {{'model.count_up' op failed to verify that all of {old, result} have same shape}}
  %0 = model.count_up %n : (tensor<i64>) -> tensor<2xi64>
  return
}

// -----

// logsumexp_c1: a scalar
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{'model.logsumexp' op operand #0 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 1 or more, but got 'tensor<f32>'}}
  %0 = model.logsumexp %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// relu_grad_c1: a cotangent of a different shape
func.func @f(%dy: tensor<3xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{'model.relu_grad' op failed to verify that all of {dy, y} have same type}}
  %0 = model.relu_grad %dy, %y : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// gradient_c1: a parameter that is not declared
func.func @f(%g: tensor<4xf32>) {
  // expected-error @below {{'model.gradient' op unknown parameter, expected a model.parameter but got @w}}
  %0 = model.gradient @w, %g : tensor<4xf32>
  return
}
