// RUN: sluice-opt %s -plan-lower | FileCheck %s

// A value whose memory cannot be shared is copied: an all_reduce whose operand is read after it, an update whose old value
// is read after it, a reshape without a window, a parameter that is returned as the new value of a different one.

spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>

// CHECK-LABEL: plan.entry @reduced
// CHECK: plan.launch "relu" ins {{.*}} outs [#plan.view<@[[A:.*]] : 4xf32>]
// CHECK-NEXT: plan.launch "copy" ins [#plan.view<@[[A]] : 4xf32>] outs [#plan.view<@[[B:.*]] : 4xf32>]
// CHECK-NEXT: plan.collective <all_reduce> <sum> over ["shard"] from [#plan.view<@[[B]] : 4xf32>] to [#plan.view<@[[B]] : 4xf32>]
// CHECK: plan.launch "add" ins [#plan.view<@[[A]] : 4xf32>, #plan.view<@[[B]] : 4xf32>]
func.func @reduced(%x: tensor<4xf32> {spmd.input = "x"}) -> (tensor<4xf32> {spmd.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %r = spmd.section "main" repeat 1 -> tensor<4xf32> {
    %a = model.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %t = spmd.all_reduce_start %a over ["shard"] <sum> : tensor<4xf32>
    %b = spmd.wait %t : tensor<4xf32>
    %c = model.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    spmd.yield %c : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// CHECK-LABEL: plan.entry @reshaped
// CHECK: plan.launch "copy" ins [#plan.view<@input.x.0 : 3x2xf32 strides [1, 3]>] outs [#plan.view<@[[D:.*]] : 3x2xf32>]
// CHECK-NEXT: plan.launch "relu" ins [#plan.view<@[[D]] : 6xf32>]
func.func @reshaped(%x: tensor<2x3xf32> {spmd.input = "x"}) -> (tensor<6xf32> {spmd.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %r = spmd.section "main" repeat 1 -> tensor<6xf32> {
    %t = model.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %f = model.reshape %t : (tensor<3x2xf32>) -> tensor<6xf32>
    %c = model.relu %f : (tensor<6xf32>) -> tensor<6xf32>
    spmd.yield %c : tensor<6xf32>
  }
  return %r : tensor<6xf32>
}
