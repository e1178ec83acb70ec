// RUN: sluice-opt %s -plan-place-destinations | FileCheck %s
// RUN: sluice-opt %s -plan-place-destinations -plan-place-destinations | FileCheck %s

// @a is computed in its window. @b stays: it is read a second time. @c stays: the window is read between.

// CHECK-NOT: plan.buffer @a
// CHECK: plan.buffer @b
// CHECK: plan.buffer @c
plan.buffer @x : tensor<2x3xf32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 24 : i64, entry = "f"}
plan.buffer @a : tensor<2x3xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "f"}
plan.buffer @b : tensor<2x3xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "f"}
plan.buffer @c : tensor<2x3xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "f"}
plan.buffer @j : tensor<2x6xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 48 : i64, entry = "f"}
plan.buffer @k : tensor<2x3xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // CHECK: plan.launch "relu" ins [#plan.view<@x : 2x3xf32>] outs [#plan.view<@j : 2x3xf32 strides [6, 1]>]
    plan.launch "relu" ins [#plan.view<@x : 2x3xf32>] outs [#plan.view<@a : 2x3xf32>] {} {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.launch "negate" {{.*}} outs [#plan.view<@b : 2x3xf32>]
    plan.launch "negate" ins [#plan.view<@x : 2x3xf32>] outs [#plan.view<@b : 2x3xf32>] {} {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.launch "copy" ins [#plan.view<@b : 2x3xf32>]
    plan.launch "copy" ins [#plan.view<@a : 2x3xf32>] outs [#plan.view<@j : 2x3xf32 strides [6, 1]>] {} {phase = #plan.phase<forward>}
    plan.launch "copy" ins [#plan.view<@b : 2x3xf32>] outs [#plan.view<@j : 2x3xf32 offset 12 strides [6, 1]>] {} {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.launch "exp" {{.*}} outs [#plan.view<@c : 2x3xf32>]
    plan.launch "exp" ins [#plan.view<@b : 2x3xf32>] outs [#plan.view<@c : 2x3xf32>] {} {phase = #plan.phase<forward>}
    plan.launch "tanh" ins [#plan.view<@j : 2x3xf32 offset 12 strides [6, 1]>] outs [#plan.view<@k : 2x3xf32>] {} {phase = #plan.phase<forward>}
    // CHECK: plan.launch "copy" ins [#plan.view<@c : 2x3xf32>]
    plan.launch "copy" ins [#plan.view<@c : 2x3xf32>] outs [#plan.view<@j : 2x3xf32 offset 12 strides [6, 1]>] {} {phase = #plan.phase<forward>}
  }
}

// @d is written in other dims than those that are copied: the window has the dims of the launch. @e stays: no strides
// make rows with a gap between them one dim.

// CHECK-NOT: plan.buffer @d
// CHECK: plan.buffer @e
plan.buffer @y : tensor<8xf32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 32 : i64, entry = "g"}
plan.buffer @d : tensor<2x2x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "g"}
plan.buffer @e : tensor<8xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "g"}
plan.buffer @n : tensor<2x8xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 64 : i64, entry = "g"}
plan.entry @g {
  plan.section "main" repeat 1 {
    // CHECK: plan.launch "relu" {{.*}} outs [#plan.view<@n : 2x2x2xf32 strides [8, 2, 1]>]
    plan.launch "relu" ins [#plan.view<@y : 2x2x2xf32>] outs [#plan.view<@d : 2x2x2xf32>] {} {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.launch "negate" {{.*}} outs [#plan.view<@e : 8xf32>]
    plan.launch "negate" ins [#plan.view<@y : 8xf32>] outs [#plan.view<@e : 8xf32>] {} {phase = #plan.phase<forward>}
    // CHECK-NEXT: plan.launch "copy" ins [#plan.view<@e : 2x4xf32>]
    plan.launch "copy" ins [#plan.view<@d : 2x4xf32>] outs [#plan.view<@n : 2x4xf32 strides [8, 1]>] {} {phase = #plan.phase<forward>}
    plan.launch "copy" ins [#plan.view<@e : 2x4xf32>] outs [#plan.view<@n : 2x4xf32 offset 16 strides [8, 1]>] {} {phase = #plan.phase<forward>}
  }
}

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
