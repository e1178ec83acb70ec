// RUN: sluice-opt %s -plan-assign-streams | FileCheck %s
// RUN: sluice-opt %s -plan-assign-streams -plan-assign-streams | FileCheck %s

// CHECK: plan.stream @compute on <device> {{.*}}workspace = [[WORKSPACE:[1-9][0-9]*]]
// CHECK-NEXT: plan.stream @gather on <device>
// CHECK-NEXT: plan.stream @reduce on <device>
// CHECK-NOT: plan.stream
// The lowering assigns the streams of collectives; the pass assigns all others, and workspaces.
plan.stream @gather on <device>
plan.stream @reduce on <device>
plan.buffer @w : tensor<64x64xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 16384 : i64}
plan.buffer @g : tensor<128x64xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 32768 : i64, entry = "f"}
plan.buffer @y : tensor<64x64xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16384 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // CHECK: plan.collective <all_gather> {{.*}} on @gather
    plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@w : 64x64xf32>] to [#plan.view<@g : 128x64xf32>] on @gather {phase = #plan.phase<forward>}
    // CHECK: plan.launch "matmul" {{.*}} on @compute {{.*}}workspace = [[WORKSPACE]] : i64
    plan.launch "matmul" ins [#plan.view<@w : 64x64xf32>, #plan.view<@g : 64x64xf32>] outs [#plan.view<@y : 64x64xf32>] {} {phase = #plan.phase<forward>}
    // CHECK: plan.collective <all_reduce> {{.*}} on @reduce
    plan.collective <all_reduce> <sum> over ["shard"] from [#plan.view<@y : 64x64xf32>] to [#plan.view<@y : 64x64xf32>] on @reduce {phase = #plan.phase<forward>}
    // CHECK: plan.release [@g] on @compute
    plan.release [@g] {phase = #plan.phase<forward>}
  }
}
