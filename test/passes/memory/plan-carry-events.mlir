// RUN: sed 's/REPEAT/1/' %s > %t.one.mlir
// RUN: sluice-opt %t.one.mlir -plan-carry-events -plan-compute-lifespans -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -plan-carry-events -plan-compute-lifespans | diff %t.once -
// RUN: sed 's/REPEAT/3/' %s | sluice-opt -plan-carry-events -plan-compute-lifespans | FileCheck %s --check-prefix=THREE
// RUN: sluice-opt %t.one.mlir -plan-carry-events="schedule.overlap_steps=false" | FileCheck %s --check-prefix=OFF
// Without the large buffer of the forward there is room for one more at the updates: the block's gather does not move.
// RUN: sed 's/REPEAT/1/; s/1024/4/; s/4096 : i64/16 : i64/' %s | sluice-opt -plan-carry-events -plan-compute-lifespans | FileCheck %s --check-prefix=FULL

// The root's and the block's gathers wait for a record after the updates of their parameters in the previous
// run. The cast of the block's shard moves to the stream of gathers. Gathered buffers are reserved from the record on. The
// gather after the first launch of compute does not move.
// CHECK: plan.buffer @root : {{.*}}{begin = 2 : i64, {{.*}}reserved_from = 16 : i64
// CHECK: plan.buffer @cast : {{.*}}reserved_from = 18 : i64
// CHECK: plan.buffer @block : {{.*}}reserved_from = 18 : i64
// CHECK: plan.buffer @next : {{.*}}{begin
// CHECK: plan.section "main"
// CHECK-NEXT: plan.copy
// CHECK-NEXT: plan.wait [[R:[0-9]+]] on @gather {carried, phase = #plan.phase<forward>, unit = "root"}
// CHECK-NEXT: plan.collective {{.*}}@root :
// CHECK-NEXT: plan.wait [[B:[0-9]+]] on @gather {carried
// CHECK-NEXT: plan.launch "cast" {{.*}} on @gather
// CHECK-NEXT: plan.collective {{.*}}@block :
// CHECK-NEXT: plan.record 1 on @gather
// CHECK-NEXT: plan.wait 1 on @compute
// CHECK-NEXT: plan.launch "relu"
// CHECK-NEXT: plan.record 2 on @compute
// CHECK-NEXT: plan.wait 2 on @gather
// CHECK-NEXT: plan.collective {{.*}}@next :
// CHECK: plan.section "update"
// CHECK-NEXT: plan.launch "sgd" {{.*}}@root.shard
// CHECK-NEXT: plan.record [[R]] on @compute
// CHECK-NEXT: plan.launch "sgd" {{.*}}@block.shard
// CHECK-NEXT: plan.record [[B]] on @compute
// CHECK-NEXT: plan.launch "exp"
// CHECK-NEXT: plan.launch "sgd" {{.*}}@next.shard

// Later repetitions wait as they did.
// THREE: plan.section "main"
// THREE-NEXT: plan.copy
// THREE-NEXT: plan.record 0 on @compute {phase = #plan.phase<forward>}
// THREE-NEXT: plan.wait 0 on @gather {phase = #plan.phase<forward>, when = #plan.when<not_first>}
// THREE-NEXT: plan.wait {{[0-9]+}} on @gather {carried, phase = #plan.phase<forward>, unit = "root", when = #plan.when<first>}
// THREE-NEXT: plan.collective {{.*}}@root :

// OFF-NOT: carried

