// RUN: sluice-opt %s -plan-insert-events -split-input-file -verify-diagnostics

plan.stream @gather on <device>
plan.buffer @g : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{token 7 has no plan.await}}
    plan.collective <all_reduce> <sum> over ["shard"] from [#plan.view<@g : 4xf32>] to [#plan.view<@g : 4xf32>] on @gather {phase = #plan.phase<forward>, token = 7 : i64}
  }
}

// -----

plan.stream @gather on <device>
plan.stream @reduce on <device>
plan.buffer @g : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.collective <all_reduce> <sum> over ["shard"] from [#plan.view<@g : 4xf32>] to [#plan.view<@g : 4xf32>] on @gather {phase = #plan.phase<forward>, token = 1 : i64}
    // expected-error @+1 {{'chained' requires the next collective on stream 'gather' but it is on 'reduce'}}
    plan.await 1 {phase = #plan.phase<forward>, chained}
    plan.collective <all_reduce> <sum> over ["shard"] from [#plan.view<@g : 4xf32>] to [#plan.view<@g : 4xf32>] on @reduce {phase = #plan.phase<forward>}
  }
}

// -----

plan.stream @gather on <device>
plan.buffer @g : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.collective <all_reduce> <sum> over ["shard"] from [#plan.view<@g : 4xf32>] to [#plan.view<@g : 4xf32>] on @gather {phase = #plan.phase<forward>, token = 1 : i64}
    // expected-error @+1 {{'chained' requires a collective after it}}
    plan.await 1 {phase = #plan.phase<forward>, chained}
  }
}
