// RUN: sluice-opt %s -model-fuse-backward | FileCheck %s
// RUN: sluice-opt %s -model-fuse-backward > %t.once
// RUN: sluice-opt %t.once -model-fuse-backward | diff %t.once -
// Tests the fusions of a product with the gelu of its result, forward and backward, of an op with the cast of its result,
// and cases that are not fused.

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

// The gradients of parameters, in the type in which they are reduced.
// CHECK-LABEL: func.func @wide
// CHECK-SAME: (%[[A:.*]]: tensor<3x4xbf16>, %[[G:.*]]: tensor<3x5xbf16>, %[[X:.*]]: tensor<3x5xbf16>, %[[W:.*]]: tensor<5xbf16>, %[[S:.*]]: tensor<3xf32>, %[[I:.*]]: tensor<3xi32>)
// CHECK-NEXT: %[[PRODUCT:.*]] = model.matmul %[[A]], %[[G]] {model.block = "h.0", model.phase = #model.phase<backward>, output = f32, transpose_lhs} : (tensor<3x4xbf16>, tensor<3x5xbf16>) -> tensor<4x5xf32>
// CHECK-NEXT: %[[SUM:.*]] = model.reduce_sum %[[G]] {dims = array<i64: 0>, model.phase = #model.phase<backward>, output = f32} : (tensor<3x5xbf16>) -> tensor<5xf32>
// CHECK-NEXT: %[[DX:.*]], %[[DW:.*]], %[[DB:.*]] = model.layer_norm_grad %[[G]], %[[X]], %[[W]], %[[S]], %[[S]] {model.phase = #model.phase<backward>} : {{.*}} -> (tensor<3x5xbf16>, tensor<5xf32>, tensor<5xf32>)
// CHECK-NEXT: %[[DX2:.*]], %[[DW2:.*]] = model.rms_norm_grad %[[DX]], %[[X]], %[[W]], %[[S]] {model.phase = #model.phase<backward>} : {{.*}} -> (tensor<3x5xbf16>, tensor<5xf32>)
// CHECK-NEXT: %[[TABLE:.*]] = model.embedding_grad %[[DX2]], %[[I]] {model.phase = #model.phase<backward>} : {{.*}} -> tensor<7x5xf32>
// CHECK-NEXT: return %[[PRODUCT]], %[[SUM]], %[[DW]], %[[DB]], %[[DW2]], %[[TABLE]]
func.func @wide(%a: tensor<3x4xbf16>, %g: tensor<3x5xbf16>, %x: tensor<3x5xbf16>, %w: tensor<5xbf16>, %s: tensor<3xf32>, %i: tensor<3xi32>) -> (tensor<4x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<7x5xf32>) attributes {model.entry = #model.entry<train>} {
  %0 = model.matmul %a, %g {model.block = "h.0", model.phase = #model.phase<backward>, transpose_lhs} : (tensor<3x4xbf16>, tensor<3x5xbf16>) -> tensor<4x5xbf16>
  %1 = model.cast %0 {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<4x5xbf16>) -> tensor<4x5xf32>
  %2 = model.reduce_sum %g {dims = array<i64: 0>, model.phase = #model.phase<backward>} : (tensor<3x5xbf16>) -> tensor<5xbf16>
  %3 = model.cast %2 {model.phase = #model.phase<backward>} : (tensor<5xbf16>) -> tensor<5xf32>
  %4:3 = model.layer_norm_grad %g, %x, %w, %s, %s {model.phase = #model.phase<backward>} : (tensor<3x5xbf16>, tensor<3x5xbf16>, tensor<5xbf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3x5xbf16>, tensor<5xbf16>, tensor<5xbf16>)
  %5 = model.cast %4#1 {model.phase = #model.phase<backward>} : (tensor<5xbf16>) -> tensor<5xf32>
  %6 = model.cast %4#2 {model.phase = #model.phase<backward>} : (tensor<5xbf16>) -> tensor<5xf32>
  %7:2 = model.rms_norm_grad %4#0, %x, %w, %s {model.phase = #model.phase<backward>} : (tensor<3x5xbf16>, tensor<3x5xbf16>, tensor<5xbf16>, tensor<3xf32>) -> (tensor<3x5xbf16>, tensor<5xbf16>)
  %8 = model.cast %7#1 {model.phase = #model.phase<backward>} : (tensor<5xbf16>) -> tensor<5xf32>
  %9 = model.embedding_grad %7#0, %i {model.phase = #model.phase<backward>} : (tensor<3x5xbf16>, tensor<3xi32>) -> tensor<7x5xbf16>
  %10 = model.cast %9 {model.phase = #model.phase<backward>} : (tensor<7x5xbf16>) -> tensor<7x5xf32>
  return %1, %3, %5, %6, %8, %10 : tensor<4x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<7x5xf32>
}

// The gradient of a loss is in its phase; the loss keeps its type.
// CHECK-LABEL: func.func @wide_loss
// CHECK-NEXT: %[[DX:.*]], %[[DW:.*]] = model.linear_cross_entropy_grad {{.*}} -> (tensor<6x4xbf16>, tensor<5x4xf32>)
// CHECK-NEXT: %{{.*}}, %[[DV:.*]], %[[DB:.*]] = model.batch_norm_grad %[[DX]], {{.*}} -> (tensor<6x4xbf16>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: %[[SUM:.*]] = model.reduce_sum {{.*}} -> tensor<bf16>
// CHECK-NEXT: %[[LOSS:.*]] = model.cast %[[SUM]]
// CHECK-NEXT: return %[[DW]], %[[DV]], %[[DB]], %[[LOSS]]
func.func @wide_loss(%d: tensor<f32>, %x: tensor<6x4xbf16>, %w: tensor<5x4xbf16>, %t: tensor<6xi32>, %l: tensor<6xf32>, %v: tensor<4xbf16>, %m: tensor<4xf32>) -> (tensor<5x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) attributes {model.entry = #model.entry<train>} {
  %0:2 = model.linear_cross_entropy_grad %d, %x, %w, %t, %l {reduction = #model.reduction<mean>, rows = 4 : i64, model.phase = #model.phase<loss>} : (tensor<f32>, tensor<6x4xbf16>, tensor<5x4xbf16>, tensor<6xi32>, tensor<6xf32>) -> (tensor<6x4xbf16>, tensor<5x4xbf16>)
  %1 = model.cast %0#1 {model.phase = #model.phase<loss>} : (tensor<5x4xbf16>) -> tensor<5x4xf32>
  %2:3 = model.batch_norm_grad %0#0, %x, %v, %m, %m {epsilon = 1.0e-5 : f64, model.phase = #model.phase<backward>} : (tensor<6x4xbf16>, tensor<6x4xbf16>, tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<6x4xbf16>, tensor<4xbf16>, tensor<4xbf16>)
  %3 = model.cast %2#1 {model.phase = #model.phase<backward>} : (tensor<4xbf16>) -> tensor<4xf32>
  %4 = model.cast %2#2 {model.phase = #model.phase<backward>} : (tensor<4xbf16>) -> tensor<4xf32>
  %5 = model.reduce_sum %x {dims = array<i64: 0, 1>, model.phase = #model.phase<loss>} : (tensor<6x4xbf16>) -> tensor<bf16>
  %6 = model.cast %5 {model.phase = #model.phase<loss>} : (tensor<bf16>) -> tensor<f32>
  return %1, %3, %4, %6 : tensor<5x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// A narrow value with another use, a product with a residual, dx of a norm, an op of the forward, an op that computes in
// its operands' type, a cast to f64, another block.
// CHECK-LABEL: func.func @narrow
// CHECK-COUNT-7: model.cast
// CHECK-NEXT: return
func.func @narrow(%a: tensor<3x4xbf16>, %g: tensor<3x5xbf16>, %r: tensor<4x5xbf16>, %w: tensor<5xbf16>, %s: tensor<3xf32>) -> (tensor<4x5xbf16>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<3x5xf32>, tensor<4x5xf32>, tensor<3x5xf32>, tensor<4x5xf64>, tensor<4x5xf32>) attributes {model.entry = #model.entry<train>} {
  %0 = model.matmul %a, %g {model.phase = #model.phase<backward>, transpose_lhs} : (tensor<3x4xbf16>, tensor<3x5xbf16>) -> tensor<4x5xbf16>
  %1 = model.matmul %a, %g residual(%r) {model.phase = #model.phase<backward>, transpose_lhs} : (tensor<3x4xbf16>, tensor<3x5xbf16>, tensor<4x5xbf16>) -> tensor<4x5xbf16>
  %2:2 = model.rms_norm_grad %g, %g, %w, %s {model.phase = #model.phase<backward>} : (tensor<3x5xbf16>, tensor<3x5xbf16>, tensor<5xbf16>, tensor<3xf32>) -> (tensor<3x5xbf16>, tensor<5xbf16>)
  %3 = model.matmul %a, %g {model.phase = #model.phase<forward>, transpose_lhs} : (tensor<3x4xbf16>, tensor<3x5xbf16>) -> tensor<4x5xbf16>
  %4 = model.exp %g {model.phase = #model.phase<backward>} : tensor<3x5xbf16>
  %5 = model.matmul %a, %g {model.phase = #model.phase<backward>, transpose_lhs} : (tensor<3x4xbf16>, tensor<3x5xbf16>) -> tensor<4x5xbf16>
  %6 = model.matmul %a, %g {model.block = "h.0", model.phase = #model.phase<backward>, transpose_lhs} : (tensor<3x4xbf16>, tensor<3x5xbf16>) -> tensor<4x5xbf16>
  %7 = model.cast %0 {model.phase = #model.phase<backward>} : (tensor<4x5xbf16>) -> tensor<4x5xf32>
  %8 = model.cast %1 {model.phase = #model.phase<backward>} : (tensor<4x5xbf16>) -> tensor<4x5xf32>
  %9 = model.cast %2#0 {model.phase = #model.phase<backward>} : (tensor<3x5xbf16>) -> tensor<3x5xf32>
  %10 = model.cast %3 {model.phase = #model.phase<forward>} : (tensor<4x5xbf16>) -> tensor<4x5xf32>
  %11 = model.cast %4 {model.phase = #model.phase<backward>} : (tensor<3x5xbf16>) -> tensor<3x5xf32>
  %12 = model.cast %5 {model.phase = #model.phase<backward>} : (tensor<4x5xbf16>) -> tensor<4x5xf64>
  %13 = model.cast %6 {model.block = "h.1", model.phase = #model.phase<backward>} : (tensor<4x5xbf16>) -> tensor<4x5xf32>
  return %0, %7, %8, %9, %10, %11, %12, %13 : tensor<4x5xbf16>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<3x5xf32>, tensor<4x5xf32>, tensor<3x5xf32>, tensor<4x5xf64>, tensor<4x5xf32>
}

// Sums of cotangents: a product adds to those before it, and stays in its place.
// CHECK-LABEL: func.func @sums
// CHECK-SAME: (%[[A:.*]]: tensor<3x4xf32>, %[[W:.*]]: tensor<4x5xf32>, %[[R:.*]]: tensor<3x5xf32>)
// CHECK-NEXT: %[[Q:.*]] = model.matmul %[[A]], %[[W]] {model.block = "h.0/q", model.phase = #model.phase<backward>}
// CHECK-NEXT: %[[QK:.*]] = model.matmul %[[A]], %[[W]] residual(%[[Q]]) {model.block = "h.0/k", model.phase = #model.phase<backward>}
// CHECK-NEXT: %[[E:.*]] = model.exp %[[QK]]
// CHECK-NEXT: %[[SUM:.*]] = model.matmul %[[A]], %[[W]] residual(%[[E]]) {model.block = "h.0/v", model.phase = #model.phase<backward>}
// CHECK-NEXT: %[[LAST:.*]] = model.matmul %[[A]], %[[W]] residual(%[[R]])
// CHECK-NEXT: %[[L:.*]] = model.log %[[LAST]]
// CHECK-NEXT: return %[[SUM]], %[[L]]
func.func @sums(%a: tensor<3x4xf32>, %w: tensor<4x5xf32>, %r: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) attributes {model.entry = #model.entry<train>} {
  %0 = model.matmul %a, %w {model.block = "h.0/q", model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.matmul %a, %w {model.block = "h.0/k", model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %2 = model.add %0, %1 {model.block = "h.0/k", model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %3 = model.exp %2 {model.block = "h.0/k", model.phase = #model.phase<backward>} : tensor<3x5xf32>
  %4 = model.matmul %a, %w {model.block = "h.0/v", model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %5 = model.add %3, %4 {model.block = "h.0/v", model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %6 = model.matmul %a, %w {model.block = "h.0/o", model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %7 = model.add %6, %r {model.block = "h.0/o", model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %8 = model.log %7 {model.block = "h.0/o", model.phase = #model.phase<backward>} : tensor<3x5xf32>
  return %5, %8 : tensor<3x5xf32>, tensor<3x5xf32>
}

// A younger addend, a product with another use, another block.
// CHECK-LABEL: func.func @separate_sums
// CHECK-COUNT-3: model.add
// CHECK-NEXT: return
func.func @separate_sums(%a: tensor<3x4xf32>, %w: tensor<4x5xf32>, %r: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) attributes {model.entry = #model.entry<train>} {
  %0 = model.matmul %a, %w {model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = model.exp %r {model.phase = #model.phase<backward>} : tensor<3x5xf32>
  %2 = model.matmul %a, %w {model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %3 = model.matmul %a, %w {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %4 = model.add %0, %1 {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %5 = model.add %1, %2 {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %6 = model.add %1, %3 {model.block = "h.1", model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %2, %4, %5, %6 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}

// The gradient of a norm adds an older cotangent to dx, and stays in its place.
// CHECK-LABEL: func.func @norms
// CHECK-SAME: (%[[G:[a-z0-9]*]]: tensor<3x5xf32>, %[[X:[a-z0-9]*]]: tensor<3x5xf32>, %[[W:[a-z0-9]*]]: tensor<5xf32>, %[[S:[a-z0-9]*]]: tensor<3xf32>, %[[R:[a-z0-9]*]]: tensor<3x5xf32>)
// CHECK-NEXT: %[[FIRST:.*]], %[[DW:.*]], %{{.*}} = model.layer_norm_grad %[[G]], %[[X]], %[[W]], %[[S]], %[[S]], %[[R]] {
// CHECK-NEXT: %[[E:.*]] = model.exp %[[DW]]
// CHECK-NEXT: %[[SECOND:.*]], %{{.*}} = model.rms_norm_grad %[[G]], %[[X]], %[[W]], %[[S]], %[[FIRST]] {
// CHECK-NEXT: return %[[SECOND]], %[[E]]
func.func @norms(%g: tensor<3x5xf32>, %x: tensor<3x5xf32>, %w: tensor<5xf32>, %s: tensor<3xf32>, %r: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<5xf32>) attributes {model.entry = #model.entry<train>} {
  %0:3 = model.layer_norm_grad %g, %x, %w, %s, %s {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3x5xf32>, tensor<5xf32>, tensor<5xf32>)
  %1 = model.exp %0#1 {model.phase = #model.phase<backward>} : tensor<5xf32>
  %2 = model.add %r, %0#0 {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %3:2 = model.rms_norm_grad %g, %x, %w, %s {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<5xf32>, tensor<3xf32>) -> (tensor<3x5xf32>, tensor<5xf32>)
  %4 = model.add %3#0, %2 {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %4, %1 : tensor<3x5xf32>, tensor<5xf32>
}

// A younger addend, dx with another use, another block, an addend that broadcasts, a gradient of the weight.
// CHECK-LABEL: func.func @separate_norms
// CHECK-COUNT-5: model.add
// CHECK-NEXT: return
func.func @separate_norms(%g: tensor<3x5xf32>, %w: tensor<5xf32>, %s: tensor<3xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<5xf32>) attributes {model.entry = #model.entry<train>} {
  %0:2 = model.rms_norm_grad %g, %g, %w, %s {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<5xf32>, tensor<3xf32>) -> (tensor<3x5xf32>, tensor<5xf32>)
  %1:2 = model.rms_norm_grad %g, %g, %w, %s {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<5xf32>, tensor<3xf32>) -> (tensor<3x5xf32>, tensor<5xf32>)
  %2:2 = model.rms_norm_grad %g, %g, %w, %s {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<5xf32>, tensor<3xf32>) -> (tensor<3x5xf32>, tensor<5xf32>)
  %3:2 = model.rms_norm_grad %g, %g, %w, %s {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<5xf32>, tensor<3xf32>) -> (tensor<3x5xf32>, tensor<5xf32>)
  %4 = model.exp %g {model.phase = #model.phase<backward>} : tensor<3x5xf32>
  %5 = model.add %0#0, %4 {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %6 = model.add %g, %1#0 {model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %7 = model.add %g, %2#0 {model.block = "h.1", model.phase = #model.phase<backward>} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %8 = model.add %w, %3#0 {model.phase = #model.phase<backward>} : (tensor<5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %9 = model.add %w, %3#1 {model.phase = #model.phase<backward>} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %1#0, %5, %6, %7, %8, %9 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<5xf32>
}

// The gradient of a bias without a use is not computed; one with a use is.
// CHECK-LABEL: func.func @biases
// CHECK-NEXT: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = model.attention_grad %{{.*}} {biased, model.block = "h.0", model.phase = #model.phase<backward>, scale = 1.000000e+00 : f64} : {{.*}} -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>)
// CHECK-NEXT: %{{.*}}, %{{.*}}, %{{.*}}, %[[DB:.*]] = model.attention_grad %{{.*}} {bias_grad, biased
// CHECK-NEXT: return %[[DQ]], %[[DK]], %[[DV]], %[[DB]]
func.func @biases(%q: tensor<1x2x1x4xf32>, %l: tensor<1x1x2xf32>, %b: tensor<1x1x2x2xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x1x2x2xf32>) attributes {model.entry = #model.entry<train>} {
  %0:4 = model.attention_grad %q, %q, %q, %q, %q, %l, %b {bias_grad, biased, model.block = "h.0", model.phase = #model.phase<backward>, scale = 1.0 : f64} : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2x2xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x1x2x2xf32>)
  %1:4 = model.attention_grad %q, %q, %q, %q, %q, %l, %b {bias_grad, biased, model.block = "h.0", model.phase = #model.phase<backward>, scale = 1.0 : f64} : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2x2xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x1x2x2xf32>)
  return %0#0, %0#1, %0#2, %1#3 : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x1x2x2xf32>
}
