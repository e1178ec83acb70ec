// RUN: sluice-opt %s -split-input-file -verify-diagnostics

// buffer_c2
// expected-error @+1 {{bytes, expected 64 for 'tensor<4x4xf32>' but got 60}}
plan.buffer @a : tensor<4x4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 60 : i64}

// -----

// buffer_c3
// expected-error @+2 {{expected one of [device, host] for a memory space, got: disk}}
// expected-error @+1 {{failed to parse Plan_MemorySpaceAttr parameter 'value' which is to be a `::sluice::MemorySpace`}}
plan.buffer @a : tensor<4xf32> {space = #plan.space<disk>, buffer_class = #plan.class<temporary>, bytes = 16 : i64}

// -----

// buffer_c4
// expected-error @+2 {{for a buffer class, got: scratch}}
// expected-error @+1 {{failed to parse Plan_BufferClassAttr parameter 'value' which is to be a `::sluice::BufferClass`}}
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<scratch>, bytes = 16 : i64}

// -----

// buffer_c5
// expected-error @+1 {{lifespan requires both 'begin' and 'end'}}
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, begin = 1 : i64}

// -----

// buffer_c1
// expected-error @+1 {{attribute 'type' failed to satisfy constraint: type attribute of statically shaped tensor of integer or floating-point values}}
plan.buffer @a : tensor<?xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64}

// -----

// view_c1
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{unknown buffer 'b' of a view}}
    plan.fill <@b : 4xf32> with 0.0 {phase = #plan.phase<forward>}
  }
}

// -----

// view_c2
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 3 {
    // expected-error @+1 {{end of a view of 'a', expected at most 16 but got 20}}
    plan.fill <@a : 2xf32 offset 4 step 4> with 0.0 {phase = #plan.phase<forward>}
  }
}

// -----

// view_c2
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{end of a view of 'a', expected at most 16 but got 20}}
    plan.fill <@a : 2x3xf32 strides [2, 1]> with 0.0 {phase = #plan.phase<forward>}
  }
}

// -----

// instruction_c1
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{unknown stream 'nowhere'}}
    plan.fill <@a : 4xf32> with 0.0 on @nowhere {phase = #plan.phase<forward>}
  }
}

// -----

// instruction_c2
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+2 {{expected all, first, not_first, last, not_last or repetitions such as [0, 2] but got 'sometimes'}}
    // expected-error @+1 {{failed to parse Plan_WhenAttr parameter 'value' which is to be a `::sluice::When`}}
    plan.fill <@a : 4xf32> with 0.0 {phase = #plan.phase<forward>, when = #plan.when<sometimes>}
  }
}

// -----

// instruction_c2
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+2 {{expected one of [forward, loss, backward, update, init] for a phase, got: sideways}}
    // expected-error @+1 {{failed to parse Plan_PhaseAttr parameter 'value' which is to be a `::sluice::Phase`}}
    plan.fill <@a : 4xf32> with 0.0 {phase = #plan.phase<sideways>}
  }
}

// -----

// launch_c1
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{kernel 'frobnicate' is not in the catalogue}}
    plan.launch "frobnicate" ins [] outs [#plan.view<@a : 4xf32>] {} {phase = #plan.phase<forward>}
  }
}

// -----

// launch_c2
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{inputs, expected 2 but got 1}}
    plan.launch "add" ins [#plan.view<@a : 4xf32>] outs [#plan.view<@a : 4xf32>] {} {phase = #plan.phase<forward>}
  }
}

// -----

// launch_c3
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{kernel 'compare' is missing attribute 'predicate'}}
    plan.launch "compare" ins [#plan.view<@a : 4xf32>, #plan.view<@a : 4xf32>] outs [#plan.view<@a : 4xf32>] {} {phase = #plan.phase<forward>}
  }
}

// -----

// launch_c3
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{kernel 'compare' predicate, expected 0 to 5 but got 6}}
    plan.launch "compare" ins [#plan.view<@a : 4xf32>, #plan.view<@a : 4xf32>] outs [#plan.view<@a : 4xf32>] {predicate = 6} {phase = #plan.phase<forward>}
  }
}

