// RUN: sluice-opt %s -plan-assign-streams="target.device=cuda collective.max_ctas=16" | FileCheck %s --check-prefixes CHECK,CTAS
// RUN: sluice-opt %s -plan-assign-streams="target.device=cuda collective.max_ctas=16 collective.copy_engines=true" | FileCheck %s --check-prefixes CHECK,ENGINES
// RUN: sluice-opt %s -plan-assign-streams="target.device=cuda" | FileCheck %s --check-prefix NONE
// RUN: sluice-opt %s -plan-assign-streams="collective.max_ctas=16" | FileCheck %s --check-prefix NONE

// Tests that matrix products between the start of a collective and its await leave SMs to it, and that others, and other
// kernels, do not. Copy engines gather without SMs, and do not reduce.

// NONE-NOT: sm_margin
plan.stream @gather on <device>
plan.stream @reduce on <device>
plan.buffer @w : tensor<64x64xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 16384 : i64}
plan.buffer @g : tensor<128x64xf32> {space = #plan.space<device>, buffer_class = #plan.class<gathered>, bytes = 32768 : i64, entry = "f"}
plan.buffer @y : tensor<64x64xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16384 : i64, entry = "f"}
plan.buffer @z : tensor<64x64xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16384 : i64, entry = "f"}
// CHECK: plan.entry @f
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@w : 64x64xf32>] to [#plan.view<@g : 128x64xf32>] on @gather {phase = #plan.phase<forward>, token = 1 : i64}
    // CTAS: plan.launch "matmul"
    // CTAS-SAME: sm_margin = 16 : i64
    // ENGINES: plan.launch "matmul"
    // ENGINES-NOT: sm_margin
    plan.launch "matmul" ins [#plan.view<@w : 64x64xf32>, #plan.view<@w : 64x64xf32>] outs [#plan.view<@y : 64x64xf32>] {} {phase = #plan.phase<forward>}
    // CHECK: plan.launch "relu"
    // CHECK-NOT: sm_margin
    plan.launch "relu" ins [#plan.view<@y : 64x64xf32>] outs [#plan.view<@z : 64x64xf32>] {} {phase = #plan.phase<forward>}
    // CHECK: plan.await 1
    plan.await 1 {phase = #plan.phase<forward>}
    // CHECK: plan.launch "matmul"
    // CHECK-NOT: sm_margin
    plan.launch "matmul" ins [#plan.view<@w : 64x64xf32>, #plan.view<@g : 64x64xf32>] outs [#plan.view<@y : 64x64xf32>] {} {phase = #plan.phase<forward>}
    // CHECK: plan.collective <all_reduce>
    plan.collective <all_reduce> <sum> over ["shard"] from [#plan.view<@y : 64x64xf32>] to [#plan.view<@y : 64x64xf32>] on @reduce {phase = #plan.phase<forward>, token = 2 : i64}
    // CHECK: plan.launch "matmul"
    // CHECK-SAME: sm_margin = 16 : i64
    plan.launch "matmul" ins [#plan.view<@w : 64x64xf32>, #plan.view<@g : 64x64xf32>] outs [#plan.view<@z : 64x64xf32>] {} {phase = #plan.phase<forward>}
    plan.await 2 {phase = #plan.phase<forward>}
  }
}
