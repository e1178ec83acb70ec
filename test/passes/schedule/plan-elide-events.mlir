// RUN: sluice-opt %s -plan-elide-events | FileCheck %s
// RUN: sluice-opt %s -plan-elide-events -plan-elide-events | FileCheck %s

plan.stream @compute on <device>
plan.stream @reduce on <device>
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.buffer @b : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
// CHECK: plan.entry @f attributes {events = 5 : i64}
plan.entry @f attributes {events = 7 : i64} {
  plan.section "main" repeat 1 {
    plan.fill <@a : 4xf32> with 0.0 on @compute {phase = #plan.phase<backward>}
    // CHECK: plan.record 0 on @compute
    // CHECK-NEXT: plan.wait 0 on @reduce
    plan.record 0 on @compute {phase = #plan.phase<backward>}
    plan.wait 0 on @reduce {phase = #plan.phase<backward>}
    plan.collective <all_reduce> <mean> over ["shard"] from [#plan.view<@a : 4xf32>] to [#plan.view<@a : 4xf32>] on @reduce {phase = #plan.phase<backward>}
    // Compute has done nothing since event 0.
    // CHECK-NEXT: plan.collective {{.*}} over ["shard"]
    plan.record 1 on @compute {phase = #plan.phase<backward>}
    plan.wait 1 on @reduce {phase = #plan.phase<backward>}
    // CHECK-NEXT: plan.collective {{.*}} over ["replicate"]
    plan.collective <all_reduce> <mean> over ["replicate"] from [#plan.view<@a : 4xf32>] to [#plan.view<@a : 4xf32>] on @reduce {phase = #plan.phase<backward>}
    // No stream waits for event 2.
    // CHECK-NEXT: plan.record 1 on @reduce
    // CHECK-NEXT: plan.wait 1 on @compute
    // CHECK-NEXT: plan.fill
    plan.record 2 on @reduce {phase = #plan.phase<backward>}
    plan.record 3 on @reduce {phase = #plan.phase<backward>}
    plan.wait 3 on @compute {phase = #plan.phase<backward>}
    plan.fill <@b : 4xf32> with 0.0 on @compute {phase = #plan.phase<backward>}
  }
  plan.section "first" repeat 2 {
    // Compute has no work here yet, but the wait is for its work before this repetition.
    // CHECK: plan.section "first"
    // CHECK-NEXT: plan.record 2 on @compute
    // CHECK-NEXT: plan.wait 2 on @reduce
    plan.record 6 on @compute {phase = #plan.phase<backward>}
    plan.wait 6 on @reduce {phase = #plan.phase<backward>}
    plan.collective <all_reduce> <mean> over ["shard"] from [#plan.view<@b : 4xf32>] to [#plan.view<@b : 4xf32>] on @reduce {phase = #plan.phase<backward>}
  }
  plan.section "again" repeat 2 {
    // In the last repetition the first wait implies the second; in the others there is no first.
    // CHECK: plan.fill
    // CHECK-NEXT: plan.record 3 on @compute {phase = #plan.phase<backward>, when = #plan.when<last>}
    // CHECK-NEXT: plan.wait 3 on @reduce {phase = #plan.phase<backward>, when = #plan.when<last>}
    // CHECK-NEXT: plan.record 4 on @compute {phase = #plan.phase<backward>}
    // CHECK-NEXT: plan.wait 4 on @reduce {phase = #plan.phase<backward>}
    plan.fill <@a : 4xf32> with 0.0 on @compute {phase = #plan.phase<backward>}
    plan.record 4 on @compute {phase = #plan.phase<backward>, when = #plan.when<last>}
    plan.wait 4 on @reduce {phase = #plan.phase<backward>, when = #plan.when<last>}
    plan.record 5 on @compute {phase = #plan.phase<backward>}
    plan.wait 5 on @reduce {phase = #plan.phase<backward>}
    plan.collective <all_reduce> <mean> over ["shard"] from [#plan.view<@a : 4xf32>] to [#plan.view<@a : 4xf32>] on @reduce {phase = #plan.phase<backward>}
  }
}
