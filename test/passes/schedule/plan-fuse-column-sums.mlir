// RUN: sluice-opt %s -plan-fuse-column-sums="target.device=cuda" | FileCheck %s
// RUN: sluice-opt %s -plan-fuse-column-sums="target.device=cuda" -plan-fuse-column-sums="target.device=cuda" | FileCheck %s
// RUN: sluice-opt %s -plan-fuse-column-sums | FileCheck %s --check-prefix=CPU

// Tests that the sum of dx over rows becomes a result of the launch that computes dx.

// CPU-NOT: layer_norm_grad_and_sum
plan.stream @other(reduce) on <device>
plan.buffer @g : tensor<2x3x4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 48 : i64, entry = "f"}
plan.buffer @x : tensor<2x3x4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 48 : i64, entry = "f"}
plan.buffer @d : tensor<2x3x4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 48 : i64, entry = "f"}
plan.buffer @w : tensor<4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 8 : i64, entry = "f"}
plan.buffer @s : tensor<2x3xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "f"}
plan.buffer @dw : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.buffer @db : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.buffer @c : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.buffer @rows : tensor<6xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "f"}
plan.buffer @h : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.buffer @e : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "f"}
plan.entry @f {
  // Another launch may read dx between them; of two sums the first one is fused.
  // CHECK-LABEL: plan.section "fused"
  // CHECK-NEXT: plan.launch "layer_norm_grad_and_sum" ins [#plan.view<@g : 2x3x4xbf16>, #plan.view<@x : 2x3x4xbf16>, #plan.view<@w : 4xbf16>, #plan.view<@s : 2x3xf32>, #plan.view<@s : 2x3xf32>] outs [#plan.view<@d : 2x3x4xbf16>, #plan.view<@dw : 4xf32>, #plan.view<@db : 4xf32>, #plan.view<@c : 4xf32>] {} {flops = 30 : i64, may_alias = array<i64: 0, 0>, output_values = array<i64: 1, 2, 3, 4>, phase = #plan.phase<backward>, traffic = 116 : i64}
  // CHECK-NEXT: plan.launch "exp"
  // CHECK-NEXT: plan.launch "reduce_sum" {{.*}} outs [#plan.view<@e : 4xf32>]
  plan.section "fused" repeat 1 {
    plan.launch "layer_norm_grad" ins [#plan.view<@g : 2x3x4xbf16>, #plan.view<@x : 2x3x4xbf16>, #plan.view<@w : 4xbf16>, #plan.view<@s : 2x3xf32>, #plan.view<@s : 2x3xf32>] outs [#plan.view<@d : 2x3x4xbf16>, #plan.view<@dw : 4xf32>, #plan.view<@db : 4xf32>] {} {phase = #plan.phase<backward>, flops = 20 : i64, traffic = 100 : i64, may_alias = array<i64: 0, 0>, output_values = array<i64: 1, 2, 3>}
    plan.launch "exp" ins [#plan.view<@d : 2x3x4xbf16>] outs [#plan.view<@g : 2x3x4xbf16>] {} {phase = #plan.phase<backward>}
    plan.launch "reduce_sum" ins [#plan.view<@d : 2x3x4xbf16>] outs [#plan.view<@c : 4xf32>] {dims = array<i64: 0, 1>} {phase = #plan.phase<backward>, flops = 10 : i64, traffic = 64 : i64, output_values = array<i64: 4>}
    plan.launch "reduce_sum" ins [#plan.view<@d : 2x3x4xbf16>] outs [#plan.view<@e : 4xf32>] {dims = array<i64: 0, 1>} {phase = #plan.phase<backward>}
  }

  // A mean, a sum over one dim, over the rows of a part of dx, of dx that another launch has changed, a result whose
  // memory is used between the launches, other repetitions, another stream.
  // CHECK-LABEL: plan.section "separate"
  // CHECK-NOT: layer_norm_grad_and_sum
  plan.section "separate" repeat 2 {
    plan.launch "layer_norm_grad" ins [#plan.view<@g : 2x3x4xbf16>, #plan.view<@x : 2x3x4xbf16>, #plan.view<@w : 4xbf16>, #plan.view<@s : 2x3xf32>, #plan.view<@s : 2x3xf32>] outs [#plan.view<@d : 2x3x4xbf16>, #plan.view<@dw : 4xf32>, #plan.view<@db : 4xf32>] {} {phase = #plan.phase<backward>}
    plan.launch "reduce_sum" ins [#plan.view<@d : 2x3x4xbf16>] outs [#plan.view<@c : 4xf32>] {dims = array<i64: 0, 1>, mean = 1 : i64} {phase = #plan.phase<backward>}
    plan.launch "reduce_sum" ins [#plan.view<@d : 2x3x4xbf16>] outs [#plan.view<@rows : 6xf32>] {dims = array<i64: 2>} {phase = #plan.phase<backward>}
    plan.launch "reduce_sum" ins [#plan.view<@d : 1x3x4xbf16>] outs [#plan.view<@e : 4xf32>] {dims = array<i64: 0, 1>} {phase = #plan.phase<backward>}
    plan.launch "exp" ins [#plan.view<@x : 2x3x4xbf16>] outs [#plan.view<@d : 2x3x4xbf16>] {} {phase = #plan.phase<backward>}
    plan.launch "reduce_sum" ins [#plan.view<@d : 2x3x4xbf16>] outs [#plan.view<@c : 4xf32>] {dims = array<i64: 0, 1>} {phase = #plan.phase<backward>}

    plan.launch "layer_norm_grad" ins [#plan.view<@g : 2x3x4xbf16>, #plan.view<@x : 2x3x4xbf16>, #plan.view<@w : 4xbf16>, #plan.view<@s : 2x3xf32>, #plan.view<@s : 2x3xf32>] outs [#plan.view<@d : 2x3x4xbf16>, #plan.view<@dw : 4xf32>, #plan.view<@db : 4xf32>] {} {phase = #plan.phase<backward>}
    plan.launch "exp" ins [#plan.view<@w : 4xbf16>] outs [#plan.view<@c : 4xf32>] {} {phase = #plan.phase<backward>}
    plan.launch "reduce_sum" ins [#plan.view<@d : 2x3x4xbf16>] outs [#plan.view<@c : 4xf32>] {dims = array<i64: 0, 1>} {phase = #plan.phase<backward>}
    plan.launch "reduce_sum" ins [#plan.view<@d : 2x3x4xbf16>] outs [#plan.view<@e : 4xf32>] {dims = array<i64: 0, 1>} {phase = #plan.phase<backward>, when = #plan.when<first>}
    plan.launch "reduce_sum" ins [#plan.view<@d : 2x3x4xbf16>] outs [#plan.view<@h : 4xf32>] {dims = array<i64: 0, 1>} {phase = #plan.phase<backward>, stream = @other}
  }
  // A gradient of another section.
  // CHECK-LABEL: plan.section "next"
  // CHECK: reduce_sum
  plan.section "next" repeat 1 {
    plan.launch "reduce_sum" ins [#plan.view<@d : 2x3x4xbf16>] outs [#plan.view<@h : 4xf32>] {dims = array<i64: 0, 1>} {phase = #plan.phase<backward>}
  }
}
