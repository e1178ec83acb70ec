// RUN: sluice-opt %s -spmd-assign-units -spmd-partition | FileCheck %s
// RUN: sluice-opt %s -sluice-partition | FileCheck %s
// RUN: sluice-opt %s -sluice-partition="set=mesh.replicate=1,mesh.shard=4" | FileCheck %s --check-prefix=SHARD

// Tests that a gather and a reduction of rows that the model's author writes are collectives of no unit over the data axes
// with several ranks, the first outermost; that their shards are views; and that they are waited for where their values are
// first read.

// CHECK: %[[V:.*]] = model.reshape %arg{{.*}} {model.block = ""} : (tensor<2x4xf32>) -> tensor<2x4xf32, #[[S:.*]]>
// CHECK-NEXT: %[[T:.*]] = spmd.all_gather_start %[[V]] over ["replicate", "shard"] {model.block = ""} : tensor<2x4xf32, #[[S]]>
// CHECK-NEXT: %[[Z:.*]] = model.relu
// CHECK-NEXT: %[[G:.*]] = spmd.wait %[[T]] {model.block = ""} : tensor<8x4xf32>
// CHECK-NEXT: %[[E:.*]] = model.exp %[[G]]
// CHECK-NEXT: %[[R:.*]] = spmd.reduce_scatter_start %[[E]] over ["replicate", "shard"] <sum> {model.block = ""} : tensor<8x4xf32> to [tensor<2x4xf32, #[[S]]>]
// CHECK-NEXT: %[[N:.*]] = model.negate %[[Z]]
// CHECK-NEXT: %[[W:.*]] = spmd.wait %[[R]] {model.block = ""} : tensor<2x4xf32, #[[S]]>
// CHECK-NEXT: %[[P:.*]] = model.reshape %[[W]] {model.block = ""} : (tensor<2x4xf32, #[[S]]>) -> tensor<2x4xf32>
// CHECK-NEXT: model.add %[[P]], %[[N]]

// SHARD: spmd.all_gather_start %{{.*}} over ["shard"] {
// SHARD: spmd.reduce_scatter_start %{{.*}} over ["shard"] <sum> {

module attributes {model.recipe = {mesh.replicate = 2 : i64, mesh.shard = 2 : i64}} {
  func.func @f(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<2x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    %0 = model.all_gather %x {model.block = ""} : (tensor<2x4xf32>) -> tensor<8x4xf32>
    %1 = model.relu %x {model.block = ""} : tensor<2x4xf32>
    %2 = model.exp %0 {model.block = ""} : tensor<8x4xf32>
    %3 = model.reduce_scatter %2 {model.block = ""} : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %4 = model.negate %1 {model.block = ""} : tensor<2x4xf32>
    %5 = model.add %3, %4 {model.block = ""} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %5 : tensor<2x4xf32>
  }
}
