// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid convolutions, pools and batch norms. Labels are those of docs/spec/model.md.

// conv2d_c1: an image without channels
func.func @f(%x: tensor<2x7x9xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @below {{values of rank 4, but got 'tensor<2x7x9xf32>'}}
  %0 = model.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x7x9xf32>, tensor<6x2x3x3xf32>) -> tensor<2x5x7x6xf32>
  return
}

// -----

// conv2d_c2: three strides
func.func @f(%x: tensor<2x7x9x4xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @below {{custom op 'model.conv2d' 'model.conv2d' op attribute 'stride' failed to satisfy constraint: i64 dense array attribute with exactly 2 elements whose value is positive}}
  %0 = model.conv2d %x, %w {stride = array<i64: 1, 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x7x9x4xf32>, tensor<6x4x3x3xf32>) -> tensor<2x5x7x6xf32>
  return
}

// -----

// conv2d_c2: a dilation of zero
func.func @f(%x: tensor<2x7x9x4xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @below {{custom op 'model.conv2d' 'model.conv2d' op attribute 'dilation' failed to satisfy constraint: i64 dense array attribute with exactly 2 elements whose value is positive}}
  %0 = model.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 0>, groups = 1 : i64} : (tensor<2x7x9x4xf32>, tensor<6x4x3x3xf32>) -> tensor<2x5x7x6xf32>
  return
}

// -----

// conv2d_c3: groups that do not divide the filters
func.func @f(%x: tensor<2x7x9x4xf32>, %w: tensor<6x1x3x3xf32>) {
  // expected-error @below {{'model.conv2d' op groups, expected a divisor of 4 and 6 but got 4}}
  %0 = model.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x7x9x4xf32>, tensor<6x1x3x3xf32>) -> tensor<2x5x7x6xf32>
  return
}

// -----

// conv2d_c3: a weight for a different number of channels
func.func @f(%x: tensor<2x7x9x4xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @below {{'model.conv2d' op weight has the wrong number of input channels, expected 4 but got 3}}
  %0 = model.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x7x9x4xf32>, tensor<6x3x3x3xf32>) -> tensor<2x5x7x6xf32>
  return
}

// -----

// conv2d_c4: a window of 3 dilated by 4 spans 9 of 7 rows
func.func @f(%x: tensor<2x7x9x4xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @below {{'model.conv2d' op window is larger than the padded input, expected at most 7x9 but got 3x3 dilated by 4x1}}
  %0 = model.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 4, 1>, groups = 1 : i64} : (tensor<2x7x9x4xf32>, tensor<6x4x3x3xf32>) -> tensor<2x1x7x6xf32>
  return
}

// -----

// conv2d_c5: a bias for a different number of filters
func.func @f(%x: tensor<2x7x9x4xf32>, %w: tensor<6x4x3x3xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'model.conv2d' op operand #2 has the wrong extents, expected [6] but got [4]}}
  %0 = model.conv2d %x, %w, %b {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x7x9x4xf32>, tensor<6x4x3x3xf32>, tensor<4xf32>) -> tensor<2x5x7x6xf32>
  return
}

// -----

// pool2d_c1: no channels
func.func @f(%x: tensor<2x7x9xf32>) {
  // expected-error @below {{values of rank 4, but got 'tensor<2x7x9xf32>'}}
  %0 = model.max_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x7x9xf32>) -> tensor<2x4x5xf32>
  return
}

// -----

// pool2d_c2: one number for both dims
func.func @f(%x: tensor<2x7x9x4xf32>) {
  // expected-error @below {{custom op 'model.max_pool2d' 'model.max_pool2d' op attribute 'kernel' failed to satisfy constraint: i64 dense array attribute with exactly 2 elements whose value is positive}}
  %0 = model.max_pool2d %x {kernel = array<i64: 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
  return
}

// -----

// pool2d_c2: a stride of 0
func.func @f(%x: tensor<2x7x9x4xf32>) {
  // expected-error @below {{custom op 'model.avg_pool2d' 'model.avg_pool2d' op attribute 'stride' failed to satisfy constraint: i64 dense array attribute with exactly 2 elements whose value is positive}}
  %0 = model.avg_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 0, 2>, padding = array<i64: 1, 1>} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
  return
}

// -----

// pool2d_c3: windows that contain only padding
func.func @f(%x: tensor<2x7x9x4xf32>) {
  // expected-error @below {{'model.avg_pool2d' op padding is out of range, expected at most half the kernel 3 but got 2}}
  %0 = model.avg_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 2, 2>} : (tensor<2x7x9x4xf32>) -> tensor<2x5x6x4xf32>
  return
}

// -----

// pool2d_c4: a window of 10 over 7 rows
func.func @f(%x: tensor<2x7x9x4xf32>) {
  // expected-error @below {{'model.max_pool2d' op window is larger than the padded input, expected at most 7 but got 10}}
  %0 = model.max_pool2d %x {kernel = array<i64: 10, 3>, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>} : (tensor<2x7x9x4xf32>) -> tensor<2x1x7x4xf32>
  return
}

// -----

// adaptive_avg_pool2d_c1: one extent for both dims
func.func @f(%x: tensor<2x7x9x4xf32>) {
  // expected-error @below {{custom op 'model.adaptive_avg_pool2d' 'model.adaptive_avg_pool2d' op attribute 'output' failed to satisfy constraint: i64 dense array attribute with exactly 2 elements whose value is positive}}
  %0 = model.adaptive_avg_pool2d %x {output = array<i64: 2>} : (tensor<2x7x9x4xf32>) -> tensor<2x2x3x4xf32>
  return
}

// -----

// adaptive_avg_pool2d_c2: no row of x
func.func @f(%x: tensor<2x0x9x4xf32>) {
  // expected-error @below {{'model.adaptive_avg_pool2d' op extent is out of range, expected height and width of at least 1 but got 0x9}}
  %0 = model.adaptive_avg_pool2d %x {output = array<i64: 2, 3>} : (tensor<2x0x9x4xf32>) -> tensor<2x2x3x4xf32>
  return
}

// -----

// adaptive_avg_pool2d_c2: no row of the result
func.func @f(%x: tensor<2x7x9x4xf32>) {
  // expected-error @below {{custom op 'model.adaptive_avg_pool2d' 'model.adaptive_avg_pool2d' op attribute 'output' failed to satisfy constraint: i64 dense array attribute with exactly 2 elements whose value is positive}}
  %0 = model.adaptive_avg_pool2d %x {output = array<i64: 0, 3>} : (tensor<2x7x9x4xf32>) -> tensor<2x0x3x4xf32>
  return
}

// -----

// batch_norm_c1: channels alone
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.batch_norm' op operand #0 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 2 or more, but got 'tensor<4xf32>'}}
  %0:3 = model.batch_norm %x, %x, %x {epsilon = 1.0e-5 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// batch_norm_c2: a weight for a different number of channels
func.func @f(%x: tensor<2x4xf32>, %w: tensor<3xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'model.batch_norm' op operand #1 has the wrong extents, expected [4] but got [3]}}
  %0:3 = model.batch_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// running_average_c2: a momentum above 1
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'model.running_average' op attribute 'momentum' failed to satisfy constraint: 64-bit float attribute whose value is 0 to 1}}
  %0 = model.running_average %x, %x {momentum = 1.5 : f64, factor = 1.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