// -----

// launch_c3
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{kernel 'relu' has no attribute 'slope'}}
    plan.launch "relu" ins [#plan.view<@a : 4xf32>] outs [#plan.view<@a : 4xf32>] {slope = 1.0} {phase = #plan.phase<forward>}
  }
}

// -----

// launch_c3
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{kernel 'scale' attribute "factor", expected a number but got array<i64: 1>}}
    plan.launch "scale" ins [#plan.view<@a : 4xf32>] outs [#plan.view<@a : 4xf32>] {factor = array<i64: 1>} {phase = #plan.phase<forward>}
  }
}

// -----

// launch_c2
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{inputs, expected 3 but got 2}}
    plan.launch "matmul" ins [#plan.view<@a : 2x2xf32>, #plan.view<@a : 2x2xf32>] outs [#plan.view<@a : 2x2xf32>] {bias = 1} {phase = #plan.phase<forward>}
  }
}

// -----

// launch_c4
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{may_alias, expected pairs of an input and an output but got [0, 1]}}
    plan.launch "relu" ins [#plan.view<@a : 4xf32>] outs [#plan.view<@a : 4xf32>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 1>}
  }
}

// -----

// collective_c1
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+2 {{expected one of [all_gather, reduce_scatter, all_reduce, broadcast, all_to_all] for a collective, got: scatter}}
    // expected-error @+1 {{failed to parse Plan_CollectiveKindAttr parameter 'value' which is to be a `::sluice::CollectiveKind`}}
    plan.collective <scatter> <none> over ["shard"] from [#plan.view<@a : 4xf32>] to [#plan.view<@a : 4xf32>] {phase = #plan.phase<forward>}
  }
}

// -----

// collective_c1
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+2 {{expected one of [none, sum, mean, premul_sum, max] for a reduction, got: median}}
    // expected-error @+1 {{failed to parse Plan_ReductionKindAttr parameter 'value' which is to be a `::sluice::ReductionKind`}}
    plan.collective <all_reduce> <median> over ["shard"] from [#plan.view<@a : 4xf32>] to [#plan.view<@a : 4xf32>] {phase = #plan.phase<forward>}
  }
}

// -----

// collective_c2
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{destinations, expected 1 but got 0}}
    plan.collective <all_reduce> <sum> over ["shard"] from [#plan.view<@a : 4xf32>] to [] {phase = #plan.phase<forward>}
  }
}

// -----

// collective_c3
plan.buffer @a : tensor<4x4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 64 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{segments, expected dense views but got #plan.view<@a : 4x2xf32 strides [4, 1]>}}
    plan.collective <all_reduce> <sum> over ["shard"] from [#plan.view<@a : 4x2xf32 strides [4, 1]>] to [#plan.view<@a : 4x2xf32 strides [4, 1]>] {phase = #plan.phase<forward>}
  }
}

// -----

// view_c3
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{strides of a view, expected 2 but got 1}}
    plan.fill <@a : 4x2xf32 strides [4]> with 0.0 {phase = #plan.phase<forward>}
  }
}

// -----

// view_c4
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{element type of a view, expected an integer or float but got 'index'}}
    plan.fill <@a : 4xindex> with 0.0 {phase = #plan.phase<forward>}
  }
}

// -----

// launch_c5
plan.entry @f {
  plan.section "main" repeat 1 {
    // expected-error @+1 {{attribute 'inputs' failed to satisfy constraint: list of views}}
    "plan.launch"() <{kernel = "copy", inputs = [3], outputs = [3], settings = {}, phase = #plan.phase<forward>}> : () -> ()
  }
}

// -----

// stream_c1
// A stream may have the name of an entry point, and not of another stream.
plan.stream @f(fetch) on <device> {}
plan.entry @f {
}
// expected-error @+1 {{has the name of another stream: 'f'}}
plan.stream @f(fetch) on <device> {}

// -----

// stream_c2
// expected-error @+1 {{the name 'side' implies no role; write it in parentheses after the name}}
plan.stream @side on <device>
