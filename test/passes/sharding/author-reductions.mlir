// RUN: sluice-opt %s -spmd-assign-units -spmd-partition | FileCheck %s
// RUN: sluice-opt %s -sluice-partition -spmd-hoist-gathers | FileCheck %s --check-prefix=EARLY
// RUN: sluice-opt %s -sluice-partition="set=mesh.shard=1" | FileCheck %s --check-prefix=ALONE

// Tests that a reduction that the model's author writes is a collective over the data-parallel ranks, of no unit, waited for
// where its value is first read; that the gather which it names is issued with it; and that one rank has none.

// CHECK: %[[Y:.*]] = model.matmul
// CHECK-NEXT: %[[T:.*]] = spmd.all_reduce_start %[[Y]] over ["replicate", "shard"] <sum> {model.block = "", spmd.unshard = ["b"]} : tensor<2x4xf32>
// CHECK-NEXT: %[[Z:.*]] = model.relu
// CHECK-NEXT: %[[S:.*]] = spmd.wait %[[T]] {model.block = ""} : tensor<2x4xf32>
// CHECK-NEXT: model.add %[[S]], %[[Z]]
// CHECK: model.read @b.w

// EARLY: spmd.all_reduce_start %{{.*}} over ["shard"] <sum>
// EARLY-NOT: spmd.unshard
// EARLY-NEXT: spmd.all_gather_start %{{.*}} over ["shard"] unit "b"
// EARLY: model.relu
// EARLY: model.matmul

// ALONE-NOT: spmd.all_reduce_start
// ALONE: spmd.section
// ALONE-NOT: spmd.all_reduce_start

module attributes {model.recipe = {mesh.shard = 2 : i64, schedule.forward_prefetch = 0 : i64}} {
  model.parameter @w : tensor<4x4xf32> zeros
  model.parameter @b.w : tensor<4x4xf32> zeros
  func.func @f(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<2x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w : tensor<4x4xf32>
    %0 = model.matmul %x, %w {model.block = ""} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = model.all_reduce %0 {model.block = "", reduction = #model.reduction<sum>, unshard = ["b"]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = model.relu %x {model.block = ""} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %3 = model.add %1, %2 {model.block = ""} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %b.w = model.read @b.w : tensor<4x4xf32>
    %4 = model.matmul %3, %b.w {model.block = "b"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    return %4 : tensor<2x4xf32>
  }
}
