// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid gathers and reductions of rows over ranks. Labels are those of docs/spec/model.md.

// all_gather_c1: a scalar
func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{'model.all_gather' op operand #0 must be}}
  %0 = model.all_gather %x : (tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// all_gather_c2: other columns
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'model.all_gather' op result has the wrong shape, expected 4x3 but got 4x2}}
  %0 = model.all_gather %x : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

// all_gather_c2: another number of dims
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'model.all_gather' op result has the wrong shape, expected 4x3 but got 4}}
  %0 = model.all_gather %x : (tensor<2x3xf32>) -> tensor<4xf32>
  return
}

// -----

// all_gather_c3: rows of one and a half ranks
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'model.all_gather' op rows of all ranks, expected a positive multiple of 2 but got 3}}
  %0 = model.all_gather %x : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// all_gather_c4: a different element type
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'model.all_gather' op result has the wrong element type, expected 'f32' but got 'bf16'}}
  %0 = model.all_gather %x : (tensor<2x3xf32>) -> tensor<4x3xbf16>
  return
}

// -----

// reduce_scatter_c1: a scalar
func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{'model.reduce_scatter' op operand #0 must be}}
  %0 = model.reduce_scatter %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// reduce_scatter_c2: other columns
func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'model.reduce_scatter' op result has the wrong shape, expected 2x3 but got 2x2}}
  %0 = model.reduce_scatter %x : (tensor<4x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

// reduce_scatter_c2: another number of dims
func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'model.reduce_scatter' op result has the wrong shape, expected 2x3 but got 2}}
  %0 = model.reduce_scatter %x : (tensor<4x3xf32>) -> tensor<2xf32>
  return
}

// -----

// reduce_scatter_c3: rows of one and a half ranks
func.func @f(%x: tensor<3x3xf32>) {
  // expected-error @+1 {{'model.reduce_scatter' op rows of all ranks, expected a positive multiple of 2 but got 3}}
  %0 = model.reduce_scatter %x : (tensor<3x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_scatter_c4: a different element type
func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'model.reduce_scatter' op result has the wrong element type, expected 'f32' but got 'bf16'}}
  %0 = model.reduce_scatter %x : (tensor<4x3xf32>) -> tensor<2x3xbf16>
  return
}
