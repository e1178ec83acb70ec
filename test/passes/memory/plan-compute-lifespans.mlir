// RUN: sluice-opt %s -plan-compute-lifespans | FileCheck %s
// RUN: sluice-opt %s -plan-compute-lifespans -plan-compute-lifespans | FileCheck %s

plan.stream @compute on <device>
plan.stream @reduce on <device>
// An unused buffer is erased.
// CHECK-NOT: @dead
plan.buffer @dead : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
// Persistent: no lifespan.
// CHECK: plan.buffer @w : tensor<4xf32> {buffer_class = #plan.class<parameter>, bytes = 16 : i64, space = #plan.space<device>}
plan.buffer @w : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 16 : i64}
// The buffer of a port: live in the full entry.
// CHECK: plan.buffer @x.host {{.*}}begin = 0 : i64, {{.*}}end = 14 : i64
plan.buffer @x.host : tensor<2x4xf32> {space = #plan.space<host>, buffer_class = #plan.class<input>, bytes = 32 : i64, entry = "f"}
// CHECK: plan.buffer @x : {{.*}}begin = 0 : i64, {{.*}}end = 2 : i64
plan.buffer @x : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 16 : i64, entry = "f"}
// The reduction reads it until compute has waited for that, at 6.
// CHECK: plan.buffer @g : {{.*}}begin = 1 : i64, {{.*}}end = 7 : i64
plan.buffer @g : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
// Written by the reduction, at 4, read in the next section.
// CHECK: plan.buffer @s : {{.*}}begin = 4 : i64, {{.*}}end = 14 : i64
plan.buffer @s : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient_shard>, bytes = 8 : i64, entry = "f"}
// Carried over repetitions: live in the full first section.
// CHECK: plan.buffer @sum : {{.*}}begin = 0 : i64, {{.*}}end = 14 : i64
plan.buffer @sum : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f", carried}
// Written by one of two launches in each repetition, at 9 and 10, and read at 12: not carried.
// CHECK: plan.buffer @dx : {{.*}}begin = 9 : i64, {{.*}}end = 13 : i64
plan.buffer @dx : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
// Written in the first repetition, read in all: live in the full first section.
// CHECK: plan.buffer @once : {{.*}}begin = 0 : i64, {{.*}}end = 13 : i64
plan.buffer @once : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f attributes {events = 2 : i64} {
  plan.port <input> "x" <@x.host : 4xf32 step 16> {per_repetition}
  plan.section "main" repeat 2 {
    plan.copy <@x.host : 4xf32 step 16> to <@x : 4xf32> on @compute {phase = #plan.phase<forward>}
    plan.launch "exp" ins [#plan.view<@x : 4xf32>] outs [#plan.view<@g : 4xf32>] {} on @compute {phase = #plan.phase<forward>}
    plan.record 0 on @compute {phase = #plan.phase<forward>}
    plan.wait 0 on @reduce {phase = #plan.phase<forward>}
    plan.collective <reduce_scatter> <mean> over ["shard"] from [#plan.view<@g : 4xf32>] to [#plan.view<@s : 2xf32>] on @reduce {phase = #plan.phase<forward>}
    plan.record 1 on @reduce {phase = #plan.phase<forward>}
    plan.wait 1 on @compute {phase = #plan.phase<forward>}
    plan.launch "accumulate" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@sum : 4xf32>] {first = 1} on @compute {phase = #plan.phase<forward>, when = #plan.when<first>}
    plan.launch "accumulate" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@sum : 4xf32>] {first = 0} on @compute {phase = #plan.phase<forward>, when = #plan.when<not_first>}
    plan.launch "exp" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@dx : 4xf32>] {} on @compute {phase = #plan.phase<forward>, when = #plan.when<first>}
    plan.launch "relu" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@dx : 4xf32>] {} on @compute {phase = #plan.phase<forward>, when = #plan.when<not_first>}
    plan.launch "exp" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@once : 4xf32>] {} on @compute {phase = #plan.phase<forward>, when = #plan.when<first>}
    plan.launch "add" ins [#plan.view<@dx : 4xf32>, #plan.view<@once : 4xf32>] outs [#plan.view<@w : 4xf32>] {} on @compute {phase = #plan.phase<forward>}
  }
  plan.section "update" repeat 1 {
    plan.launch "power_sum" ins [#plan.view<@s : 2xf32>, #plan.view<@sum : 4xf32>] outs [#plan.view<@w : f32>] {p = 2.0} on @compute {phase = #plan.phase<update>}
  }
}
