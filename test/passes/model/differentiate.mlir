// RUN: sluice-opt %s -model-differentiate="gradient.microbatches=4" | FileCheck %s
// RUN: sluice-opt %s -model-differentiate="gradient.microbatches=4" > %t.once
// RUN: sluice-opt %t.once -model-differentiate="gradient.microbatches=4" | diff %t.once -
// Tests reverse mode: the seed, phases, blocks, several uses, parameters read twice, read but unused, frozen, unread.

module {
  model.parameter @w : tensor<4xf32> ones
  model.parameter @tied : tensor<4xf32> ones
  model.parameter @frozen : tensor<4xf32> ones frozen
  model.parameter @unread : tensor<4xf32> ones

  // CHECK-LABEL: func.func @step
  // CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
  // CHECK: %[[T0:.*]] = model.read @tied {{.*}}model.phase = #model.phase<forward>
  // CHECK: %[[F:.*]] = model.read @frozen
  // CHECK: %[[A:.*]] = model.multiply %[[X]], %[[T0]] {{.*}}model.phase = #model.phase<forward>
  // CHECK: %[[W:.*]] = model.read @w {model.block = "h.0"
  // CHECK: %[[B:.*]] = model.multiply %[[A]], %[[W]] {model.block = "h.0", model.phase = #model.phase<forward>}
  // CHECK: %[[C:.*]] = model.multiply %[[B]], %[[F]]
  // CHECK: %[[T1:.*]] = model.read @tied
  // CHECK: %[[D:.*]] = model.multiply %[[C]], %[[T1]]
  // CHECK: %[[L:.*]] = model.reduce_sum %[[D]] {{.*}}model.phase = #model.phase<loss>
  // CHECK: %[[MEAN:.*]] = model.step_mean %[[L]] {{.*}}model.phase = #model.phase<loss>
  // CHECK: %[[SEED:.*]] = model.constant 2.500000e-01 {{.*}}model.phase = #model.phase<loss>
  // The derivative of the loss is in the phase loss.
  // CHECK: %[[DD:.*]] = model.broadcast %{{.*}} {{.*}}model.phase = #model.phase<loss>} {{.*}}-> tensor<4xf32>
  // CHECK: %[[DC:.*]] = model.multiply %[[DD]], %[[T1]] {model.block = "", model.phase = #model.phase<backward>}
  // CHECK: %[[DT1:.*]] = model.multiply %[[DD]], %[[C]]
  // Nothing for the frozen parameter.
  // CHECK-NEXT: %[[DB:.*]] = model.multiply %[[DC]], %[[F]]
  // CHECK-NEXT: %[[DA:.*]] = model.multiply %[[DB]], %[[W]] {model.block = "h.0", model.phase = #model.phase<backward>}
  // CHECK-NEXT: %[[DW:.*]] = model.multiply %[[DB]], %[[A]] {model.block = "h.0", model.phase = #model.phase<backward>}
  // CHECK-NEXT: model.gradient @w, %[[DW]] {model.block = "h.0", model.phase = #model.phase<backward>}
  // No gradient for the input; the gradient of a parameter with two reads is passed on when it is complete, later reads first.
  // CHECK-NEXT: %[[DT0:.*]] = model.multiply %[[DA]], %[[X]] {model.block = "", model.phase = #model.phase<backward>}
  // CHECK-NEXT: %[[SUM:.*]] = model.add %[[DT1]], %[[DT0]]
  // CHECK-NEXT: model.gradient @tied, %[[SUM]]
  // CHECK-NEXT: return %[[MEAN]]
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    %t0 = model.read @tied {model.block = ""} : tensor<4xf32>
    %f = model.read @frozen {model.block = ""} : tensor<4xf32>
    %a = model.multiply %x, %t0 {model.block = ""} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %w = model.read @w {model.block = "h.0"} : tensor<4xf32>
    %b = model.multiply %a, %w {model.block = "h.0"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %c = model.multiply %b, %f {model.block = ""} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %t1 = model.read @tied {model.block = ""} : tensor<4xf32>
    %d = model.multiply %c, %t1 {model.block = ""} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %unused = model.exp %t1 {model.block = ""} : (tensor<4xf32>) -> tensor<4xf32>
    %l = model.reduce_sum %d {dims = array<i64: 0>, model.block = ""} : (tensor<4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }

  // A forward entry point only gets its phase.
  // CHECK-LABEL: func.func @forward
  // CHECK-NEXT: model.read @w {model.block = "", model.phase = #model.phase<forward>}
  // CHECK-NEXT: return
  func.func @forward() -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w {model.block = ""} : tensor<4xf32>
    return %w : tensor<4xf32>
  }
}
