// RUN: sluice-opt %s -spmd-assign-units -spmd-partition -spmd-insert-data-reshards -spmd-group-reshards -spmd-accumulate-gradients -spmd-localize-update -spmd-lower-reshards -spmd-sync-statistics | FileCheck %s
// RUN: sluice-opt %s -spmd-assign-units -spmd-partition -spmd-insert-data-reshards -spmd-group-reshards -spmd-accumulate-gradients -spmd-localize-update -spmd-lower-reshards -spmd-sync-statistics > %t.once
// RUN: sluice-opt %t.once -spmd-sync-statistics | diff %t.once -
// RUN: sluice-opt %s -spmd-assign-units -spmd-partition -spmd-sync-statistics="statistics.sync=never" | FileCheck %s --check-prefix=NEVER

// Tests that one collective in the last micro-batch averages all statistics after the last is computed, that the section
// yields the means, and that a count is not reduced.

// CHECK: %[[M:.*]] = model.running_average %[[OLD:.*]], %
// CHECK-NEXT: %[[V:.*]] = model.running_average %
// CHECK-NEXT: %[[T:.*]] = spmd.all_reduce_start %[[M]], %[[V]] over ["replicate", "shard"] <mean> {model.phase = #model.phase<forward>, spmd.when = #spmd.when<last>} : tensor<4xf32>, tensor<4xf32>
// CHECK: %[[N:.*]] = model.count_up
// CHECK: %[[S:.*]]:2 = spmd.wait %[[T]] {model.phase = #model.phase<loss>, spmd.when = #spmd.when<last>} : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: spmd.yield %[[S]]#0, %[[S]]#1, %[[N]],

// NEVER-NOT: spmd.all_reduce_start %{{.*}}, %
module attributes {model.recipe = {mesh.shard = 2 : i64, gradient.microbatches = 2 : i64, statistics.sync = "last"}} {
  model.parameter @mean : tensor<4xf32> zeros state
  model.parameter @var : tensor<4xf32> ones state
  model.parameter @count : tensor<i64> zeros state
  func.func @f(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %m = model.reduce_mean %x {dims = array<i64: 0>, model.block = "", model.phase = #model.phase<forward>} : (tensor<2x4xf32>) -> tensor<4xf32>
    %om = model.read @mean {model.block = "", model.phase = #model.phase<forward>} : tensor<4xf32>
    %nm = model.running_average %om, %m {momentum = 0.1 : f64, model.block = "", model.phase = #model.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    model.write @mean, %nm {model.block = "", model.phase = #model.phase<forward>} : tensor<4xf32>
    %ov = model.read @var {model.block = "", model.phase = #model.phase<forward>} : tensor<4xf32>
    %nv = model.running_average %ov, %m {momentum = 0.1 : f64, model.block = "", model.phase = #model.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    model.write @var, %nv {model.block = "", model.phase = #model.phase<forward>} : tensor<4xf32>
    %oc = model.read @count {model.block = "", model.phase = #model.phase<forward>} : tensor<i64>
    %nc = model.count_up %oc {model.block = "", model.phase = #model.phase<forward>} : (tensor<i64>) -> tensor<i64>
    model.write @count, %nc {model.block = "", model.phase = #model.phase<forward>} : tensor<i64>
    %s = model.reduce_sum %x {dims = array<i64: 0, 1>, model.block = "", model.phase = #model.phase<loss>} : (tensor<2x4xf32>) -> tensor<f32>
    %loss = model.step_mean %s {model.block = "", model.phase = #model.phase<loss>} : tensor<f32>
    return %loss : tensor<f32>
  }
}
