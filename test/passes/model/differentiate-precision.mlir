// RUN: sluice-opt %s -model-differentiate | FileCheck %s
// Tests that gradients are cast to the precision of the reduction before they are added.

module {
  model.parameter @w : tensor<4xf32> ones
  // CHECK-LABEL: func.func @step
  // CHECK: model.step_mean
  // CHECK: %[[G0:.*]] = model.multiply {{.*}} -> tensor<4xbf16>
  // CHECK: %[[H0:.*]] = model.cast %{{.*}} : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK: %[[H1:.*]] = model.cast %{{.*}} : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK: %[[SUM:.*]] = model.add %[[H0]], %[[H1]] {{.*}} -> tensor<4xf32>
  // CHECK: model.gradient @w, %[[SUM]] {{.*}}: tensor<4xf32>
  func.func @step(%x: tensor<4xbf16> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = ""} : tensor<4xbf16>
    %a = model.multiply %x, %w {model.block = ""} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    %b = model.multiply %a, %w {model.block = ""} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    %c = model.cast %b {model.block = ""} : (tensor<4xbf16>) -> tensor<4xf32>
    %l = model.reduce_sum %c {dims = array<i64: 0>, model.block = ""} : (tensor<4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
