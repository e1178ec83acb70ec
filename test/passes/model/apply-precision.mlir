// RUN: sluice-opt %s -split-input-file -model-apply-precision | FileCheck %s
// RUN: sluice-opt %s -split-input-file -model-apply-precision > %t.once
// RUN: sluice-opt %t.once -split-input-file -model-apply-precision | sluice-opt -split-input-file | diff %t.once -
// Tests compute precision: reads, inputs, inferred and followed types, ops that keep their types, and casts of results.

module attributes {model.recipe = {precision.compute = "bf16"}} {
  model.parameter @w : tensor<8x4xf32> normal(0.0, 0.02)
  model.parameter @g : tensor<4xf32> ones
  model.parameter @b : tensor<4xf32> zeros
  // CHECK-LABEL: func.func @f
  // CHECK-SAME: %[[X:.*]]: tensor<2x4xf32> {{.*}}%[[I:.*]]: tensor<2xi32>
  // CHECK-NEXT: %[[C:.*]] = model.cast %[[X]] {{.*}}-> tensor<2x4xbf16>
  // CHECK-NEXT: %[[W:.*]] = model.read @w {{.*}}: tensor<8x4xbf16>
  // CHECK-NEXT: model.read @g {{.*}}: tensor<4xbf16>
  // CHECK-NEXT: model.read @b {{.*}}: tensor<4xbf16>
  // CHECK-NEXT: %[[Y:.*]], %[[M:.*]], %{{.*}} = model.layer_norm %[[C]]{{.*}} -> (tensor<2x4xbf16>, tensor<2xf32>, tensor<2xf32>)
  // Operands that an op requires in f32 stay f32, and so do their users.
  // CHECK-NEXT: model.reshape %[[M]] {{.*}}-> tensor<2x1xf32>
  // CHECK-NEXT: %[[L:.*]] = model.matmul %[[Y]], %[[W]] {{.*}}-> tensor<2x8xbf16>
  // CHECK-NEXT: %[[R:.*]] = model.reshape %[[L]] {{.*}}-> tensor<2x8xbf16>
  // CHECK-NEXT: %[[LOSS:.*]], %{{.*}} = model.cross_entropy %[[R]], %[[I]] {{.*}}-> (tensor<f32>, tensor<2xf32>)
  // A constant that was an operand with an f32 value still has its type.
  // CHECK-NEXT: %[[TWO:.*]] = model.constant 2.0{{.*}} : tensor<bf16>
  // CHECK-NEXT: %[[WIDE:.*]] = model.cast %[[TWO]] {{.*}}-> tensor<f32>
  // CHECK-NEXT: %[[P:.*]] = model.multiply %[[LOSS]], %[[WIDE]] {{.*}}-> tensor<f32>
  // CHECK-NEXT: %[[OUT:.*]] = model.cast %[[R]] {{.*}}-> tensor<2x8xf32>
  // CHECK-NEXT: return %[[P]], %[[OUT]]
  func.func @f(%x: tensor<2x4xf32> {model.input = "x"}, %i: tensor<2xi32> {model.input = "i"})
      -> (tensor<f32> {model.output = "loss"}, tensor<2x8xf32> {model.output = "logits"})
      attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w {model.block = ""} : tensor<8x4xf32>
    %g = model.read @g {model.block = ""} : tensor<4xf32>
    %b = model.read @b {model.block = ""} : tensor<4xf32>
    %y, %mean, %rstd = model.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f64, model.block = ""} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
    %s = model.reshape %mean {model.block = ""} : (tensor<2xf32>) -> tensor<2x1xf32>
    %l = model.matmul %y, %w {transpose_rhs, model.block = ""} : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
    %r = model.reshape %l {model.block = ""} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %loss, %lse = model.cross_entropy %r, %i {reduction = #model.reduction<mean>, model.block = ""} : (tensor<2x8xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    %two = model.constant 2.0 {model.block = ""} : tensor<f32>
    %p = model.multiply %loss, %two {model.block = ""} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %p, %r : tensor<f32>, tensor<2x8xf32>
  }
}

// -----

// Under f32 nothing changes, f64 included.
module {
  model.parameter @w : tensor<4xf64> ones
  // CHECK-LABEL: func.func @g
  // CHECK-NEXT: model.read @w {{.*}}: tensor<4xf64>
  // CHECK-NEXT: model.exp {{.*}} : tensor<4xf64>
  // CHECK-NEXT: return
  func.func @g() -> (tensor<4xf64> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w {model.block = ""} : tensor<4xf64>
    %y = model.exp %w {model.block = ""} : (tensor<4xf64>) -> tensor<4xf64>
    return %y : tensor<4xf64>
  }
}

// -----

// Parameters, compute and results in f64.
module attributes {model.recipe = {precision.compute = "f64", precision.parameter = "f64", precision.output = "f64"}} {
  // CHECK: model.parameter @w : tensor<4xf64> ones
  model.parameter @w : tensor<4xf32> ones
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: -> (tensor<f64> {model.output = "loss"})
  // CHECK-NEXT: %[[X:.*]] = model.cast %{{.*}} -> tensor<4xf64>
  // CHECK-NEXT: %[[W:.*]] = model.read @w {{.*}}: tensor<4xf64>
  // CHECK-NEXT: model.multiply %[[X]], %[[W]] {{.*}}-> tensor<4xf64>
  // CHECK-NEXT: %[[L:.*]] = model.reduce_sum {{.*}}-> tensor<f64>
  // CHECK-NEXT: return %[[L]]
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = ""} : tensor<4xf32>
    %p = model.multiply %x, %w {model.block = ""} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %s = model.reduce_sum %p {dims = array<i64: 0>, model.block = ""} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// Results in f16; a loss has no less than f32.
module attributes {model.recipe = {precision.compute = "f16", precision.output = "f16", precision.loss_scale = 8.0}} {
  model.parameter @w : tensor<4xf32> ones
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: -> (tensor<f32> {model.output = "loss"})
  // CHECK: model.read @w {{.*}}: tensor<4xf16>
  // CHECK: %[[S:.*]] = model.reduce_sum {{.*}}-> tensor<f16>
  // CHECK-NEXT: %[[L:.*]] = model.cast %[[S]] {{.*}}-> tensor<f32>
  // CHECK-NEXT: return %[[L]]
  func.func @step() -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = ""} : tensor<4xf32>
    %s = model.reduce_sum %w {dims = array<i64: 0>, model.block = ""} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
  // CHECK-LABEL: func.func @f
  // CHECK-SAME: -> (tensor<4xf16> {model.output = "y"})
  func.func @f() -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w {model.block = ""} : tensor<4xf32>
    return %w : tensor<4xf32>
  }
}
