// RUN: sluice-opt %s -model-differentiate="gradient.reduce_per_pass=true" -model-apply-optimizer="optimizer.name=sgd" | FileCheck %s
// RUN: sluice-opt %s -model-differentiate | FileCheck %s --check-prefix=ONE
// Tests that with `gradient.reduce_per_pass` a loss that is a sum has a backward pass for each term, the last first, that each
// pass has a gradient of each parameter that it reaches, and that the gradients are added.

module {
  model.parameter @w : tensor<4xf32> ones
  model.parameter @a : tensor<4xf32> ones
  model.parameter @b : tensor<4xf32> ones
  // The second loss, then the first: each multiplies by the input for the gradient of @w.
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: %[[X:.*]]: tensor<4xf32> {model.input = "x"}
  // CHECK: %[[H:.*]] = model.multiply %[[X]], %{{.*}} {model.block = "0",
  // CHECK: %[[DB:.*]] = model.multiply %{{.*}}, %[[H]] {model.block = "2", model.phase = #model.phase<backward>}
  // CHECK: %[[DW1:.*]] = model.multiply %{{.*}}, %[[X]] {model.block = "0", model.invocation = 1 : i64, model.phase = #model.phase<backward>}
  // CHECK: %[[DA:.*]] = model.multiply %{{.*}}, %[[H]] {model.block = "1", model.phase = #model.phase<backward>}
  // CHECK: model.gradient @a, %[[DA]] {model.block = "1", model.phase = #model.phase<backward>}
  // CHECK: %[[DW0:.*]] = model.multiply %{{.*}}, %[[X]] {model.block = "0", model.phase = #model.phase<backward>}
  // CHECK: %[[G1:.*]] = model.gradient @w, %[[DW1]] {model.block = "0", model.invocation = 1 : i64, model.phase = #model.phase<backward>}
  // CHECK: %[[G0:.*]] = model.gradient @w, %[[DW0]] {model.block = "0", model.phase = #model.phase<backward>}
  // CHECK: %[[G:.*]] = model.add %[[G1]], %[[G0]] {model.block = "0", model.phase = #model.phase<backward>}
  // CHECK: model.power_sum {{.*}}%[[G]]{{.*}} model.phase = #model.phase<update>
  // CHECK: model.sgd %{{.*}}, %[[G]],

  // ONE-COUNT-3: model.gradient @
  // ONE-NOT: model.gradient @
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = "0"} : tensor<4xf32>
    %h = model.multiply %x, %w {model.block = "0"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %a = model.read @a {model.block = "1"} : tensor<4xf32>
    %y = model.multiply %h, %a {model.block = "1"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = model.read @b {model.block = "2"} : tensor<4xf32>
    %z = model.multiply %h, %b {model.block = "2"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %first = model.reduce_sum %y {dims = array<i64: 0>, model.block = ""} : (tensor<4xf32>) -> tensor<f32>
    %second = model.reduce_sum %z {dims = array<i64: 0>, model.block = ""} : (tensor<4xf32>) -> tensor<f32>
    %loss = model.add %first, %second {model.block = ""} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
