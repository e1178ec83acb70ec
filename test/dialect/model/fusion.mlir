// RUN: sluice-opt %s -model-fuse | FileCheck %s
// RUN: sluice-opt %s -model-fuse > %t.once
// RUN: sluice-opt %t.once -model-fuse | diff %t.once -
// Tests the fusions that op families contribute, and cases that are not fused.

// CHECK-LABEL: func.func @bias_and_residual
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[W:.*]]: tensor<4x5xf32>, %[[B:.*]]: tensor<5xf32>, %[[R:.*]]: tensor<2x3x5xf32>)
// CHECK-NEXT: %[[Y:.*]] = model.matmul %[[X]], %[[W]] bias(%[[B]]) residual(%[[R]]) {model.block = "h.0"}
// CHECK-NEXT: return %[[Y]]
func.func @bias_and_residual(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>, %r: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> attributes {model.entry = #model.entry<forward>} {
  %0 = model.matmul %x, %w {model.block = "h.0/mlp/proj"} : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %1 = model.add %0, %b {model.block = "h.0/mlp/proj"} : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %2 = model.add %r, %1 {model.block = "h.0"} : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %2 : tensor<2x3x5xf32>
}

// The tensors that PyTorch saves are those of both ops.
// CHECK-LABEL: func.func @saved_tensors
// CHECK-NEXT: model.matmul {{.*}} residual({{.*}}) {model.saved = array<i64: 8, 4, 16, 8>}
func.func @saved_tensors(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>, %r: tensor<3x5xf32>) -> tensor<3x5xf32> attributes {model.entry = #model.entry<forward>} {
  %0 = model.matmul %x, %w {model.saved = array<i64: 8, 4>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.add %r, %0 {model.saved = array<i64: 16, 8>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// A transposed product keeps its attributes; the bias may be the first operand.
// CHECK-LABEL: func.func @transposed
// CHECK-NEXT: model.matmul %{{.*}}, %{{.*}} bias(%{{.*}}) {transpose_rhs}
// CHECK-NEXT: return
func.func @transposed(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>, %b: tensor<5xf32>) -> tensor<3x5xf32> attributes {model.entry = #model.entry<forward>} {
  %0 = model.matmul %x, %w {transpose_rhs} : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  %1 = model.add %b, %0 : (tensor<5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// The product is read by another op as well.
// CHECK-LABEL: func.func @two_uses
// CHECK-NEXT: model.matmul %{{[^ ]*}}, %{{[^ ]*}} :
// CHECK-NEXT: model.add
func.func @two_uses(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) attributes {model.entry = #model.entry<forward>} {
  %0 = model.matmul %x, %w : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.add %0, %b : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  return %0, %1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// An op of block h.1 is not fused with one of block h.0.
// CHECK-LABEL: func.func @two_blocks
// CHECK-NEXT: model.matmul %{{[^ ]*}}, %{{[^ ]*}} {model.block = "h.0"}
// CHECK-NEXT: model.add
func.func @two_blocks(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>, %r: tensor<3x5xf32>) -> tensor<3x5xf32> attributes {model.entry = #model.entry<forward>} {
  %0 = model.matmul %x, %w {model.block = "h.0"} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.add %0, %r {model.block = "h.1"} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// A sum that is larger than the product, and a column, are no bias and no residual.
// CHECK-LABEL: func.func @broadcast
// CHECK-NEXT: model.matmul %{{[^ ]*}}, %{{[^ ]*}} :
// CHECK-NEXT: model.add
// CHECK-NEXT: model.matmul %{{[^ ]*}}, %{{[^ ]*}} :
// CHECK-NEXT: model.add
func.func @broadcast(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>, %r: tensor<2x3x5xf32>, %c: tensor<3x1xf32>) -> (tensor<2x3x5xf32>, tensor<3x5xf32>) attributes {model.entry = #model.entry<forward>} {
  %0 = model.matmul %x, %w : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.add %0, %r : (tensor<3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %2 = model.matmul %x, %w : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %3 = model.add %2, %c : (tensor<3x5xf32>, tensor<3x1xf32>) -> tensor<3x5xf32>
  return %1, %3 : tensor<2x3x5xf32>, tensor<3x5xf32>
}

// CHECK-LABEL: func.func @gate
// CHECK-SAME: (%[[G:.*]]: tensor<2x3xf32>, %[[U:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: %[[Y:.*]] = model.swiglu %[[G]], %[[U]] {model.block = "h.0"}
// CHECK-NEXT: return %[[Y]]
func.func @gate(%g: tensor<2x3xf32>, %u: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {model.entry = #model.entry<forward>} {
  %0 = model.silu %g {model.block = "h.0/act"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = model.multiply %u, %0 {model.block = "h.0"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// A silu with a second use is not fused.
// CHECK-LABEL: func.func @gate_that_is_read_twice
// CHECK: model.silu
// CHECK: model.multiply
func.func @gate_that_is_read_twice(%g: tensor<2x3xf32>, %u: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) attributes {model.entry = #model.entry<forward>} {
  %0 = model.silu %g : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = model.multiply %0, %u : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
