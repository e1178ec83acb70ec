// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// Views print only attributes that differ from those of a dense window at the start of a buffer.

plan.stream @compute on <device> {workspace = 64 : i64}
plan.stream @gather on <device> {priority = 1 : i64}
// CHECK: plan.stream @copies (fetch) on <device>
plan.stream @copies(fetch) on <device>
// CHECK: plan.arena <device> {alignment = 256 : i64, bytes = 1024 : i64, peak_live = 900 : i64, persistent = 256 : i64, workspace = 64 : i64}
plan.arena <device> {alignment = 256 : i64, bytes = 1024 : i64, peak_live = 900 : i64, persistent = 256 : i64, workspace = 64 : i64}
// CHECK: plan.buffer @w.shard : tensor<4x4xf32>
// CHECK-SAME: parameter = "w"
// CHECK-SAME: valid = #plan.valid<dim = 0, chunk = 4, total = 7, axes = ["shard"]>
plan.buffer @w.shard : tensor<4x4xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 64 : i64, parameter = "w", valid = #plan.valid<dim = 0, chunk = 4, total = 7, axes = ["shard"]>}
plan.buffer @w.gathered.0 : tensor<8x4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 128 : i64, entry = "f", unit = "root", begin = 0 : i64, end = 4 : i64, offset = 256 : i64}
plan.buffer @x : tensor<2x4x4xf32> {space = #plan.space<host>, buffer_class = #plan.class<input>, bytes = 128 : i64, entry = "f"}

// CHECK: plan.entry @f attributes {events = 1 : i64} {
plan.entry @f attributes {events = 1 : i64} {
  // CHECK: plan.port <input> "x" <@x : 4x4xf32 step 64> {limit = 8 : i64, per_repetition}
  plan.port <input> "x" <@x : 4x4xf32 step 64> {limit = 8 : i64, per_repetition}
  // CHECK: plan.port <input> "rate" (learning_rate) <@x : f32>
  plan.port <input> "rate"(learning_rate) <@x : f32>
  // CHECK: plan.section "main" (microbatch) repeat 2 {
  plan.section "main"(microbatch) repeat 2 {
    // CHECK: plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@w.shard : 4x4xf32>] to [#plan.view<@w.gathered.0 : 8x4xf32>] on @gather {phase = #plan.phase<forward>, unit = "root"}
    plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@w.shard : 4x4xf32>] to [#plan.view<@w.gathered.0 : 8x4xf32>] on @gather {phase = #plan.phase<forward>, unit = "root"}
    // CHECK: plan.record 0 on @gather
    plan.record 0 on @gather {phase = #plan.phase<forward>}
    plan.wait 0 on @compute {phase = #plan.phase<forward>, when = #plan.when<first>}
    // CHECK: plan.launch "copy" ins [#plan.view<@w.gathered.0 : 4x2xf32 offset 8 strides [1, 4]>] outs [#plan.view<@w.shard : 4x2xf32 strides [4, 1] valid <dim = 0, chunk = 4, total = 7, axes = ["shard"]>>] {} on @compute
    plan.launch "copy" ins [#plan.view<@w.gathered.0 : 4x2xf32 offset 8 strides [1, 4]>] outs [#plan.view<@w.shard : 4x2xf32 strides [4, 1] valid <dim = 0, chunk = 4, total = 7, axes = ["shard"]>>] {} on @compute {phase = #plan.phase<forward>}
    // CHECK: plan.copy <@x : f32 offset 4 step 64> to <@w.gathered.0 : f32>
    plan.copy <@x : f32 offset 4 step 64> to <@w.gathered.0 : f32> on @compute {phase = #plan.phase<loss>}
    // CHECK: plan.fill <@w.gathered.0 : 1x4xf32 offset 112> with 0.000000e+00
    plan.fill <@w.gathered.0 : 1x4xf32 offset 112> with 0.0 on @compute {phase = #plan.phase<backward>}
    // CHECK: plan.release [@w.gathered.0]
    plan.release [@w.gathered.0] on @compute {phase = #plan.phase<update>}
  }
}