// FULL: plan.buffer @root : {{.*}}reserved_from
// FULL: plan.buffer @block : {{.*}}{begin
// FULL: plan.wait {{[0-9]+}} on @gather {carried, phase = #plan.phase<forward>, unit = "root"}
// FULL-NEXT: plan.collective {{.*}}@root :
// FULL-NEXT: plan.launch "cast" {{.*}} on @compute
// FULL-NEXT: plan.record [[C:[0-9]+]] on @compute
// FULL-NEXT: plan.wait [[C]] on @gather {phase
// FULL-NEXT: plan.collective {{.*}}@block :
module {
plan.stream @compute on <device>
plan.stream @gather on <device>
plan.buffer @root.shard : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 8 : i64}
plan.buffer @block.shard : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 8 : i64}
plan.buffer @next.shard : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 16 : i64}
plan.buffer @scalars : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<state>, bytes = 16 : i64}
plan.buffer @x.host : tensor<4xf32> {space = #plan.space<host>, buffer_class = #plan.class<input>, bytes = 16 : i64, entry = "f"}
plan.buffer @x : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 16 : i64, entry = "f"}
plan.buffer @large : tensor<1024xf32> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 4096 : i64, entry = "f"}
plan.buffer @root : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 16 : i64, entry = "f", unit = "root"}
plan.buffer @cast : tensor<2xbf16> {space = #plan.space<device>, buffer_class = #plan.class<communication>, bytes = 4 : i64, entry = "f"}
plan.buffer @block : tensor<4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 8 : i64, entry = "f", unit = "h.0"}
plan.buffer @next : tensor<8xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 32 : i64, entry = "f", unit = "h.1"}
plan.buffer @g : tensor<12xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient_shard>, bytes = 48 : i64, entry = "f"}
plan.buffer @u : tensor<13xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 52 : i64, entry = "f"}
plan.entry @f attributes {events = 4 : i64} {
  plan.port <input> "x" <@x.host : 4xf32> {}
  plan.section "main" repeat REPEAT {
    plan.copy <@x.host : 4xf32> to <@x : 4xf32> on @compute {phase = #plan.phase<forward>}
    plan.record 0 on @compute {phase = #plan.phase<forward>}
    plan.wait 0 on @gather {phase = #plan.phase<forward>}
    plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@root.shard : 2xf32>] to [#plan.view<@root : 4xf32>] on @gather {phase = #plan.phase<forward>, unit = "root"}
    plan.launch "cast" ins [#plan.view<@block.shard : 2xf32>] outs [#plan.view<@cast : 2xbf16>] {} on @compute {phase = #plan.phase<forward>}
    plan.record 3 on @compute {phase = #plan.phase<forward>}
    plan.wait 3 on @gather {phase = #plan.phase<forward>}
    plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@cast : 2xbf16>] to [#plan.view<@block : 4xbf16>] on @gather {phase = #plan.phase<forward>, unit = "h.0"}
    plan.record 1 on @gather {phase = #plan.phase<forward>}
    plan.wait 1 on @compute {phase = #plan.phase<forward>}
    plan.launch "relu" ins [#plan.view<@x : 4xf32>] outs [#plan.view<@large : 4xf32>] {} on @compute {phase = #plan.phase<forward>}
    plan.record 2 on @compute {phase = #plan.phase<forward>}
    plan.wait 2 on @gather {phase = #plan.phase<forward>}
    plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@next.shard : 4xf32>] to [#plan.view<@next : 8xf32>] on @gather {phase = #plan.phase<forward>, unit = "h.1"}
    plan.launch "add" ins [#plan.view<@root : 4xf32>, #plan.view<@large : 4xf32>] outs [#plan.view<@g : 4xf32>] {} on @compute {phase = #plan.phase<backward>}
    plan.launch "cast" ins [#plan.view<@block : 4xbf16>] outs [#plan.view<@g : 4xf32 offset 16>] {} on @compute {phase = #plan.phase<backward>}
  }
  plan.section "update" repeat 1 {
    plan.launch "sgd" ins [#plan.view<@root.shard : 2xf32>, #plan.view<@g : 2xf32>, #plan.view<@scalars : f32>, #plan.view<@scalars : f32>, #plan.view<@scalars : f32>, #plan.view<@scalars : f32>] outs [#plan.view<@root.shard : 2xf32>] {} on @compute {phase = #plan.phase<update>}
    plan.launch "sgd" ins [#plan.view<@block.shard : 2xf32>, #plan.view<@g : 2xf32>, #plan.view<@scalars : f32>, #plan.view<@scalars : f32>, #plan.view<@scalars : f32>, #plan.view<@scalars : f32>] outs [#plan.view<@block.shard : 2xf32>] {} on @compute {phase = #plan.phase<update>}
    plan.launch "exp" ins [#plan.view<@g : 4xf32>] outs [#plan.view<@u : 4xf32>] {} on @compute {phase = #plan.phase<update>}
    plan.launch "sgd" ins [#plan.view<@next.shard : 4xf32>, #plan.view<@u : 4xf32>, #plan.view<@g : f32>, #plan.view<@scalars : f32>, #plan.view<@scalars : f32>, #plan.view<@scalars : f32>] outs [#plan.view<@next.shard : 4xf32>] {} on @compute {phase = #plan.phase<update>}
  }
}
}
