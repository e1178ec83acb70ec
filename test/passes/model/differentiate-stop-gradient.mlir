// RUN: sluice-opt %s -model-flatten-blocks -model-differentiate | FileCheck %s
// What the source computes without gradient adds none, also where an op there has no derivative; then the mark is gone.
// A parameter without any gradient is frozen.
// RUN: sluice-opt %s -model-flatten-blocks -model-differentiate 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: 'v' gets no gradient: the loss depends on it only through values whose derivative is stopped, or not at all; it is frozen

module attributes {model.batch = 2 : i64, model.name = "stop"} {
  // CHECK: model.parameter @w : tensor<3xf32> ones{{$}}
  // CHECK: model.parameter @v : tensor<3xf32> ones {{.*}}frozen
  model.parameter @w : tensor<3xf32> ones
  model.parameter @v : tensor<3xf32> ones
  // CHECK-LABEL: func.func @train_step
  // CHECK-NOT: model.stop_gradient
  // CHECK: model.gradient @w
  // CHECK-NOT: model.gradient @v
  func.func @train_step(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w : tensor<3xf32>
    %v = model.read @v : tensor<3xf32>
    %target = model.multiply %x, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %stopped = model.stop_gradient %target : tensor<2x3xf32>
    %best = model.argmax %stopped {dim = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>
    %index = model.cast %best : (tensor<2xi64>) -> tensor<2xf32>
    %y = model.multiply %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %d = model.subtract %y, %stopped : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %s = model.reduce_sum %d {dims = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
    %p = model.multiply %s, %index : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %loss = model.reduce_mean %p {dims = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
  // CHECK-LABEL: func.func @values
  // CHECK-NOT: model.stop_gradient
  func.func @values(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    %y = model.stop_gradient %x : tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }
}
