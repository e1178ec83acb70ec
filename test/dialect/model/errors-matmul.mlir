// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid matrix products. Labels are those of docs/spec/model.md.

// matmul_c1: a vector
func.func @f(%a: tensor<3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @below {{values of rank 2 or more, but got 'tensor<3xf32>'}}
  %0 = model.matmul %a, %b : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

// matmul_c2: contracted extents differ
func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{'model.matmul' op operand #1 has the wrong extents, expected [3, 5] but got [4, 5]}}
  %0 = model.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

// matmul_c2: the transposed operand's extent counts
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{'model.matmul' op operand #1 has the wrong extents, expected [3, 3] but got [3, 5]}}
  %0 = model.matmul %a, %b {transpose_rhs} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x3xf32>
  return
}

// -----

// matmul_c3: leading dims do not broadcast
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<5x4x6xf32>) {
  // expected-error @below {{'model.matmul' op operand #1 has the wrong extents, expected [2 or 1, 4, 6] but got [5, 4, 6]}}
  %0 = model.matmul %a, %b : (tensor<2x3x4xf32>, tensor<5x4x6xf32>) -> tensor<2x3x6xf32>
  return
}

// -----

// matmul_c4: two element types
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xbf16>) {
  // expected-error @below {{'model.matmul' op failed to verify that element type of rhs, bias is that of lhs}}
  %0 = model.matmul %a, %b : (tensor<2x3xf32>, tensor<3x4xbf16>) -> tensor<2x4xf32>
  return
}

// -----

// matmul_c4: an output that is not a float
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @below {{'model.matmul' op attribute 'output' failed to satisfy constraint: type attribute of 32-bit float or 64-bit float or bfloat16 type or 16-bit float}}
  %0 = model.matmul %a, %b {output = i32} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// matmul_c5: a bias of the wrong length
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<3xf32>) {
  // expected-error @below {{'model.matmul' op operand #2 has the wrong extents, expected [4] but got [3]}}
  %0 = model.matmul %a, %b bias(%c) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

// matmul_c6: a residual of a different shape
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{'model.matmul' op operand #2 has the wrong extents, expected [2, 4] but got [4]}}
  %0 = model.matmul %a, %b residual(%c) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// matmul_gelu_c1: contracted extents differ
func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{'model.matmul_gelu' op operand #1 has the wrong extents, expected [3, 5] but got [4, 5]}}
  %0:2 = model.matmul_gelu %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

// matmul_gelu_c1: a bias of the wrong length
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<3xf32>) {
  // expected-error @below {{'model.matmul_gelu' op operand #2 has the wrong extents, expected [4] but got [3]}}
  %0:2 = model.matmul_gelu %a, %b bias(%c) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

// matmul_gelu_grad_c1: two element types
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xbf16>, %x: tensor<2x4xf32>) {
  // expected-error @below {{'model.matmul_gelu_grad' op failed to verify that element type of rhs is that of lhs}}
  %0 = model.matmul_gelu_grad %a, %b, %x : (tensor<2x3xf32>, tensor<3x4xbf16>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// matmul_gelu_grad_c2: gelu's input of a different shape than the product
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %x: tensor<4x2xf32>) {
  // expected-error @below {{'model.matmul_gelu_grad' op failed to verify that all of {pre, dpre} have same type}}
  %0 = model.matmul_gelu_grad %a, %b, %x : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<2x4xf32>
  return
}
