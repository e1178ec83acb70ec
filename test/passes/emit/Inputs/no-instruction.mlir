module attributes {model.compiled_to = "memory"} {
spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
plan.stream @compute on <device>
plan.stream @reduce on <device>
plan.arena <device> {alignment = 256 : i64, bytes = 16 : i64, peak_live = 16 : i64, persistent = 0 : i64, workspace = 0 : i64}
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f", begin = 0 : i64, end = 2 : i64, offset = 0 : i64}
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.fill <@a : 4xf32> with 0.0 on @compute {phase = #plan.phase<forward>}
    plan.arena <host> {alignment = 256 : i64, bytes = 0 : i64, peak_live = 0 : i64, persistent = 0 : i64, workspace = 0 : i64}
  }
}
}
