// RUN: sluice-opt %s -plan-assign-streams -o %t.streams
// RUN: FileCheck %s --check-prefix=STREAMS < %t.streams
// RUN: sluice-opt %t.streams -plan-assign-streams | diff %t.streams -
// RUN: sluice-opt %t.streams -plan-insert-events -plan-elide-events -plan-verify-streams | FileCheck %s --check-prefix=EVENTS
// RUN: sluice-opt %t.streams -plan-insert-events -plan-elide-events -plan-compute-lifespans | FileCheck %s --check-prefix=LIVES
// Tests the streams of copies between host and device memory, the events between them, and the lifespans of their buffers.
// The lowering assigns the streams of transfers (plan-lower.mlir, plan-lower-copies.mlir).

// STREAMS: plan.stream @compute on <device>
// STREAMS-NEXT: plan.stream @gather on <device>
// STREAMS-NEXT: plan.stream @fetch on <device>
// STREAMS-NEXT: plan.stream @offload on <device>
// STREAMS-NEXT: plan.stream @host on <host>
// STREAMS: plan.copy <@a.host {{.*}} on @fetch
// STREAMS: plan.copy <@b.host {{.*}} on @fetch
// STREAMS: plan.collective <all_gather> {{.*}} on @gather
// STREAMS: plan.launch "exp" {{.*}} on @compute
// STREAMS: plan.copy <@y {{.*}} on @offload
// STREAMS: plan.copy <@lr.host {{.*}} to <@lr {{.*}} on @host
// STREAMS: plan.launch "add" {{.*}} on @host

// Copies that start together wait once, for compute and for the host, and are waited for by the stream of gathers.
// EVENTS: plan.record 0 on @compute
// EVENTS-NEXT: plan.wait 0 on @fetch
// EVENTS-NEXT: plan.record 1 on @host
// EVENTS-NEXT: plan.wait 1 on @fetch
// EVENTS-NEXT: plan.copy
// EVENTS-NEXT: plan.copy
// EVENTS-NEXT: plan.record 2 on @fetch
// EVENTS-NEXT: plan.wait 2 on @gather
// EVENTS: plan.collective <all_gather>
// EVENTS: plan.record [[OUT:[0-9]+]] on @compute
// EVENTS-NEXT: plan.wait [[OUT]] on @offload
// EVENTS: plan.copy <@y
// EVENTS-NEXT: plan.record [[DONE:[0-9]+]] on @offload
// EVENTS-NEXT: plan.wait [[DONE]] on @compute
// Host work starts after the work of compute so far; consecutive instructions have one wait.
// EVENTS-NEXT: plan.record [[KNOWN:[0-9]+]] on @compute
// EVENTS-NEXT: plan.wait [[KNOWN]] on @host
// EVENTS-NEXT: plan.copy
// EVENTS-NEXT: plan.launch "add"

// The fetched shard is live until compute waits for its gather, not to the end; buffers of the host until its work is done.
// LIVES-DAG: plan.buffer @a.device : {{.*}}end = [[GATHERED:[0-9]+]] : i64
// LIVES-DAG: plan.buffer @b.device : {{.*}}end = [[GATHERED]] : i64
// LIVES-DAG: plan.buffer @y.host : {{.*}}end = [[LAST:[0-9]+]] : i64
// LIVES-DAG: plan.buffer @lr : {{.*}}end = [[LAST]] : i64
// LIVES: plan.wait {{.*}} on @compute
plan.stream @gather on <device>
plan.stream @fetch on <device>
plan.stream @offload on <device>
plan.stream @host on <host>
plan.buffer @a.host : tensor<2xf32> {space = #plan.space<host>, buffer_class = #plan.class<parameter>, bytes = 8 : i64}
plan.buffer @b.host : tensor<2xf32> {space = #plan.space<host>, buffer_class = #plan.class<parameter>, bytes = 8 : i64}
plan.buffer @a.device : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 8 : i64, entry = "f"}
plan.buffer @b.device : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 8 : i64, entry = "f"}
plan.buffer @g : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 16 : i64, entry = "f"}
plan.buffer @y : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient_shard>, bytes = 16 : i64, entry = "f"}
plan.buffer @y.host : tensor<4xf32> {space = #plan.space<host>, buffer_class = #plan.class<gradient_shard>, bytes = 16 : i64, entry = "f"}
plan.buffer @lr.host : tensor<4xf32> {space = #plan.space<host>, buffer_class = #plan.class<input>, bytes = 16 : i64, entry = "f"}
plan.buffer @lr : tensor<4xf32> {space = #plan.space<host>, buffer_class = #plan.class<input>, bytes = 16 : i64, entry = "f"}
plan.buffer @z : tensor<4xf32> {space = #plan.space<host>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.copy <@a.host : 2xf32> to <@a.device : 2xf32> on @fetch {phase = #plan.phase<forward>, token = 1 : i64, unit = "root"}
    plan.copy <@b.host : 2xf32> to <@b.device : 2xf32> on @fetch {phase = #plan.phase<forward>, token = 1 : i64, unit = "root"}
    plan.await 1 {chained, phase = #plan.phase<forward>}
    plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@a.device : 2xf32>] to [#plan.view<@g : 4xf32>] on @gather {phase = #plan.phase<forward>, token = 2 : i64, unit = "root"}
    plan.await 2 {phase = #plan.phase<forward>, unit = "root"}
    plan.launch "exp" ins [#plan.view<@g : 4xf32>] outs [#plan.view<@y : 4xf32>] {} {phase = #plan.phase<forward>}
    plan.copy <@y : 4xf32> to <@y.host : 4xf32> on @offload {phase = #plan.phase<backward>, token = 3 : i64, unit = "root"}
    plan.await 3 {phase = #plan.phase<backward>}
    plan.copy <@lr.host : 4xf32> to <@lr : 4xf32> {phase = #plan.phase<update>}
    plan.launch "add" ins [#plan.view<@y.host : 4xf32>, #plan.view<@lr : 4xf32>] outs [#plan.view<@z : 4xf32>] {} on @host {phase = #plan.phase<update>}
  }
}
