// RUN: sluice-opt %s -plan-insert-events | FileCheck %s
// RUN: sluice-opt %s -plan-insert-events -plan-insert-events | FileCheck %s

plan.stream @compute on <device>
plan.stream @gather on <device>
plan.stream @reduce on <device>
plan.buffer @w : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 8 : i64}
plan.buffer @g : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 16 : i64, entry = "f"}
plan.buffer @s : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient_shard>, bytes = 8 : i64, entry = "f"}
// CHECK: plan.entry @f attributes {events = 5 : i64}
plan.entry @f {
  plan.section "main" repeat 2 {
    // CHECK: plan.record 0 on @compute
    // CHECK-NEXT: plan.wait 0 on @gather
    // CHECK-NEXT: plan.collective <all_gather>
    // CHECK-NOT: token
    // CHECK-NEXT: plan.record 1 on @gather
    plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@w : 2xf32>] to [#plan.view<@g : 4xf32>] on @gather {phase = #plan.phase<forward>, token = 7 : i64, unit = "root"}
    // CHECK-NEXT: plan.fill
    plan.fill <@s : 2xf32> with 0.0 on @compute {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.wait 1 on @compute {phase = #plan.phase<forward>, unit = "root"}
    plan.await 7 {phase = #plan.phase<forward>, unit = "root"}
    // Work of the last repetition has its events only there. A chained await needs no event.
    // CHECK-NEXT: plan.record 2 on @compute {phase = #plan.phase<backward>, when = #plan.when<last>}
    // CHECK-NEXT: plan.wait 2 on @reduce {phase = #plan.phase<backward>, when = #plan.when<last>}
    // CHECK-NEXT: plan.collective <reduce_scatter>
    // CHECK-NEXT: plan.record 3 on @compute {phase = #plan.phase<backward>, when = #plan.when<last>}
    // CHECK-NEXT: plan.wait 3 on @reduce {phase = #plan.phase<backward>, when = #plan.when<last>}
    // CHECK-NEXT: plan.collective <all_reduce>
    // CHECK-NEXT: plan.record 4 on @reduce
    // CHECK-NEXT: plan.wait 4 on @compute
    // CHECK-NOT: plan.await
    plan.collective <reduce_scatter> <mean> over ["shard"] from [#plan.view<@g : 4xf32>] to [#plan.view<@s : 2xf32>] on @reduce {phase = #plan.phase<backward>, token = 1 : i64, when = #plan.when<last>}
    plan.await 1 {phase = #plan.phase<backward>, chained, when = #plan.when<last>}
    plan.collective <all_reduce> <mean> over ["replicate"] from [#plan.view<@s : 2xf32>] to [#plan.view<@s : 2xf32>] on @reduce {phase = #plan.phase<backward>, token = 2 : i64, when = #plan.when<last>}
    plan.await 2 {phase = #plan.phase<backward>, when = #plan.when<last>}
  }
}
