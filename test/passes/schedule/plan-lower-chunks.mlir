// RUN: sluice-opt %s -plan-lower | FileCheck %s

// Along another dim than the first the ranks' chunks are one after the other: a copy after a gather puts the chunks into place,
// and a copy before a reduction divides the tensor into chunks. Uneven extents are copied separately, padded with zeros.

spmd.mesh @mesh <replicate = 1, shard = 3, tensor = 1>
model.parameter @w : tensor<2x7xf32> zeros

// CHECK-LABEL: plan.entry @gathered
// CHECK: plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@w.shard : 2x3xf32>] to [#plan.view<@[[C:.*]] : 3x2x3xf32>]
// CHECK: plan.await
// CHECK-NEXT: plan.launch "copy" ins [#plan.view<@[[C]] : 2x2x3xf32 strides [3, 6, 1]>] outs [#plan.view<@[[W:.*]] : 2x2x3xf32 strides [7, 3, 1]>]
// CHECK-NEXT: plan.launch "copy" ins [#plan.view<@[[C]] : 2x1x1xf32 offset 48 strides [3, 6, 1]>] outs [#plan.view<@[[W]] : 2x1x1xf32 offset 24 strides [7, 3, 1]>]
// CHECK-NEXT: plan.launch "relu" ins [#plan.view<@[[W]] : 2x7xf32>]
func.func @gathered(%w: tensor<2x3xf32, #spmd.sharding<[{}, {"shard", chunk = 3, total = 7}]>> {spmd.parameter = @w}) -> (tensor<2x7xf32> {spmd.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %r = spmd.section "main" repeat 1 -> tensor<2x7xf32> {
    %t = spmd.all_gather_start %w over ["shard"] : tensor<2x3xf32, #spmd.sharding<[{}, {"shard", chunk = 3, total = 7}]>>
    %W = spmd.wait %t : tensor<2x7xf32>
    %y = model.relu %W : (tensor<2x7xf32>) -> tensor<2x7xf32>
    spmd.release %W : tensor<2x7xf32>
    spmd.yield %y : tensor<2x7xf32>
  }
  return %r : tensor<2x7xf32>
}

// CHECK-LABEL: plan.entry @reduced
// CHECK: plan.launch "relu" {{.*}} outs [#plan.view<@[[G:.*]] : 2x7xf32>]
// CHECK-NEXT: plan.copy <@[[G]] : 2x7xf32> to <@output.y
// CHECK-NEXT: plan.fill <@[[C:.*]] : 3x2x3xf32> with 0
// CHECK-NEXT: plan.launch "copy" ins [#plan.view<@[[G]] : 2x2x3xf32 strides [7, 3, 1]>] outs [#plan.view<@[[C]] : 2x2x3xf32 strides [3, 6, 1]>]
// CHECK-NEXT: plan.launch "copy" ins [#plan.view<@[[G]] : 2x1x1xf32 offset 24 strides [7, 3, 1]>] outs [#plan.view<@[[C]] : 2x1x1xf32 offset 48 strides [3, 6, 1]>]
// CHECK-NEXT: plan.collective <reduce_scatter> <sum> over ["shard"] from [#plan.view<@[[C]] : 3x2x3xf32>]
func.func @reduced(%x: tensor<2x7xf32> {spmd.input = "x"}) -> (tensor<2x7xf32> {spmd.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %r = spmd.section "main" repeat 1 -> tensor<2x7xf32> {
    %g = model.relu %x : (tensor<2x7xf32>) -> tensor<2x7xf32>
    %t = spmd.reduce_scatter_start %g over ["shard"] <sum> : tensor<2x7xf32> to [tensor<2x3xf32, #spmd.sharding<[{}, {"shard", chunk = 3, total = 7}]>>]
    %s = spmd.wait %t : tensor<2x3xf32, #spmd.sharding<[{}, {"shard", chunk = 3, total = 7}]>>
    spmd.yield %g : tensor<2x7xf32>
  }
  return %r : tensor<2x7xf32>
}
