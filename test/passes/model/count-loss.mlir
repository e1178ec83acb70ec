// RUN: sluice-opt %s -split-input-file -verify-diagnostics -model-count-loss | FileCheck %s
// RUN: sluice-opt %s -split-input-file -verify-diagnostics -model-count-loss -model-differentiate -model-apply-optimizer | FileCheck %s --check-prefix=STEP
// Tests that a mean loss is split into sum and count, and that the update divides by the count.

module attributes {model.recipe = {loss.mean = "tokens", gradient.clip_norm = 1.0}} {
  model.parameter @w : tensor<2x5xf32> ones
  // CHECK-LABEL: func.func @train_step
  // CHECK-SAME: -> (tensor<f32> {model.output = "loss"}, tensor<f32> {model.output = "counted"})
  // CHECK: %[[SUM:.*]], %{{.*}} = model.cross_entropy %[[W:.*]], %[[T:.*]] {ignore_index = 3 : i64, model.block = "b", reduction = #model.reduction<sum>}
  // CHECK: %[[IGNORED:.*]] = model.constant 3.0{{.*}} : tensor<i32>
  // CHECK: %[[COUNTS:.*]] = model.compare %[[T]], %[[IGNORED]] {{.*}}predicate = #model.predicate<ne>
  // CHECK: %[[ONES:.*]] = model.select %[[COUNTS]]
  // CHECK: %[[COUNT:.*]] = model.reduce_sum %[[ONES]] {dims = array<i64: 0>
  // CHECK: %[[LOSS:.*]] = model.scale %[[SUM]] {factor = 5.000000e-01 : f64
  // CHECK: %[[SHARE:.*]] = model.scale %[[COUNT]] {factor = 5.000000e-01 : f64
  // CHECK: return %[[LOSS]], %[[SHARE]]

  // STEP-LABEL: func.func @train_step
  // STEP-SAME: -> (tensor<f32> {model.output = "loss"}, tensor<f32> {model.output = "grad_norm"}, tensor<ui8> {model.output = "guard"})
  // STEP: %[[SUM:.*]] = model.step_mean
  // STEP: %[[COUNT:.*]] = model.step_mean
  // STEP: %[[LOSS:.*]] = model.divide %[[SUM]], %[[COUNT]] {{.*}}model.phase = #model.phase<update>
  // STEP: %[[ROOT:.*]] = model.norm_root
  // STEP: %[[NORM:.*]] = model.divide %[[ROOT]], %[[COUNT]]
  // STEP: %[[CLIP:.*]] = model.clip_coefficient %[[NORM]]
  // STEP: %[[COEFFICIENT:.*]] = model.divide %[[CLIP]], %[[COUNT]]
  // STEP: %[[GUARD:.*]] = model.all_finite %[[LOSS]], %[[NORM]]
  // STEP: model.adamw {{.*}}, %[[COEFFICIENT]], %[[GUARD]]
  // STEP: return %[[LOSS]], %[[NORM]], %[[GUARD]]
  func.func @train_step(%t: tensor<2xi32> {model.input = "t"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = ""} : tensor<2x5xf32>
    %loss, %lse = model.cross_entropy %w, %t {reduction = #model.reduction<mean>, ignore_index = 3 : i64, model.block = "b"} : (tensor<2x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    return %loss : tensor<f32>
  }
  // The mean of an evaluation is over all counted targets, too, and their number is an output.
  // STEP-LABEL: func.func @eval_step
  // STEP-SAME: -> (tensor<f32> {model.output = "loss"}, tensor<f32> {model.output = "counted"})
  // STEP: %[[SUM:.*]] = model.step_mean %{{.*}}model.phase = #model.phase<update>
  // STEP: %[[COUNT:.*]] = model.step_mean
  // STEP: %[[LOSS:.*]] = model.divide %[[SUM]], %[[COUNT]]
  // STEP: return %[[LOSS]], %[[COUNT]]
  func.func @eval_step(%t: tensor<2xi32> {model.input = "t"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<eval>} {
    %w = model.read @w {model.block = ""} : tensor<2x5xf32>
    %loss, %lse = model.cross_entropy %w, %t {reduction = #model.reduction<mean>, model.block = "b"} : (tensor<2x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    return %loss : tensor<f32>
  }
}

// -----

module attributes {model.recipe = {loss.mean = "tokens"}} {
  model.parameter @w : tensor<4xf32> ones
  // expected-error@+1 {{'loss.mean' = "tokens" for the loss of '@f', expected the mean of a loss that counts its targets but got model.reduce_sum}}
  func.func @f() -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = ""} : tensor<4xf32>
    %s = model.reduce_sum %w {dims = array<i64: 0>, model.block = ""} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// Without "tokens", only evaluations count their targets; a loss that counts none remains.
module {
  model.parameter @v : tensor<2x5xf32> ones
  // CHECK-LABEL: func.func @train_step
  // CHECK-SAME: -> (tensor<f32> {model.output = "loss"})
  func.func @train_step(%t: tensor<2xi32> {model.input = "t"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @v {model.block = ""} : tensor<2x5xf32>
    %loss, %lse = model.cross_entropy %w, %t {reduction = #model.reduction<mean>, model.block = "b"} : (tensor<2x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    return %loss : tensor<f32>
  }
  // CHECK-LABEL: func.func @eval_step
  // CHECK-SAME: -> (tensor<f32> {model.output = "loss"}, tensor<f32> {model.output = "counted"})
  func.func @eval_step(%t: tensor<2xi32> {model.input = "t"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<eval>} {
    %w = model.read @v {model.block = ""} : tensor<2x5xf32>
    %loss, %lse = model.cross_entropy %w, %t {reduction = #model.reduction<mean>, model.block = "b"} : (tensor<2x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    return %loss : tensor<f32>
  }
  // CHECK-LABEL: func.func @eval_sum
  // CHECK-SAME: -> (tensor<f32> {model.output = "loss"}) attributes
  func.func @eval_sum(%t: tensor<2xi32> {model.input = "t"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<eval>} {
    %w = model.read @v {model.block = ""} : tensor<2x5xf32>
    %loss, %lse = model.cross_entropy %w, %t {reduction = #model.reduction<sum>, model.block = "b"} : (tensor<2x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    return %loss : tensor<f32>
  }
}
