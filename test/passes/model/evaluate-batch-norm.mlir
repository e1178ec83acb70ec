// RUN: sluice-opt %s -model-make-evaluation | FileCheck %s
// Tests that in eval_step a norm reads the running statistics, that they and counts are not written, and that a norm
// without running statistics uses those of its rows as in training.

model.parameter @w : tensor<4xf32> ones
model.parameter @mean : tensor<4xf32> zeros state
model.parameter @var : tensor<4xf32> ones state
model.parameter @count : tensor<i64> zeros state
// CHECK-LABEL: func.func @train_step
// CHECK: model.batch_norm
// CHECK-COUNT-3: model.write
// CHECK: model.batch_norm
// CHECK-LABEL: func.func @eval_step
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>
// CHECK-DAG: %[[M:.*]] = model.read @mean
// CHECK-DAG: %[[V:.*]] = model.read @var
// CHECK: %[[C:.*]] = model.subtract %[[X]], %[[M]]
// CHECK: %[[S:.*]] = model.add %[[V]], %
// CHECK: %[[R:.*]] = model.rsqrt %[[S]]
// CHECK: model.multiply %[[C]], %[[R]]
// CHECK: model.batch_norm
// CHECK-NOT: model.write
// CHECK-NOT: model.running_average
// CHECK-NOT: model.count_up
// CHECK: return
func.func @train_step(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
  %w = model.read @w : tensor<4xf32>
  %y, %m, %v = model.batch_norm %x, %w, %w {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %om = model.read @mean : tensor<4xf32>
  %nm = model.running_average %om, %m {momentum = 0.1 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  model.write @mean, %nm : tensor<4xf32>
  %ov = model.read @var : tensor<4xf32>
  %nv = model.running_average %ov, %v {momentum = 0.1 : f64, factor = 2.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  model.write @var, %nv : tensor<4xf32>
  %oc = model.read @count : tensor<i64>
  %nc = model.count_up %oc : (tensor<i64>) -> tensor<i64>
  model.write @count, %nc : tensor<i64>
  %z, %n, %u = model.batch_norm %y, %w, %w {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %s = model.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
  return %s : tensor<f32>
}
