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
