// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid embeddings. Labels are those of docs/spec/model.md.

// embedding_c1: a table of rank 3
func.func @f(%t: tensor<2x3x4xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'model.embedding' op operand #0 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 2, but got 'tensor<2x3x4xf32>'}}
  %0 = model.embedding %t, %i : (tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return
}

// -----

// embedding_grad_c1: a result of rank 1
func.func @f(%d: tensor<2x4xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'model.embedding_grad' op result #0 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 2, but got 'tensor<4xf32>'}}
  %0 = model.embedding_grad %d, %i : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<4xf32>
  return
}

// -----

// embedding_grad_c2: a cotangent of a different shape
func.func @f(%d: tensor<3x4xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'model.embedding_grad' op operand #0 has the wrong extents, expected [2, 4] but got [3, 4]}}
  %0 = model.embedding_grad %d, %i : (tensor<3x4xf32>, tensor<2xi32>) -> tensor<9x4xf32>
  return
}

// -----

// embedding_grad_c2: a different element type
func.func @f(%d: tensor<2x4xf64>, %i: tensor<2xi32>) {
  // expected-error @below {{'model.embedding_grad' op failed to verify that element type of dtable is that of dy or its statistics type}}
  %0 = model.embedding_grad %d, %i : (tensor<2x4xf64>, tensor<2xi32>) -> tensor<9x4xf32>
  return
}

// -----

// embedding_c2: a padding row after the table
func.func @f(%t: tensor<9x4xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'model.embedding' op padding 9 is not a row of the table, which has 9 rows}}
  %0 = model.embedding %t, %i {padding = 9 : i64} : (tensor<9x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return
}

// -----

// embedding_grad_c3: a padding row before the table
func.func @f(%d: tensor<2x4xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'model.embedding_grad' op padding -1 is not a row of the table, which has 9 rows}}
  %0 = model.embedding_grad %d, %i {padding = -1 : i64} : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<9x4xf32>
  return
}
