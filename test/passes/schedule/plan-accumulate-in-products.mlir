// RUN: sluice-opt %s -plan-accumulate-in-products | FileCheck %s
// RUN: sluice-opt %s -plan-accumulate-in-products -plan-accumulate-in-products | FileCheck %s

// Products whose only use is an accumulation are computed into the sum. @q stays: it is read a second time. @r stays: its
// sum has another element type. @s stays: relu has no residual.

// CHECK-NOT: plan.buffer @p
// CHECK: plan.buffer @q
// CHECK: plan.buffer @r
// CHECK: plan.buffer @s
plan.buffer @m : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 24 : i64, entry = "h"}
plan.buffer @p : tensor<2x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "h"}
plan.buffer @q : tensor<2x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "h"}
plan.buffer @r : tensor<2x2xbf16> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 8 : i64, entry = "h"}
plan.buffer @s : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 24 : i64, entry = "h"}
plan.buffer @sum : tensor<4x2x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 64 : i64, entry = "h", carried}
plan.buffer @rows : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 24 : i64, entry = "h", carried}
plan.entry @h {
  plan.section "main" repeat 3 {
    // CHECK: plan.launch "matmul" ins [#plan.view<@m : 3x2xf32>, #plan.view<@m : 3x2xf32>] outs [#plan.view<@sum : 2x2xf32>] {residual = 0 : i64, transpose_a = 1 : i64} {flops = 24 : i64, {{.*}}, when = #plan.when<first>}
    // CHECK-NEXT: plan.launch "matmul" ins [#plan.view<@m : 3x2xf32>, #plan.view<@m : 3x2xf32>, #plan.view<@sum : 2x2xf32>] outs [#plan.view<@sum : 2x2xf32>] {residual = 1 : i64, transpose_a = 1 : i64} {flops = 28 : i64, input_values = array<i64: 1, 1, 0>, may_alias = array<i64: 2, 0>, output_values = array<i64: 2>, {{.*}}, traffic = 80 : i64, when = #plan.when<not_first>}
    plan.launch "matmul" ins [#plan.view<@m : 3x2xf32>, #plan.view<@m : 3x2xf32>] outs [#plan.view<@p : 2x2xf32>] {residual = 0 : i64, transpose_a = 1 : i64} {phase = #plan.phase<backward>, flops = 24 : i64, traffic = 64 : i64, input_values = array<i64: 1, 1>, output_values = array<i64: 2>}
    plan.launch "accumulate" ins [#plan.view<@p : 2x2xf32>] outs [#plan.view<@sum : 2x2xf32>] {first = 1 : i64} {phase = #plan.phase<backward>, when = #plan.when<first>}
    plan.launch "accumulate" ins [#plan.view<@p : 2x2xf32>] outs [#plan.view<@sum : 2x2xf32>] {first = 0 : i64} {phase = #plan.phase<backward>, when = #plan.when<not_first>}
    // CHECK-NEXT: plan.launch "matmul" {{.*}} outs [#plan.view<@q : 2x2xf32>]
    plan.launch "matmul" ins [#plan.view<@m : 3x2xf32>, #plan.view<@m : 3x2xf32>] outs [#plan.view<@q : 2x2xf32>] {residual = 0 : i64, transpose_a = 1 : i64} {phase = #plan.phase<backward>}
    // CHECK-NEXT: plan.launch "accumulate"
    plan.launch "accumulate" ins [#plan.view<@q : 2x2xf32>] outs [#plan.view<@sum : 2x2xf32 offset 16>] {first = 1 : i64} {phase = #plan.phase<backward>, when = #plan.when<first>}
    plan.launch "accumulate" ins [#plan.view<@q : 2x2xf32>] outs [#plan.view<@sum : 2x2xf32 offset 16>] {first = 0 : i64} {phase = #plan.phase<backward>, when = #plan.when<not_first>}
    plan.launch "exp" ins [#plan.view<@q : 2x2xf32>] outs [#plan.view<@sum : 2x2xf32 offset 48>] {} {phase = #plan.phase<backward>}
    // CHECK: plan.launch "matmul" {{.*}} outs [#plan.view<@r : 2x2xbf16>]
    plan.launch "matmul" ins [#plan.view<@m : 3x2xf32>, #plan.view<@m : 3x2xf32>] outs [#plan.view<@r : 2x2xbf16>] {residual = 0 : i64, transpose_a = 1 : i64} {phase = #plan.phase<backward>}
    plan.launch "accumulate" ins [#plan.view<@r : 2x2xbf16>] outs [#plan.view<@sum : 2x2xf32 offset 32>] {first = 1 : i64} {phase = #plan.phase<backward>, when = #plan.when<first>}
    plan.launch "accumulate" ins [#plan.view<@r : 2x2xbf16>] outs [#plan.view<@sum : 2x2xf32 offset 32>] {first = 0 : i64} {phase = #plan.phase<backward>, when = #plan.when<not_first>}
    // CHECK: plan.launch "relu" {{.*}} outs [#plan.view<@s : 3x2xf32>]
    plan.launch "relu" ins [#plan.view<@m : 3x2xf32>] outs [#plan.view<@s : 3x2xf32>] {} {phase = #plan.phase<backward>}
    plan.launch "accumulate" ins [#plan.view<@s : 3x2xf32>] outs [#plan.view<@rows : 3x2xf32>] {first = 1 : i64} {phase = #plan.phase<backward>, when = #plan.when<first>}
    plan.launch "accumulate" ins [#plan.view<@s : 3x2xf32>] outs [#plan.view<@rows : 3x2xf32>] {first = 0 : i64} {phase = #plan.phase<backward>, when = #plan.when<not_first>}
  }
}
