// RUN: sluice-opt %s -model-make-evaluation | FileCheck %s
// RUN: sluice-opt %s -model-make-evaluation > %t.once
// RUN: sluice-opt %t.once -model-make-evaluation | diff %t.once -
// Tests that eval_step is the forward without dropout, also inside of attention, and its inputs, after all other
// functions.

model.parameter @w : tensor<2x4xf32> ones
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: model.entry = #model.entry<train>
// CHECK: model.dropout
func.func @train_step(%x: tensor<2x4xf32> {model.input = "x"}, %seed: tensor<i64> {model.input = "seed"}, %step: tensor<i64> {model.input = "step"}, %row: tensor<i64> {model.input = "row"})
    -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
  %y = model.block "h.0" -> tensor<2x4xf32> {
    %w = model.read @w : tensor<2x4xf32>
    %d = model.dropout %x, %seed, %step, %row {key = 0 : i64, rate = 0.5 : f64} : (tensor<2x4xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x4xf32>
    %h = model.reshape %d : (tensor<2x4xf32>) -> tensor<1x2x1x4xf32>
    %a:2 = model.attention %h, %h, %h, %seed, %step, %row {dropout = 0.5 : f64, key = 1 : i64, scale = 1.0 : f64} : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<1x2x1x4xf32>, tensor<1x1x2xf32>)
    %e = model.reshape %a#0 : (tensor<1x2x1x4xf32>) -> tensor<2x4xf32>
    %p = model.multiply %e, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    model.yield %p : tensor<2x4xf32>
  }
  %s = model.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
  return %s : tensor<f32>
}
// CHECK-LABEL: func.func @other
func.func @other(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @eval_step
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<eval>}
// CHECK-NOT: model.dropout
// CHECK: %[[H:.*]] = model.reshape %[[X]]
// CHECK: model.attention %[[H]], %[[H]], %[[H]] {scale = 1.000000e+00 : f64}
// CHECK: model.multiply %
