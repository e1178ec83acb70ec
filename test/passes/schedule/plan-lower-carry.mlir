// RUN: sluice-opt %s -plan-lower | FileCheck %s

// Two repetitions: accumulation is two launches, its buffer is carried; ops of the last repetition have `when`. A
// concatenated value is copied into its window; all_reduce is in place.

spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>

// CHECK: plan.buffer @root.grad.0 : tensor<2x3xf32> {{.*}}carried
// CHECK-LABEL: plan.entry @train_step
func.func @train_step(%x: tensor<2x3xf32> {spmd.input = "x", spmd.per_repetition}) -> (tensor<2x6xf32> {spmd.output = "y"})
    attributes {model.entry = #model.entry<train>} {
  // CHECK: plan.section "microbatch" repeat 2
  // CHECK-NEXT: plan.copy <@input.x.host : 2x3xf32 step 24> to <@input.x : 2x3xf32>
  %s, %j = spmd.section "microbatch" repeat 2 -> tensor<2x3xf32>, tensor<2x6xf32> {
    // CHECK-NEXT: plan.launch "relu"
    %a = model.relu %x {model.phase = #model.phase<forward>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK-NEXT: plan.launch "accumulate" ins [#plan.view<@root.act.0 : 2x3xf32>] outs [#plan.view<@root.grad.0 : 2x3xf32>] {first = 1 : i64} {{.*}}when = #plan.when<first>
    // CHECK-NEXT: plan.launch "accumulate" {{.*}} {first = 0 : i64} {{.*}}when = #plan.when<not_first>
    %sum = spmd.accumulate %a {model.phase = #model.phase<backward>} : tensor<2x3xf32> -> tensor<2x3xf32>
    // CHECK-NEXT: plan.collective <all_reduce> <mean> over ["shard"] from [#plan.view<@root.grad.0 : 2x3xf32>] to [#plan.view<@root.grad.0 : 2x3xf32>] on @reduce {{.*}}when = #plan.when<last>
    // CHECK-NEXT: plan.await 1 {{.*}}when = #plan.when<last>
    %t = spmd.all_reduce_start %sum over ["shard"] <mean> unit "root" {model.phase = #model.phase<backward>, spmd.when = #spmd.when<last>} : tensor<2x3xf32>
    %r = spmd.wait %t {model.phase = #model.phase<backward>, spmd.when = #spmd.when<last>} : tensor<2x3xf32>
    // CHECK-NEXT: plan.launch "copy" ins [#plan.view<@root.act.0 : 2x3xf32>] outs [#plan.view<@[[J:.*]] : 2x3xf32 strides [6, 1]>]
    // CHECK-NEXT: plan.launch "copy" ins [#plan.view<@input.x : 2x3xf32>] outs [#plan.view<@[[J]] : 2x3xf32 offset 12 strides [6, 1]>]
    %j = model.concat %a, %x {dim = 1, model.phase = #model.phase<backward>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
    spmd.yield %r, %j : tensor<2x3xf32>, tensor<2x6xf32>
  }
  return %j : tensor<2x6xf32>
}
