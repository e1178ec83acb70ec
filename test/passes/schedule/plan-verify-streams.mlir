// RUN: sluice-opt %s -plan-verify-streams -split-input-file -verify-diagnostics

plan.stream @compute on <device>
plan.stream @reduce on <device>
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.entry @f attributes {events = 1 : i64} {
  plan.section "main" repeat 1 {
    // expected-note @+1 {{the other access is here}}
    plan.fill <@a : 4xf32> with 0.0 on @compute {phase = #plan.phase<backward>}
    // expected-error @+1 {{access of 'a' on stream 'reduce' is not ordered after one on stream 'compute'}}
    plan.collective <all_reduce> <mean> over ["shard"] from [#plan.view<@a : 4xf32>] to [#plan.view<@a : 4xf32>] on @reduce {phase = #plan.phase<backward>}
  }
}

// -----

// The race is between one step and the next.
plan.stream @compute on <device>
plan.stream @reduce on <device>
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.entry @f attributes {events = 1 : i64} {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{access of 'a' on stream 'compute' is not ordered after one on stream 'reduce'}}
    plan.fill <@a : 4xf32> with 0.0 on @compute {phase = #plan.phase<backward>}
    plan.record 0 on @compute {phase = #plan.phase<backward>}
    plan.wait 0 on @reduce {phase = #plan.phase<backward>}
    // expected-note @+1 {{the other access is here}}
    plan.collective <all_reduce> <mean> over ["shard"] from [#plan.view<@a : 4xf32>] to [#plan.view<@a : 4xf32>] on @reduce {phase = #plan.phase<backward>}
  }
}

// -----

plan.stream @compute on <device>
plan.entry @f attributes {events = 1 : i64} {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{event 0 has no record before the wait}}
    plan.wait 0 on @compute {phase = #plan.phase<backward>}
  }
}

// -----

plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{has no stream}}
    plan.fill <@a : 4xf32> with 0.0 {phase = #plan.phase<backward>}
  }
}

// -----

plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{remains after the streams phase}}
    plan.await 3 {phase = #plan.phase<backward>}
  }
}

// -----

// In order: no error.
plan.stream @compute on <device>
plan.stream @reduce on <device>
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.entry @f attributes {events = 2 : i64} {
  plan.section "main" repeat 4 {
    plan.fill <@a : 4xf32> with 0.0 on @compute {phase = #plan.phase<backward>}
    plan.record 0 on @compute {phase = #plan.phase<backward>}
    plan.wait 0 on @reduce {phase = #plan.phase<backward>}
    plan.collective <all_reduce> <mean> over ["shard"] from [#plan.view<@a : 4xf32>] to [#plan.view<@a : 4xf32>] on @reduce {phase = #plan.phase<backward>}
    plan.record 1 on @reduce {phase = #plan.phase<backward>}
    plan.wait 1 on @compute {phase = #plan.phase<backward>}
  }
}
