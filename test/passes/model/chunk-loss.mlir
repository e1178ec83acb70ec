// RUN: sluice-opt %s -split-input-file -verify-diagnostics -model-fuse | FileCheck %s
// Tests that `loss.chunk_rows` fuses a loss with the product that computes its logits, and cases that are not fused.

// CHECK-LABEL: func.func @step
// CHECK-NOT: model.matmul
// CHECK: %[[LOSS:.*]], %{{.*}} = model.linear_cross_entropy %arg0, %arg1, %arg2 {ignore_index = 7 : i64, label_smoothing = 1.000000e-01 : f64, model.block = "", reduction = #model.reduction<mean>, rows = 16 : i64}
// CHECK: return %[[LOSS]]
module attributes {model.recipe = {loss.chunk_rows = 16 : i64}} {
  func.func @step(%x: tensor<2x3x4xf32>, %w: tensor<9x4xf32>, %t: tensor<2x3xi32>) -> tensor<f32> {
    %p = model.matmul %x, %w {transpose_rhs, model.block = ""} : (tensor<2x3x4xf32>, tensor<9x4xf32>) -> tensor<2x3x9xf32>
    %loss, %lse = model.cross_entropy %p, %t {reduction = #model.reduction<mean>, ignore_index = 7 : i64, label_smoothing = 0.1, model.block = ""} : (tensor<2x3x9xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    return %loss : tensor<f32>
  }
  // Logits that are a result are not fused.
  // CHECK-LABEL: func.func @both
  // CHECK: model.matmul
  // CHECK: model.cross_entropy
  func.func @both(%x: tensor<3x4xf32>, %w: tensor<9x4xf32>, %t: tensor<3xi32>) -> (tensor<f32>, tensor<3x9xf32>) {
    %p = model.matmul %x, %w {transpose_rhs} : (tensor<3x4xf32>, tensor<9x4xf32>) -> tensor<3x9xf32>
    %loss, %lse = model.cross_entropy %p, %t {reduction = #model.reduction<sum>} : (tensor<3x9xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss, %p : tensor<f32>, tensor<3x9xf32>
  }
}

// -----

// Without the key nothing changes.
// CHECK-LABEL: func.func @step
// CHECK: model.matmul
// CHECK: model.cross_entropy
module {
  func.func @step(%x: tensor<3x4xf32>, %w: tensor<9x4xf32>, %t: tensor<3xi32>) -> tensor<f32> {
    %p = model.matmul %x, %w {transpose_rhs} : (tensor<3x4xf32>, tensor<9x4xf32>) -> tensor<3x9xf32>
    %loss, %lse = model.cross_entropy %p, %t {reduction = #model.reduction<sum>} : (tensor<3x9xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}

// -----

// expected-error@+1 {{recipe: 'loss.chunk_rows' = 16 requires a cross entropy of a product that no other op reads}}
module attributes {model.recipe = {loss.chunk_rows = 16 : i64}} {
  func.func @step(%x: tensor<3x4xf32>) -> tensor<f32> {
    %loss = model.reduce_sum %x {dims = array<i64: 0, 1>} : (tensor<3x4xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
