// RUN: sluice-opt %s -model-fuse-backward | FileCheck %s
// RUN: sluice-opt %s -model-fuse-backward > %t.once
// RUN: sluice-opt %t.once -model-fuse-backward | diff %t.once -
// Tests the fusions of a product with the gelu of its result, forward and backward, and cases that are not fused.

// CHECK-LABEL: func.func @both
// CHECK-SAME: (%[[A:.*]]: tensor<2x3x4xf32>, %[[W:.*]]: tensor<4x5xf32>, %[[B:.*]]: tensor<5xf32>, %[[V:.*]]: tensor<5x4xf32>, %[[G:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[X:.*]], %[[Y:.*]] = model.matmul_gelu %[[A]], %[[W]] bias(%[[B]]) {model.block = "h.0/mlp/act", model.checkpoint = "c", model.phase = #model.phase<forward>}
// CHECK-NEXT: %[[OUT:.*]] = model.matmul %[[Y]], %[[V]]
// CHECK-NEXT: %[[DX:.*]] = model.matmul_gelu_grad %[[G]], %[[V]], %[[X]] {model.block = "h.0/mlp/act", model.checkpoint = "c", model.phase = #model.phase<backward>, transpose_rhs}
// CHECK-NEXT: %[[DV:.*]] = model.matmul %[[Y]], %[[G]]
// CHECK-NEXT: return %[[OUT]], %[[DX]], %[[DV]]
func.func @both(%a: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>, %v: tensor<5x4xf32>, %g: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x5xf32>, tensor<2x5x4xf32>) attributes {model.entry = #model.entry<train>} {
  %0 = model.matmul %a, %w bias(%b) {model.block = "h.0/mlp/up", model.checkpoint = "c", model.phase = #model.phase<forward>} : (tensor<2x3x4xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %1 = model.gelu %0 {approximate = #model.approximation<tanh>, model.block = "h.0/mlp/act", model.checkpoint = "c", model.phase = #model.phase<forward>} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %2 = model.matmul %1, %v {model.block = "h.0/mlp/down", model.checkpoint = "c", model.phase = #model.phase<forward>} : (tensor<2x3x5xf32>, tensor<5x4xf32>) -> tensor<2x3x4xf32>
  %3 = model.matmul %g, %v {model.block = "h.0/mlp/down", model.checkpoint = "c", model.phase = #model.phase<backward>, transpose_rhs} : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
  %4 = model.matmul %1, %g {model.block = "h.0/mlp/down", model.checkpoint = "c", model.phase = #model.phase<backward>, transpose_lhs} : (tensor<2x3x5xf32>, tensor<2x3x4xf32>) -> tensor<2x5x4xf32>
  %5 = model.gelu_grad %3, %0 {approximate = #model.approximation<tanh>, model.block = "h.0/mlp/act", model.checkpoint = "c", model.phase = #model.phase<backward>} : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %2, %5, %4 : tensor<2x3x4xf32>, tensor<2x3x5xf32>, tensor<2x5x4xf32>
}

// A forward function keeps no input of gelu, so it is not fused; nor is a derivative in its source.
// CHECK-LABEL: func.func @forward
// CHECK-NOT: matmul_gelu
// CHECK: return
func.func @forward(%a: tensor<3x4xf32>, %w: tensor<4x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) attributes {model.entry = #model.entry<forward>} {
  %0 = model.matmul %a, %w : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.gelu %0 {approximate = #model.approximation<tanh>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = model.matmul %a, %w : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %3 = model.gelu_grad %2, %0 {approximate = #model.approximation<tanh>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %1, %3 : tensor<3x5xf32>, tensor<3x5xf32>
}

// If no trained parameter is before a gelu, no backward op reads its input.
// CHECK-LABEL: func.func @frozen
// CHECK-NOT: matmul_gelu
// CHECK: return
func.func @frozen(%a: tensor<3x4xf32>, %w: tensor<4x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) attributes {model.entry = #model.entry<train>} {
  %0 = model.matmul %a, %w {model.phase = #model.phase<forward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.gelu %0 {approximate = #model.approximation<tanh>, model.phase = #model.phase<forward>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = model.exp %1 {model.phase = #model.phase<backward>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  return %1, %2 : tensor<3x5xf32>, tensor<3x5xf32>
}

// No backward op reads its result if the next weight is frozen; its derivative is still fused with the product.
// CHECK-LABEL: func.func @frozen_after
// CHECK: model.matmul %
// CHECK-NEXT: model.gelu %
// CHECK-NEXT: model.matmul_gelu_grad
// CHECK-NEXT: return
func.func @frozen_after(%a: tensor<3x4xf32>, %w: tensor<4x5xf32>, %g: tensor<3x4xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) attributes {model.entry = #model.entry<train>} {
  %0 = model.matmul %a, %w {model.phase = #model.phase<forward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.gelu %0 {approximate = #model.approximation<tanh>, model.phase = #model.phase<forward>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = model.matmul %g, %w {model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %3 = model.gelu_grad %2, %0 {approximate = #model.approximation<tanh>, model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %1, %3 : tensor<3x5xf32>, tensor<3x5xf32>
}

// The erf form, a residual, another type of the result, a product with another use than its gelu.
// CHECK-LABEL: func.func @other_forms
// CHECK-NOT: matmul_gelu
// CHECK: return
func.func @other_forms(%a: tensor<3x4xf32>, %w: tensor<4x5xf32>, %r: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf64>, tensor<3x5xf32>, tensor<3x5xf32>) attributes {model.entry = #model.entry<train>} {
  %0 = model.matmul %a, %w {model.phase = #model.phase<forward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.gelu %0 {approximate = #model.approximation<none>, model.phase = #model.phase<forward>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = model.matmul %a, %w residual(%r) {model.phase = #model.phase<forward>} : (tensor<3x4xf32>, tensor<4x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %3 = model.gelu %2 {approximate = #model.approximation<tanh>, model.phase = #model.phase<forward>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %4 = model.matmul %a, %w {model.phase = #model.phase<forward>, output = f64} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf64>
  %5 = model.gelu %4 {approximate = #model.approximation<tanh>, model.phase = #model.phase<forward>} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  %6 = model.matmul %a, %w {model.phase = #model.phase<forward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %7 = model.gelu %6 {approximate = #model.approximation<tanh>, model.phase = #model.phase<forward>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %8 = model.add %6, %7 {model.phase = #model.phase<forward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %9 = model.matmul %a, %w {model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %10 = model.gelu_grad %9, %0 {approximate = #model.approximation<none>, model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %11 = model.gelu_grad %r, %2 {approximate = #model.approximation<tanh>, model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %12 = model.exp %5 {model.phase = #model.phase<backward>} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  %13 = model.gelu_grad %r, %6 {approximate = #model.approximation<tanh>, model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %14 = model.add %8, %7 {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %10, %11, %12, %13, %14 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf64>, tensor<3x5xf32>, tensor<3x5xf32>
}

// A cotangent with two readers, one with a bias, one in another block, one that is older than the gelu's input.
// CHECK-LABEL: func.func @other_cotangents
// CHECK-NOT: matmul_gelu
// CHECK: return
func.func @other_cotangents(%a: tensor<3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>, %x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) attributes {model.entry = #model.entry<train>} {
  %0 = model.matmul %a, %w {model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.gelu_grad %0, %x {approximate = #model.approximation<tanh>, model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = model.matmul %a, %w bias(%b) {model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  %3 = model.gelu_grad %2, %x {approximate = #model.approximation<tanh>, model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %4 = model.matmul %a, %w {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %5 = model.gelu_grad %4, %x {approximate = #model.approximation<tanh>, model.block = "h.1", model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %6 = model.matmul %a, %w {model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %7 = model.exp %x {model.phase = #model.phase<backward>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %8 = model.gelu_grad %6, %7 {approximate = #model.approximation<tanh>, model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0, %1, %3, %5, %8 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}

// Each invocation of a block is a group.
// CHECK-LABEL: func.func @two_passes
// CHECK-NOT: matmul_gelu
// CHECK: return
func.func @two_passes(%a: tensor<3x4xf32>, %w: tensor<4x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> attributes {model.entry = #model.entry<train>} {
  %0 = model.matmul %a, %w {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.gelu_grad %0, %x {approximate = #model.approximation<tanh>, model.block = "h.0", model.invocation = 1 : i64, model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}
