// RUN: sluice-opt %s -plan-reuse-in-place | FileCheck %s
// RUN: sluice-opt %s -plan-reuse-in-place -plan-reuse-in-place | FileCheck %s

// @b takes @a's memory, and @c with it. @d may not take @c's: it is read after. @e may not take @w's: it persists. @f may
// not take @d's: another operand is a window of it. @h may not take @g's: that is carried over repetitions. @j takes @i's: the
// windows are the same, with padded rows. @l may not take @k's: the distance of its rows differs. @dx takes @dy's: of the two launches
// each repetition has one. @dz may not take @dx's: the last repetition has neither of the two launches.

// CHECK: plan.buffer @a
// CHECK-SAME: buffer_class = #plan.class<activation>
// CHECK-NOT: plan.buffer @b
// CHECK-NOT: plan.buffer @c
// CHECK: plan.buffer @d
// CHECK: plan.buffer @e
// CHECK: plan.buffer @f
// CHECK: plan.buffer @g
// CHECK: plan.buffer @h
// CHECK: plan.buffer @i
// CHECK-NOT: plan.buffer @j
// CHECK: plan.buffer @k
// CHECK: plan.buffer @l
// CHECK: plan.buffer @dy
// CHECK-NOT: plan.buffer @dx
// CHECK: plan.buffer @dz
plan.buffer @w : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 16 : i64}
plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "main"}
plan.buffer @b : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "main"}
plan.buffer @c : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 16 : i64, entry = "main"}
plan.buffer @d : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "main"}
plan.buffer @e : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "main"}
plan.buffer @f : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "main"}
plan.buffer @g : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "main", carried}
plan.buffer @h : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "main"}
plan.buffer @i : tensor<2x4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "main"}
plan.buffer @j : tensor<2x4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "main"}
plan.buffer @k : tensor<2x4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "main"}
plan.buffer @l : tensor<2x4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "main"}
plan.buffer @sum : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 8 : i64, entry = "main", carried}
plan.buffer @dy : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "main"}
plan.buffer @dx : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "main"}
plan.buffer @dz : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "main"}
plan.entry @main {
  plan.section "main" repeat 3 {
    // CHECK: plan.launch "exp" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@a : 4xf32>]
    plan.launch "exp" ins [#plan.view<@w : 4xf32>] outs [#plan.view<@a : 4xf32>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    // CHECK-NEXT: plan.launch "relu" ins [#plan.view<@a : 4xf32>] outs [#plan.view<@a : 4xf32>]
    plan.launch "relu" ins [#plan.view<@a : 4xf32>] outs [#plan.view<@b : 4xf32>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    // CHECK-NEXT: plan.launch "add" ins [#plan.view<@w : 4xf32>, #plan.view<@a : 4xf32>] outs [#plan.view<@a : 4xf32>]
    plan.launch "add" ins [#plan.view<@w : 4xf32>, #plan.view<@b : 4xf32>] outs [#plan.view<@c : 4xf32>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0, 1, 0>}
    // CHECK-NEXT: plan.launch "exp" ins [#plan.view<@a : 4xf32>] outs [#plan.view<@d : 4xf32>]
    plan.launch "exp" ins [#plan.view<@c : 4xf32>] outs [#plan.view<@d : 4xf32>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    plan.launch "add" ins [#plan.view<@w : 4xf32>, #plan.view<@c : 4xf32>] outs [#plan.view<@e : 4xf32>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    // CHECK: plan.launch "add" ins [#plan.view<@d : 4xf32>, #plan.view<@d : 4xf32 strides [0]>] outs [#plan.view<@f : 4xf32>]
    plan.launch "add" ins [#plan.view<@d : 4xf32>, #plan.view<@d : 4xf32 strides [0]>] outs [#plan.view<@f : 4xf32>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    plan.launch "accumulate" ins [#plan.view<@f : 4xf32>] outs [#plan.view<@g : 4xf32>] {first = 0} {phase = #plan.phase<forward>}
    // CHECK: plan.launch "exp" ins [#plan.view<@g : 4xf32>] outs [#plan.view<@h : 4xf32>]
    plan.launch "exp" ins [#plan.view<@g : 4xf32>] outs [#plan.view<@h : 4xf32>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    plan.fill <@i : 2x3xf32 strides [4, 1]> with 1.0 {phase = #plan.phase<forward>}
    // CHECK: plan.launch "exp" ins [#plan.view<@i : 2x3xf32 strides [4, 1]>] outs [#plan.view<@i : 2x3xf32 strides [4, 1]>]
    plan.launch "exp" ins [#plan.view<@i : 2x3xf32 strides [4, 1]>] outs [#plan.view<@j : 2x3xf32 strides [4, 1]>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    // CHECK-NEXT: plan.launch "exp" ins [#plan.view<@i : 2x3xf32 strides [4, 1]>] outs [#plan.view<@k : 2x3xf32 strides [5, 1]>]
    plan.launch "exp" ins [#plan.view<@j : 2x3xf32 strides [4, 1]>] outs [#plan.view<@k : 2x3xf32 strides [5, 1]>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    // CHECK-NEXT: plan.launch "exp" ins [#plan.view<@k : 2x3xf32 strides [5, 1]>] outs [#plan.view<@l : 2x3xf32 strides [4, 1]>]
    plan.launch "exp" ins [#plan.view<@k : 2x3xf32 strides [5, 1]>] outs [#plan.view<@l : 2x3xf32 strides [4, 1]>] {} {phase = #plan.phase<forward>, may_alias = array<i64: 0, 0>}
    plan.fill <@dy : 3x2xf32> with 1.0 {phase = #plan.phase<backward>}
    // CHECK: plan.launch "rms_norm_grad" ins [#plan.view<@dy : 3x2xf32>, {{.*}} outs [#plan.view<@dy : 3x2xf32>
    // CHECK-NEXT: plan.launch "rms_norm_grad" ins [#plan.view<@dy : 3x2xf32>, {{.*}} outs [#plan.view<@dy : 3x2xf32>
    plan.launch "rms_norm_grad" ins [#plan.view<@dy : 3x2xf32>, #plan.view<@w : 3x2xf32 strides [0, 1]>, #plan.view<@w : 2xf32>, #plan.view<@w : 3xf32>] outs [#plan.view<@dx : 3x2xf32>, #plan.view<@sum : 2xf32>] {} {phase = #plan.phase<backward>, may_alias = array<i64: 0, 0>, when = #plan.when<first>}
    plan.launch "rms_norm_grad" ins [#plan.view<@dy : 3x2xf32>, #plan.view<@w : 3x2xf32 strides [0, 1]>, #plan.view<@w : 2xf32>, #plan.view<@w : 3xf32>, #plan.view<@sum : 2xf32>] outs [#plan.view<@dx : 3x2xf32>, #plan.view<@sum : 2xf32>] {dweight_sum = 1 : i64} {phase = #plan.phase<backward>, may_alias = array<i64: 0, 0>, when = #plan.when<not_first>}
    // CHECK-NEXT: plan.launch "rms_norm_grad" ins [#plan.view<@dy : 3x2xf32>, {{.*}} outs [#plan.view<@dz : 3x2xf32>
    plan.launch "rms_norm_grad" ins [#plan.view<@dx : 3x2xf32>, #plan.view<@w : 3x2xf32 strides [0, 1]>, #plan.view<@w : 2xf32>, #plan.view<@w : 3xf32>] outs [#plan.view<@dz : 3x2xf32>, #plan.view<@sum : 2xf32>] {} {phase = #plan.phase<backward>, may_alias = array<i64: 0, 0>, when = #plan.when<first>}
    plan.launch "rms_norm_grad" ins [#plan.view<@dx : 3x2xf32>, #plan.view<@w : 3x2xf32 strides [0, 1]>, #plan.view<@w : 2xf32>, #plan.view<@w : 3xf32>, #plan.view<@sum : 2xf32>] outs [#plan.view<@dz : 3x2xf32>, #plan.view<@sum : 2xf32>] {dweight_sum = 1 : i64} {phase = #plan.phase<backward>, may_alias = array<i64: 0, 0>, when = #plan.when<[1]>}
  }
}
