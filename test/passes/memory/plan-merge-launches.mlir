// RUN: sluice-opt %s -plan-merge-launches | FileCheck %s
// RUN: sluice-opt %s -plan-merge-launches -plan-merge-launches | FileCheck %s

// Casts of persistent buffers, and rotations in place, are merged.
plan.buffer @v : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 16 : i64}
plan.buffer @w : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 16 : i64}
plan.buffer @a : tensor<4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 8 : i64, entry = "main"}
plan.buffer @b : tensor<4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 8 : i64, entry = "main"}
plan.buffer @c : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "main"}
plan.buffer @q : tensor<1x2x1x4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "main"}
plan.buffer @k : tensor<1x2x1x4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "main"}
plan.entry @main {
  plan.section "main" repeat 2 {
    // CHECK: plan.launch "cast" ins [#plan.view<@v : 4xf32>, #plan.view<@w : 4xf32>] outs [#plan.view<@a : 4xbf16>, #plan.view<@b : 4xbf16>] {} {flops = 8 : i64, input_values = array<i64: 1, 2>, output_values = array<i64: 3, 0>, phase = #plan.phase<forward>, traffic = 48 : i64}
    plan.launch "cast" ins [#plan.view<@v : 4xf32>] outs [#plan.view<@a : 4xbf16>] {} {phase = #plan.phase<forward>, input_values = array<i64: 1>, output_values = array<i64: 3>, flops = 4 : i64, traffic = 24 : i64}
    plan.launch "cast" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@b : 4xbf16>] {} {phase = #plan.phase<forward>, input_values = array<i64: 2>, flops = 4 : i64, traffic = 24 : i64}
    // Of a unit; to another type; of the result of the previous one; after another instruction.
    // CHECK-NEXT: plan.launch "cast" {{.*}} outs [#plan.view<@b : 4xbf16>] {{.*}}unit = "h"
    plan.launch "cast" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@b : 4xbf16>] {} {phase = #plan.phase<forward>, unit = "h"}
    // CHECK-NEXT: plan.launch "cast" ins [#plan.view<@v : 4xf32>] outs [#plan.view<@c : 4xf32>]
    plan.launch "cast" ins [#plan.view<@v : 4xf32>] outs [#plan.view<@c : 4xf32>] {} {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.launch "cast" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@v : 4xf32>]
    plan.launch "cast" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@v : 4xf32>] {} {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.launch "relu"
    plan.launch "relu" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@c : 4xf32>] {} {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.launch "cast" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@v : 4xf32>]
    plan.launch "cast" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@v : 4xf32>] {} {phase = #plan.phase<forward>}
    // The input may be dead after the launch.
    // CHECK-NEXT: plan.launch "cast" ins [#plan.view<@c : 4xf32>] outs [#plan.view<@a : 4xbf16>]
    plan.launch "cast" ins [#plan.view<@c : 4xf32>] outs [#plan.view<@a : 4xbf16>] {} {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.launch "cast" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@b : 4xbf16>]
    plan.launch "cast" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@b : 4xbf16>] {} {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.launch "rope" ins [#plan.view<@q : 1x2x1x4xbf16>, #plan.view<@k : 1x2x1x4xbf16>] outs [#plan.view<@q : 1x2x1x4xbf16>, #plan.view<@k : 1x2x1x4xbf16>] {theta = 1.000000e+04 : f64} {{{.*}}may_alias = array<i64: 0, 0, 1, 1>
    plan.launch "rope" ins [#plan.view<@q : 1x2x1x4xbf16>] outs [#plan.view<@q : 1x2x1x4xbf16>] {theta = 1.0e4 : f64} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    plan.launch "rope" ins [#plan.view<@k : 1x2x1x4xbf16>] outs [#plan.view<@k : 1x2x1x4xbf16>] {theta = 1.0e4 : f64} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    // CHECK-NEXT: plan.launch "rope" {{.*}}theta = 2.000000e+04
    plan.launch "rope" ins [#plan.view<@q : 1x2x1x4xbf16>] outs [#plan.view<@q : 1x2x1x4xbf16>] {theta = 2.0e4 : f64} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    // CHECK-NEXT: plan.launch "rope"
    plan.launch "rope" ins [#plan.view<@k : 1x2x1x4xbf16>] outs [#plan.view<@k : 1x2x1x4xbf16>] {theta = 2.0e4 : f64} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>, when = #plan.when<last>}
  }
}
