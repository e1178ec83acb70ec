// RUN: sluice-opt %s -plan-verify-memory -split-input-file -verify-diagnostics

// expected-error @+1 {{has no offset after memory planning}}
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}

// -----

plan.arena <device> {alignment = 256 : i64, bytes = 512 : i64, peak_live = 32 : i64, persistent = 256 : i64, workspace = 0 : i64}
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f", begin = 0 : i64, end = 2 : i64, offset = 256 : i64}
plan.buffer @b : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f", begin = 1 : i64, end = 2 : i64, offset = 256 : i64}
// expected-error @+1 {{memory of entry 'f': buffers 'a' and 'b', expected no byte in common at instant 1 but got bytes [256, 272)}}
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.fill <@a : 4xf32> with 0.0 {phase = #plan.phase<forward>}
  }
}

// -----

// Persistent buffers are live in every entry point.
plan.arena <device> {alignment = 256 : i64, bytes = 512 : i64, peak_live = 32 : i64, persistent = 256 : i64, workspace = 0 : i64}
plan.buffer @w : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 16 : i64, offset = 0 : i64}
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f", begin = 1 : i64, end = 2 : i64, offset = 0 : i64}
// expected-error @+1 {{memory of entry 'f': buffers 'w' and 'a', expected no byte in common at instant 1 but got bytes [0, 16)}}
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.fill <@a : 4xf32> with 0.0 {phase = #plan.phase<forward>}
  }
}

// -----

plan.arena <device> {alignment = 256 : i64, bytes = 264 : i64, peak_live = 16 : i64, persistent = 0 : i64, workspace = 0 : i64}
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f", begin = 0 : i64, end = 1 : i64, offset = 256 : i64}
// expected-error @+1 {{memory of entry 'f': end of buffer 'a', expected at most 264 but got 256 + 16}}
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.fill <@a : 4xf32> with 0.0 {phase = #plan.phase<forward>}
  }
}
