// RUN: sluice-opt %s -plan-place-buffers -plan-check-budget -split-input-file -verify-diagnostics

// expected-error @+2 {{over the memory budget of one rank, expected at most 1024 bytes (1.00 KiB) but got 12224 bytes (11.94 KiB)}}
// expected-note @+1 {{the peak is at instruction 0 of 'f': activation 7.81 KiB, parameter 3.91 KiB, workspace 128 B}}
module attributes {model.batch = 4 : i64, model.recipe = {memory.budget = "1KiB", mesh.shard = 2 : i64}} {
  spmd.unit @root []
  spmd.unit @b0 []
  spmd.unit @b1 []
  spmd.unit @b2 []
  spmd.unit @b3 []
  plan.stream @compute on <device> {workspace = 128 : i64}
  plan.buffer @w : tensor<1000xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 4000 : i64}
  plan.buffer @a : tensor<2000xf32> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 8000 : i64, entry = "f", begin = 0 : i64, end = 1 : i64}
  plan.entry @f {
    plan.section "main" repeat 1 {
      plan.fill <@a : 4xf32> with 0.0 on @compute {phase = #plan.phase<forward>}
    }
  }
}

// -----

// Within the budget, to the byte.
module attributes {model.recipe = {memory.budget = 16 : i64}} {
  plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 16 : i64, entry = "f", begin = 0 : i64, end = 1 : i64}
  plan.entry @f {
    plan.section "main" repeat 1 {
      plan.fill <@a : 4xf32> with 0.0 {phase = #plan.phase<forward>}
    }
  }
}

// -----

// expected-error @+1 {{has no lifespan before placement}}
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.fill <@a : 4xf32> with 0.0 {phase = #plan.phase<forward>}
  }
}

// -----

// Optimizer states in host memory.
// expected-error @+2 {{over the memory budget of one rank, expected at most 16 bytes but got 256 bytes}}
// expected-note @+1 {{the peak is at instruction 0 of '': optimizer 32 B}}
module attributes {model.recipe = {memory.budget = 16 : i64, memory.offload = ["parameters"]}} {
  plan.buffer @a : tensor<8xf32> {space = #plan.space<device>, buffer_class = #plan.class<optimizer>, bytes = 32 : i64}
  plan.entry @f {
    plan.section "main" repeat 1 {
      plan.fill <@a : 4xf32> with 0.0 {phase = #plan.phase<forward>}
    }
  }
}

// -----

// A budget that is not a number of bytes.
// expected-error @+1 {{model.recipe: value of 'memory.budget', expected "none" or a number of bytes (as 1048576 or "24MiB") but got "plenty"}}
module attributes {model.recipe = {memory.budget = "plenty"}} {
}
