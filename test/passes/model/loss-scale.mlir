// RUN: sluice-opt %s -split-input-file -model-differentiate -model-apply-optimizer | FileCheck %s
// Tests that the loss scale multiplies the cotangent and divides norm and coefficient, and that the loss does not change.

module attributes {model.recipe = {precision.loss_scale = 512.0, gradient.microbatches = 2 : i64}} {
  model.parameter @w : tensor<4xf32> ones
  // CHECK-LABEL: func.func @step
  // CHECK: %[[LOSS:.*]] = model.step_mean
  // CHECK: model.constant 2.560000e+02
  // CHECK: %[[ROOT:.*]] = model.norm_root
  // CHECK: %[[NORM:.*]] = model.scale %[[ROOT]] {factor = 0.001953125 : f64
  // CHECK: %[[ONE:.*]] = model.constant 1.0
  // CHECK: %[[C:.*]] = model.scale %[[ONE]] {factor = 0.001953125 : f64
  // CHECK: model.all_finite %[[LOSS]], %[[NORM]]
  // CHECK: model.adamw {{.*}}, %[[C]], %
  func.func @step() -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = ""} : tensor<4xf32>
    %s = model.reduce_sum %w {dims = array<i64: 0>, model.block = ""} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

module attributes {model.recipe = {precision.loss_scale = "dynamic", gradient.clip_norm = 1.0}} {
  model.parameter @w : tensor<4xf32> ones
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: (%[[SCALE:.*]]: tensor<f32> {model.input = "loss_scale"}, %{{.*}}: tensor<f32> {model.input = "lr"}
  // CHECK: %[[ONE:.*]] = model.constant 1.0
  // CHECK: model.multiply %[[ONE]], %[[SCALE]] {{.*}}model.phase = #model.phase<loss>
  // CHECK: %[[ROOT:.*]] = model.norm_root
  // CHECK: %[[NORM:.*]] = model.divide %[[ROOT]], %[[SCALE]]
  // CHECK: %[[CLIP:.*]] = model.clip_coefficient %[[NORM]]
  // CHECK: model.divide %[[CLIP]], %[[SCALE]]
  func.func @step() -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = ""} : tensor<4xf32>
    %s = model.reduce_sum %w {dims = array<i64: 0>, model.block = ""} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// Gradients are passed on in the precision of reduction, narrower or wider.
module attributes {model.recipe = {precision.reduce = "bf16"}} {
  model.parameter @w : tensor<4xf32> ones
  // CHECK-LABEL: func.func @step
  // CHECK: %[[G:.*]] = model.cast {{.*}}model.phase = #model.phase<backward>} : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK: %[[M:.*]] = model.gradient @w, %[[G]] {{.*}}: tensor<4xbf16>
  // CHECK: model.cast %[[M]] {{.*}}model.phase = #model.phase<update>} : (tensor<4xbf16>) -> tensor<4xf32>
  func.func @step() -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = ""} : tensor<4xf32>
    %t = model.tanh %w {model.block = ""} : (tensor<4xf32>) -> tensor<4xf32>
    %s = model.reduce_sum %t {dims = array<i64: 0>, model.block = ""} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// Everything in f64, the scalars of the step too.
module attributes {model.recipe = {precision.reduce = "f64"}} {
  model.parameter @w : tensor<4xf64> ones
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: %[[LR:.*]]: tensor<f64> {model.input = "lr"}
  // CHECK: model.step_mean %{{.*}} : tensor<f64>
  // CHECK: model.power_sum {{.*}}(tensor<4xf64>) -> tensor<f64>
  // CHECK: model.adamw {{.*}}tensor<f64>, tensor<i64>, tensor<f64>, tensor<ui8>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
  func.func @step() -> (tensor<f64> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = ""} : tensor<4xf64>
    %s = model.reduce_sum %w {dims = array<i64: 0>, model.block = ""} : (tensor<4xf64>) -> tensor<f64>
    return %s : tensor<f64>
  }
}
