// RUN: sluice-opt %s -split-input-file -model-apply-optimizer | FileCheck %s
// RUN: sluice-opt %s -split-input-file -model-apply-optimizer > %t.once
// RUN: sluice-opt %t.once -split-input-file -model-apply-optimizer | sluice-opt -split-input-file | diff %t.once -
// Tests the update under each optimizer: norm, clipping, guard, order of parameters, states, weight decay.

module attributes {model.recipe = {optimizer.no_decay = ["*.bias"], optimizer.weight_decay = 0.1}} {
  model.parameter @a.weight : tensor<4xf32> ones
  model.parameter @a.bias : tensor<2xf32> zeros
  model.parameter @unread : tensor<2xf32> zeros
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: (%[[GB:.*]]: tensor<2xf32> {model.input = "gb"}, %[[GA:.*]]: tensor<4xf32> {model.input = "ga"}, %[[L:.*]]: tensor<f32> {model.input = "l"}, %[[LR:.*]]: tensor<f32> {model.input = "lr"}, %[[STEP:.*]]: tensor<i64> {model.input = "step"})
  // CHECK-SAME: -> (tensor<f32> {model.output = "loss"}, tensor<f32> {model.output = "grad_norm"}, tensor<ui8> {model.output = "guard"})
  // CHECK: %[[MB:.*]] = model.gradient @a.bias
  // CHECK: %[[MA:.*]] = model.gradient @a.weight
  // CHECK: %[[SUM:.*]] = model.power_sum %[[MB]], %[[MA]] {model.block = "", model.phase = #model.phase<update>, p = 2.0{{.*}}}
  // CHECK: %[[NORM:.*]] = model.norm_root %[[SUM]] {{.*}}p = 2.0
  // CHECK: %[[ONE:.*]] = model.constant 1.0{{.*}} {model.block = "", model.phase = #model.phase<update>}
  // CHECK: %[[GUARD:.*]] = model.all_finite %[[L]], %[[NORM]]
  // The order of the module, and weight decay for parameters that no glob matches.
  // CHECK: %[[A:.*]] = model.read @a.weight {{.*}}: tensor<4xf32>
  // CHECK: %[[M:.*]] = model.read @a.weight state "exp_avg"
  // CHECK: %[[V:.*]] = model.read @a.weight state "exp_avg_sq"
  // CHECK: %[[N:.*]]:3 = model.adamw %[[A]], %[[MA]], %[[M]], %[[V]], %[[LR]], %[[STEP]], %[[ONE]], %[[GUARD]] {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, epsilon = 1.000000e-08 : f64, {{.*}}weight_decay = 1.000000e-01 : f64}
  // CHECK: model.write @a.weight, %[[N]]#0
  // CHECK: model.write @a.weight state "exp_avg", %[[N]]#1
  // CHECK: model.write @a.weight state "exp_avg_sq", %[[N]]#2
  // CHECK: model.adamw {{.*}}weight_decay = 0.0
  // CHECK-NOT: @unread
  // CHECK: return %[[L]], %[[NORM]], %[[GUARD]]
  func.func @step(%gb: tensor<2xf32> {model.input = "gb"}, %ga: tensor<4xf32> {model.input = "ga"}, %l: tensor<f32> {model.input = "l"})
      -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %mb = model.gradient @a.bias, %gb {model.block = "", model.phase = #model.phase<backward>} : tensor<2xf32>
    %ma = model.gradient @a.weight, %ga {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    return %l : tensor<f32>
  }
}

// -----

module attributes {model.recipe = {optimizer.name = "adam", optimizer.betas = [0.8, 0.95], gradient.clip_norm = 0.5, gradient.clip_type = 0x7FF0000000000000 : f64}} {
  model.parameter @a : tensor<4xf32> ones
  // CHECK-LABEL: func.func @step
  // CHECK: model.power_sum {{.*}}p = 0x7FF0000000000000
  // CHECK: %[[NORM:.*]] = model.norm_root {{.*}}p = 0x7FF0000000000000
  // CHECK: %[[C:.*]] = model.clip_coefficient %[[NORM]] {max_norm = 5.000000e-01
  // CHECK: model.adam %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[C]], %{{.*}} {beta1 = 8.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, {{.*}}weight_decay = 0.0
  func.func @step(%g: tensor<4xf32> {model.input = "g"}, %l: tensor<f32> {model.input = "l"})
      -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %m = model.gradient @a, %g {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    return %l : tensor<f32>
  }
}

// -----

module attributes {model.recipe = {optimizer.name = "sgd", optimizer.momentum = 0.9, optimizer.nesterov = true}} {
  model.parameter @a : tensor<4xf32> ones
  // CHECK-LABEL: func.func @step
  // A gradient that was reduced in bf16 is cast to f32.
  // CHECK: %[[G:.*]] = model.cast %{{.*}} {model.block = "", model.phase = #model.phase<update>} : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK: %[[B:.*]] = model.read @a state "momentum_buffer"
  // CHECK: model.sgd %{{.*}}, %[[G]], %[[B]], {{.*}}momentum = 9.000000e-01 : f64, {{.*}}nesterov = true
  // CHECK: model.write @a state "momentum_buffer"
  func.func @step(%g: tensor<4xbf16> {model.input = "g"}, %l: tensor<f32> {model.input = "l"})
      -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %m = model.gradient @a, %g {model.block = "", model.phase = #model.phase<backward>} : tensor<4xbf16>
    return %l : tensor<f32>
  }
}

// -----

module attributes {model.recipe = {optimizer.name = "sgd"}} {
  model.parameter @a : tensor<4xf32> ones
  // CHECK-LABEL: func.func @step
  // CHECK-NOT: state
  // CHECK: model.sgd {{.*}}momentum = 0.0
  // CHECK-NOT: state
  // CHECK: return
  func.func @step(%g: tensor<4xf32> {model.input = "g"}, %l: tensor<f32> {model.input = "l"})
      -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %m = model.gradient @a, %g {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    return %l : tensor<f32>
  }
}
