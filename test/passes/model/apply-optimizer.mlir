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
  // CHECK: %[[GUARD:.*]] = model.all_finite %[[L]], %[[NORM]], %[[ONE]], %[[LR]] 
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

// -----

// "norms-and-biases" goes by the op that reads the parameter, through casts and views, not by its name: the scale and bias of a norm,
// the bias of a product, a vector that is added to rows. A parameter that an op reads as something else too is decayed.
module attributes {model.recipe = {optimizer.no_decay = "norms-and-biases", optimizer.weight_decay = 0.1}} {
  model.parameter @table.bias : tensor<2x4xf32> ones
  model.parameter @norm.weight : tensor<4xf32> ones
  model.parameter @norm.shift : tensor<4xf32> ones
  model.parameter @added : tensor<4xf32> ones
  model.parameter @product : tensor<4xf32> ones
  model.parameter @shared : tensor<4xf32> ones
  // CHECK-LABEL: func.func @classes
  // CHECK: model.read @table.bias {{.*}}update
  // CHECK: model.adamw {{.*}}weight_decay = 1.0
  // CHECK: model.read @norm.weight {{.*}}update
  // CHECK: model.adamw {{.*}}weight_decay = 0.0
  // CHECK: model.read @norm.shift {{.*}}update
  // CHECK: model.adamw {{.*}}weight_decay = 0.0
  // CHECK: model.read @added {{.*}}update
  // CHECK: model.adamw {{.*}}weight_decay = 0.0
  // CHECK: model.read @product {{.*}}update
  // CHECK: model.adamw {{.*}}weight_decay = 0.0
  // CHECK: model.read @shared {{.*}}update
  // CHECK: model.adamw {{.*}}weight_decay = 1.0
  func.func @classes(%x: tensor<3x2x4xf32> {model.input = "x"}, %k: tensor<4x4xf32> {model.input = "k"}, %l: tensor<f32> {model.input = "l"})
      -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %0 = model.read @table.bias {model.block = ""} : tensor<2x4xf32>
    %1 = model.add %x, %0 {model.block = ""} : (tensor<3x2x4xf32>, tensor<2x4xf32>) -> tensor<3x2x4xf32>
    %2 = model.read @norm.weight {model.block = ""} : tensor<4xf32>
    %3 = model.read @norm.shift {model.block = ""} : tensor<4xf32>
    %4, %mean, %rstd = model.layer_norm %1, %2, %3 {model.block = "", epsilon = 1.0e-5 : f64} : (tensor<3x2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<3x2x4xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
    %5 = model.read @added {model.block = ""} : tensor<4xf32>
    %6 = model.add %4, %5 {model.block = ""} : (tensor<3x2x4xf32>, tensor<4xf32>) -> tensor<3x2x4xf32>
    %7 = model.read @product {model.block = ""} : tensor<4xf32>
    %8 = model.cast %7 {model.block = ""} : (tensor<4xf32>) -> tensor<4xbf16>
    %9 = model.cast %8 {model.block = ""} : (tensor<4xbf16>) -> tensor<4xf32>
    %10 = model.matmul %6, %k bias(%9) {model.block = ""} : (tensor<3x2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<3x2x4xf32>
    %11 = model.read @shared {model.block = ""} : tensor<4xf32>
    %12 = model.add %10, %11 {model.block = ""} : (tensor<3x2x4xf32>, tensor<4xf32>) -> tensor<3x2x4xf32>
    %13 = model.multiply %12, %11 {model.block = ""} : (tensor<3x2x4xf32>, tensor<4xf32>) -> tensor<3x2x4xf32>
    %g0 = model.gradient @table.bias, %0 {model.block = "", model.phase = #model.phase<backward>} : tensor<2x4xf32>
    %g1 = model.gradient @norm.weight, %2 {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    %g2 = model.gradient @norm.shift, %3 {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    %g3 = model.gradient @added, %5 {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    %g4 = model.gradient @product, %9 {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    %g5 = model.gradient @shared, %11 {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    return %l : tensor<f32>
  }
}
