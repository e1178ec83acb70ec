// RUN: sluice-opt %s -plan-fuse-loss="target.device=cuda" | FileCheck %s
// RUN: sluice-opt %s -plan-fuse-loss="target.device=cuda" -plan-fuse-loss="target.device=cuda" | FileCheck %s
// RUN: sluice-opt %s -plan-fuse-loss | FileCheck %s --check-prefix=CPU

// Tests that a loss and its gradient become one launch at the position of the loss, after the constant factor.

// CPU-NOT: "cross_entropy_and_grad"
plan.buffer @x : tensor<2x8xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "f"}
plan.buffer @y : tensor<2x8xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "f"}
plan.buffer @t : tensor<2xi32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 8 : i64, entry = "f"}
plan.buffer @u : tensor<2xi32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 8 : i64, entry = "f"}
plan.buffer @l : tensor<f32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 4 : i64, entry = "f"}
plan.buffer @s : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 8 : i64, entry = "f"}
plan.buffer @d : tensor<f32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 4 : i64, entry = "f"}
plan.buffer @z : tensor<f32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 4 : i64, entry = "f"}
plan.buffer @h : tensor<2x3xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "f"}
plan.buffer @w : tensor<8x3xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 96 : i64, entry = "f"}
plan.buffer @dh : tensor<2x3xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "f"}
plan.buffer @dw : tensor<8x3xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 96 : i64, entry = "f"}
plan.entry @f {
  // CHECK-LABEL: plan.section "fused"
  // CHECK-NEXT: plan.launch "constant"
  // CHECK-NEXT: plan.launch "cross_entropy_and_grad" ins [#plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>, #plan.view<@d : f32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>, #plan.view<@y : 2x8xbf16>] {reduction = 0 : i64} {flops = 30 : i64, input_values = array<i64: 1, 2, 5>, may_alias = array<i64: 0, 2>, output_values = array<i64: 3, 4, 6>, phase = #plan.phase<loss>, traffic = 88 : i64, unit = "root"}
  // CHECK-NEXT: plan.launch "exp"
  plan.section "fused" repeat 1 {
    plan.launch "cross_entropy" ins [#plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>] {reduction = 0 : i64} {phase = #plan.phase<loss>, unit = "root", flops = 10 : i64, traffic = 52 : i64, input_values = array<i64: 1, 2>, output_values = array<i64: 3, 4>}
    plan.launch "constant" ins [] outs [#plan.view<@d : f32>] {value = 1.0 : f64} {phase = #plan.phase<backward>, output_values = array<i64: 5>}
    plan.launch "cross_entropy_grad" ins [#plan.view<@d : f32>, #plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>, #plan.view<@s : 2xf32>] outs [#plan.view<@y : 2x8xbf16>] {reduction = 0 : i64} {phase = #plan.phase<backward>, unit = "root", flops = 20 : i64, traffic = 84 : i64, input_values = array<i64: 5, 1, 2, 4>, output_values = array<i64: 6>, may_alias = array<i64: 1, 0>}
    plan.launch "exp" ins [#plan.view<@l : f32>] outs [#plan.view<@z : f32>] {} {phase = #plan.phase<backward>}
  }

  // The loss may be read before the gradient, and the factor may be older.
  // CHECK-LABEL: plan.section "read"
  // CHECK-NEXT: plan.launch "cross_entropy_and_grad"
  // CHECK-NEXT: plan.launch "exp"
  // CHECK-NOT: cross_entropy_grad
  plan.section "read" repeat 1 {
    plan.launch "cross_entropy" ins [#plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>] {} {phase = #plan.phase<loss>}
    plan.launch "exp" ins [#plan.view<@l : f32>] outs [#plan.view<@z : f32>] {} {phase = #plan.phase<loss>}
    plan.launch "cross_entropy_grad" ins [#plan.view<@d : f32>, #plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>, #plan.view<@s : 2xf32>] outs [#plan.view<@y : 2x8xbf16>] {} {phase = #plan.phase<backward>}
  }

  // The factor depends on the loss, the memory of the gradient is used before it, logits are written between them, targets differ, an attribute differs, and the
  // launches are not issued in the same repetitions.
  // CHECK-LABEL: plan.section "separate"
  // CHECK-COUNT-6: plan.launch "cross_entropy_grad"
  plan.section "separate" repeat 2 {
    plan.launch "cross_entropy" ins [#plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>] {} {phase = #plan.phase<loss>}
    plan.launch "exp" ins [#plan.view<@l : f32>] outs [#plan.view<@d : f32>] {} {phase = #plan.phase<backward>}
    plan.launch "cross_entropy_grad" ins [#plan.view<@d : f32>, #plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>, #plan.view<@s : 2xf32>] outs [#plan.view<@y : 2x8xbf16>] {} {phase = #plan.phase<backward>}

    plan.launch "cross_entropy" ins [#plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>] {} {phase = #plan.phase<loss>}
    plan.launch "exp" ins [#plan.view<@y : 2x8xbf16>] outs [#plan.view<@x : 2x8xbf16>] {} {phase = #plan.phase<backward>}
    plan.launch "cross_entropy_grad" ins [#plan.view<@d : f32>, #plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>, #plan.view<@s : 2xf32>] outs [#plan.view<@y : 2x8xbf16>] {} {phase = #plan.phase<backward>}

    plan.launch "cross_entropy" ins [#plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>] {} {phase = #plan.phase<loss>}
    plan.launch "exp" ins [#plan.view<@y : 2x8xbf16>] outs [#plan.view<@y : 2x8xbf16>] {} {phase = #plan.phase<backward>}
    plan.launch "cross_entropy_grad" ins [#plan.view<@d : f32>, #plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>, #plan.view<@s : 2xf32>] outs [#plan.view<@y : 2x8xbf16>] {} {phase = #plan.phase<backward>}

    plan.launch "cross_entropy" ins [#plan.view<@x : 2x8xbf16>, #plan.view<@u : 2xi32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>] {} {phase = #plan.phase<loss>}
    plan.launch "cross_entropy_grad" ins [#plan.view<@d : f32>, #plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>, #plan.view<@s : 2xf32>] outs [#plan.view<@y : 2x8xbf16>] {} {phase = #plan.phase<backward>}

    plan.launch "cross_entropy" ins [#plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>] {reduction = 0 : i64} {phase = #plan.phase<loss>}
    plan.launch "cross_entropy_grad" ins [#plan.view<@d : f32>, #plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>, #plan.view<@s : 2xf32>] outs [#plan.view<@y : 2x8xbf16>] {reduction = 1 : i64} {phase = #plan.phase<backward>}

    plan.launch "cross_entropy" ins [#plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>] {} {phase = #plan.phase<loss>}
    plan.launch "cross_entropy_grad" ins [#plan.view<@d : f32>, #plan.view<@x : 2x8xbf16>, #plan.view<@t : 2xi32>, #plan.view<@s : 2xf32>] outs [#plan.view<@y : 2x8xbf16>] {} {phase = #plan.phase<backward>, when = #plan.when<first>}
  }

  // Chunks of logits are computed once, on each device.
  // CHECK-LABEL: plan.section "chunks"
  // CHECK-NEXT: plan.launch "constant"
  // CHECK-NEXT: plan.launch "linear_cross_entropy_and_grad" ins [#plan.view<@h : 2x3xf32>, #plan.view<@w : 8x3xf32>, #plan.view<@t : 2xi32>, #plan.view<@d : f32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>, #plan.view<@dh : 2x3xf32>, #plan.view<@dw : 8x3xf32>] {reduction = 0 : i64, rows = 1 : i64} {flops = 400 : i64, input_values = array<i64: 1, 2, 3, 6>, output_values = array<i64: 4, 5, 7, 8>, phase = #plan.phase<loss>, traffic = 264 : i64}
  // CHECK-NEXT: }
  // CPU-LABEL: plan.section "chunks"
  // CPU: plan.launch "linear_cross_entropy_and_grad"
  // CPU-NOT: linear_cross_entropy_grad
  plan.section "chunks" repeat 1 {
    plan.launch "linear_cross_entropy" ins [#plan.view<@h : 2x3xf32>, #plan.view<@w : 8x3xf32>, #plan.view<@t : 2xi32>] outs [#plan.view<@l : f32>, #plan.view<@s : 2xf32>] {reduction = 0 : i64, rows = 1 : i64} {phase = #plan.phase<loss>, flops = 160 : i64, traffic = 140 : i64, input_values = array<i64: 1, 2, 3>, output_values = array<i64: 4, 5>}
    plan.launch "constant" ins [] outs [#plan.view<@d : f32>] {value = 1.0 : f64} {phase = #plan.phase<backward>, output_values = array<i64: 6>}
    plan.launch "linear_cross_entropy_grad" ins [#plan.view<@d : f32>, #plan.view<@h : 2x3xf32>, #plan.view<@w : 8x3xf32>, #plan.view<@t : 2xi32>, #plan.view<@s : 2xf32>] outs [#plan.view<@dh : 2x3xf32>, #plan.view<@dw : 8x3xf32>] {reduction = 0 : i64, rows = 1 : i64} {phase = #plan.phase<backward>, flops = 336 : i64, traffic = 264 : i64, input_values = array<i64: 6, 1, 2, 3, 5>, output_values = array<i64: 7, 8>}
  }
}
