// RUN: sluice-opt %s -plan-insert-events | FileCheck %s
// RUN: sluice-opt %s -plan-insert-events -plan-elide-events -plan-compute-lifespans | FileCheck %s --check-prefix=LIVES
// Tests that a reduced gradient is copied to the host after its reduction: the copies' stream waits for the reduction,
// compute only for the copy. Tests that a gathered parameter's memory is free after its last read, before its release.

plan.stream @compute on <device>
plan.stream @reduce on <device>
plan.stream @offload on <device>
plan.stream @host on <host>
// LIVES: plan.buffer @w : {{.*}}begin = 0 : i64, {{.*}}end = 1 : i64
plan.buffer @w : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 16 : i64, entry = "f"}
plan.buffer @g : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.buffer @s : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient_shard>, bytes = 8 : i64, entry = "f"}
plan.buffer @s.host : tensor<2xf32> {space = #plan.space<host>, buffer_class = #plan.class<gradient_shard>, bytes = 8 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.launch "constant" ins [] outs [#plan.view<@w : 4xf32>] {value = 1.0 : f64} on @compute {phase = #plan.phase<backward>}
    plan.launch "constant" ins [] outs [#plan.view<@g : 4xf32>] {value = 1.0 : f64} on @compute {phase = #plan.phase<backward>}
    plan.release [@w] on @compute {phase = #plan.phase<backward>}
    // CHECK: plan.collective <reduce_scatter>
    // CHECK-NEXT: plan.record [[R:[0-9]+]] on @reduce
    // CHECK-NEXT: plan.wait [[R]] on @offload
    // CHECK-NOT: plan.wait {{.*}} on @compute
    // CHECK: plan.copy
    // CHECK-NEXT: plan.record [[C:[0-9]+]] on @offload
    // CHECK-NEXT: plan.wait [[C]] on @compute
    // CHECK-NOT: plan.await
    plan.collective <reduce_scatter> <mean> over ["shard"] from [#plan.view<@g : 4xf32>] to [#plan.view<@s : 2xf32>] on @reduce {phase = #plan.phase<backward>, token = 1 : i64}
    plan.await 1 {phase = #plan.phase<backward>, chained}
    plan.copy <@s : 2xf32> to <@s.host : 2xf32> on @offload {phase = #plan.phase<backward>, token = 2 : i64}
    plan.await 2 {phase = #plan.phase<backward>}
  }
}
