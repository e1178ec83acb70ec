// RUN: sluice-opt %s -plan-accumulate-in-launches | FileCheck %s
// RUN: sluice-opt %s -plan-accumulate-in-launches -plan-accumulate-in-launches | FileCheck %s

// Results whose only use is an accumulation are computed into the sum. @q stays: it is read a second time. @r stays: its
// sum has another element type. @s stays: relu cannot add to a sum. Of the norm's gradient, dweight and dbias are added in one launch,
// after the addend; the sum of a bias in bf16 stays, as it is rounded a second time.

// CHECK-NOT: plan.buffer @p
// CHECK: plan.buffer @q
// CHECK: plan.buffer @r
// CHECK: plan.buffer @s
// CHECK-NOT: plan.buffer @dw
// CHECK-NOT: plan.buffer @db
// CHECK: plan.buffer @n
plan.buffer @m : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 24 : i64, entry = "h"}
plan.buffer @p : tensor<2x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "h"}
plan.buffer @q : tensor<2x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 16 : i64, entry = "h"}
plan.buffer @r : tensor<2x2xbf16> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 8 : i64, entry = "h"}
plan.buffer @s : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 24 : i64, entry = "h"}
plan.buffer @sum : tensor<4x2x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 64 : i64, entry = "h", carried}
plan.buffer @rows : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 24 : i64, entry = "h", carried}
plan.buffer @dw : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 8 : i64, entry = "h"}
plan.buffer @db : tensor<2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 8 : i64, entry = "h"}
plan.buffer @n : tensor<2xbf16> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 4 : i64, entry = "h"}
plan.buffer @dx : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 24 : i64, entry = "h"}
plan.buffer @vectors : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 24 : i64, entry = "h", carried}
plan.buffer @narrow : tensor<2xbf16> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 4 : i64, entry = "h", carried}
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
    // CHECK: plan.launch "layer_norm_grad" ins [#plan.view<@m : 3x2xf32>, #plan.view<@m : 3x2xf32>, #plan.view<@vectors : 2xf32 offset 16>, #plan.view<@m : 3xf32>, #plan.view<@m : 3xf32>, #plan.view<@m : 3x2xf32>] outs [#plan.view<@dx : 3x2xf32>, #plan.view<@vectors : 2xf32>, #plan.view<@vectors : 2xf32 offset 8>] {} {{.*}}when = #plan.when<first>}
    // CHECK-NEXT: plan.launch "layer_norm_grad" ins [{{.*}}, #plan.view<@m : 3x2xf32>, #plan.view<@vectors : 2xf32>, #plan.view<@vectors : 2xf32 offset 8>] outs [#plan.view<@dx : 3x2xf32>, #plan.view<@vectors : 2xf32>, #plan.view<@vectors : 2xf32 offset 8>] {dbias_sum = 1 : i64, dweight_sum = 1 : i64} {flops = 4 : i64, {{.*}}may_alias = array<i64: 0, 0, 6, 1, 7, 2>, {{.*}}when = #plan.when<not_first>}
    plan.launch "layer_norm_grad" ins [#plan.view<@m : 3x2xf32>, #plan.view<@m : 3x2xf32>, #plan.view<@vectors : 2xf32 offset 16>, #plan.view<@m : 3xf32>, #plan.view<@m : 3xf32>, #plan.view<@m : 3x2xf32>] outs [#plan.view<@dx : 3x2xf32>, #plan.view<@dw : 2xf32>, #plan.view<@db : 2xf32>] {} {phase = #plan.phase<backward>, may_alias = array<i64: 0, 0>}
    // CHECK-NEXT: plan.launch "exp"
    plan.launch "exp" ins [#plan.view<@m : 3x2xf32>] outs [#plan.view<@rows : 3x2xf32>] {} {phase = #plan.phase<backward>}
    plan.launch "accumulate" ins [#plan.view<@db : 2xf32>] outs [#plan.view<@vectors : 2xf32 offset 8>] {first = 1 : i64} {phase = #plan.phase<backward>, when = #plan.when<first>}
    plan.launch "accumulate" ins [#plan.view<@db : 2xf32>] outs [#plan.view<@vectors : 2xf32 offset 8>] {first = 0 : i64} {phase = #plan.phase<backward>, when = #plan.when<not_first>}
    plan.launch "accumulate" ins [#plan.view<@dw : 2xf32>] outs [#plan.view<@vectors : 2xf32>] {first = 1 : i64} {phase = #plan.phase<backward>, when = #plan.when<first>}
    plan.launch "accumulate" ins [#plan.view<@dw : 2xf32>] outs [#plan.view<@vectors : 2xf32>] {first = 0 : i64} {phase = #plan.phase<backward>, when = #plan.when<not_first>}
    // CHECK-NEXT: plan.launch "reduce_sum" {{.*}} outs [#plan.view<@n : 2xbf16>]
    plan.launch "reduce_sum" ins [#plan.view<@m : 3x2xf32>] outs [#plan.view<@n : 2xbf16>] {dims = array<i64: 0>} {phase = #plan.phase<backward>}
    plan.launch "accumulate" ins [#plan.view<@n : 2xbf16>] outs [#plan.view<@narrow : 2xbf16>] {first = 1 : i64} {phase = #plan.phase<backward>, when = #plan.when<first>}
    plan.launch "accumulate" ins [#plan.view<@n : 2xbf16>] outs [#plan.view<@narrow : 2xbf16>] {first = 0 : i64} {phase = #plan.phase<backward>, when = #plan.when<not_first>}
  }
}

// The gradient of an embedding adds to the value to which it is only added.
plan.buffer @v : tensor<3x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 24 : i64, entry = "k"}
plan.buffer @i : tensor<3xi32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 12 : i64, entry = "k"}
plan.buffer @a0 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "k"}
plan.buffer @b0 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "k"}
plan.buffer @a1 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "k"}
plan.buffer @b1 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "k"}
plan.buffer @a2 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "k"}
plan.buffer @b2 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "k"}
plan.buffer @a3 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "k"}
plan.buffer @b3 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "k"}
plan.buffer @a4 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "k"}
plan.buffer @b4 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "k"}
plan.buffer @c : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 32 : i64, entry = "k"}
plan.buffer @c1 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 32 : i64, entry = "k"}
plan.buffer @c2 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 32 : i64, entry = "k"}
plan.buffer @c3 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 32 : i64, entry = "k"}
plan.buffer @c4 : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 32 : i64, entry = "k"}
plan.buffer @e : tensor<4x2xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 32 : i64, entry = "k"}
plan.entry @k {
  // CHECK-LABEL: plan.section "tied"
  plan.section "tied" repeat 1 {
    // CHECK-NEXT: plan.launch "exp" {{.*}} outs [#plan.view<@c : 4x2xf32>]
    // CHECK-NEXT: plan.launch "embedding_grad" ins [#plan.view<@v : 3x2xf32>, #plan.view<@i : 3xi32>, #plan.view<@c : 4x2xf32>] outs [#plan.view<@c : 4x2xf32>] {padding = -1 : i64, sum = 1 : i64} {flops = 6 : i64, input_values = array<i64: 3, 4, 2>, may_alias = array<i64: 2, 0>, output_values = array<i64: 6>, phase = #plan.phase<backward>, traffic = 28 : i64}
    // CHECK-NEXT: plan.launch "relu"
    plan.launch "exp" ins [#plan.view<@e : 4x2xf32>] outs [#plan.view<@a0 : 4x2xf32>] {} {phase = #plan.phase<backward>, output_values = array<i64: 2>}
    plan.launch "embedding_grad" ins [#plan.view<@v : 3x2xf32>, #plan.view<@i : 3xi32>] outs [#plan.view<@b0 : 4x2xf32>] {padding = -1 : i64} {phase = #plan.phase<backward>, flops = 6 : i64, traffic = 60 : i64, input_values = array<i64: 3, 4>, output_values = array<i64: 5>}
    plan.launch "add" ins [#plan.view<@a0 : 4x2xf32>, #plan.view<@b0 : 4x2xf32>] outs [#plan.view<@c : 4x2xf32>] {} {phase = #plan.phase<backward>, input_values = array<i64: 2, 5>, output_values = array<i64: 6>}
    plan.launch "relu" ins [#plan.view<@c : 4x2xf32>] outs [#plan.view<@e : 4x2xf32>] {} {phase = #plan.phase<backward>}
  }

  // The earlier value is read again; the memory of the sum is used before the addition; the later launch rounds a sum
  // otherwise than an addition; the program does not have the addition.
  // CHECK-LABEL: plan.section "untied"
  // CHECK-COUNT-4: plan.launch "add"
  plan.section "untied" repeat 1 {
    plan.launch "exp" ins [#plan.view<@e : 4x2xf32>] outs [#plan.view<@a1 : 4x2xf32>] {} {phase = #plan.phase<backward>}
    plan.launch "embedding_grad" ins [#plan.view<@v : 3x2xf32>, #plan.view<@i : 3xi32>] outs [#plan.view<@b1 : 4x2xf32>] {padding = -1 : i64} {phase = #plan.phase<backward>}
    plan.launch "add" ins [#plan.view<@a1 : 4x2xf32>, #plan.view<@b1 : 4x2xf32>] outs [#plan.view<@c1 : 4x2xf32>] {} {phase = #plan.phase<backward>, output_values = array<i64: 6>}
    plan.launch "relu" ins [#plan.view<@a1 : 4x2xf32>] outs [#plan.view<@e : 4x2xf32>] {} {phase = #plan.phase<backward>}

    plan.launch "exp" ins [#plan.view<@e : 4x2xf32>] outs [#plan.view<@a2 : 4x2xf32>] {} {phase = #plan.phase<backward>}
    plan.launch "relu" ins [#plan.view<@c2 : 4x2xf32>] outs [#plan.view<@e : 4x2xf32>] {} {phase = #plan.phase<backward>}
    plan.launch "embedding_grad" ins [#plan.view<@v : 3x2xf32>, #plan.view<@i : 3xi32>] outs [#plan.view<@b2 : 4x2xf32>] {padding = -1 : i64} {phase = #plan.phase<backward>}
    plan.launch "add" ins [#plan.view<@b2 : 4x2xf32>, #plan.view<@a2 : 4x2xf32>] outs [#plan.view<@c2 : 4x2xf32>] {} {phase = #plan.phase<backward>, output_values = array<i64: 6>}

    plan.launch "embedding_grad" ins [#plan.view<@v : 3x2xf32>, #plan.view<@i : 3xi32>] outs [#plan.view<@a3 : 4x2xf32>] {padding = -1 : i64} {phase = #plan.phase<backward>}
    plan.launch "matmul" ins [#plan.view<@e : 4x2xf32>, #plan.view<@v : 2x2xf32>] outs [#plan.view<@b3 : 4x2xf32>] {} {phase = #plan.phase<backward>}
    plan.launch "add" ins [#plan.view<@a3 : 4x2xf32>, #plan.view<@b3 : 4x2xf32>] outs [#plan.view<@c3 : 4x2xf32>] {} {phase = #plan.phase<backward>, output_values = array<i64: 6>}

    plan.launch "exp" ins [#plan.view<@e : 4x2xf32>] outs [#plan.view<@a4 : 4x2xf32>] {} {phase = #plan.phase<backward>}
    plan.launch "embedding_grad" ins [#plan.view<@v : 3x2xf32>, #plan.view<@i : 3xi32>] outs [#plan.view<@b4 : 4x2xf32>] {padding = -1 : i64} {phase = #plan.phase<backward>}
    plan.launch "add" ins [#plan.view<@a4 : 4x2xf32>, #plan.view<@b4 : 4x2xf32>] outs [#plan.view<@c4 : 4x2xf32>] {} {phase = #plan.phase<backward>}
  }
}

// The gradient of a weight that a chunked loss adds chunk by chunk.
// CHECK-NOT: plan.buffer @wt
plan.buffer @lx : tensor<6x4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 48 : i64, entry = "l"}
plan.buffer @lw : tensor<5x4xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 40 : i64, entry = "l"}
plan.buffer @lt : tensor<6xi32> {space = #plan.space<device>, buffer_class = #plan.class<input>, bytes = 24 : i64, entry = "l"}
plan.buffer @lf : tensor<6xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 24 : i64, entry = "l"}
plan.buffer @lo : tensor<f32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 4 : i64, entry = "l"}
plan.buffer @wt : tensor<5x4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 80 : i64, entry = "l"}
plan.buffer @ws : tensor<5x4xf32> {space = #plan.space<device>, buffer_class = #plan.class<gradient>, bytes = 80 : i64, entry = "l", carried}
plan.entry @l {
  // CHECK-LABEL: plan.section "chunks"
  plan.section "chunks" repeat 3 {
    // CHECK-NEXT: plan.launch "linear_cross_entropy_and_grad" ins [#plan.view<@lx : 6x4xbf16>, #plan.view<@lw : 5x4xbf16>, #plan.view<@lt : 6xi32>, #plan.view<@lo : f32>] outs [{{.*}}, #plan.view<@ws : 5x4xf32>] {rows = 4 : i64} {{.*}}when = #plan.when<first>}
    // CHECK-NEXT: plan.launch "linear_cross_entropy_and_grad" ins [#plan.view<@lx : 6x4xbf16>, #plan.view<@lw : 5x4xbf16>, #plan.view<@lt : 6xi32>, #plan.view<@lo : f32>, #plan.view<@ws : 5x4xf32>] outs [{{.*}}, #plan.view<@ws : 5x4xf32>] {dweight_sum = 1 : i64, rows = 4 : i64} {{.*}}may_alias = array<i64: 4, 3>, {{.*}}when = #plan.when<not_first>}
    // CHECK-NEXT: }
    plan.launch "linear_cross_entropy_and_grad" ins [#plan.view<@lx : 6x4xbf16>, #plan.view<@lw : 5x4xbf16>, #plan.view<@lt : 6xi32>, #plan.view<@lo : f32>] outs [#plan.view<@lo : f32>, #plan.view<@lf : 6xf32>, #plan.view<@lx : 6x4xbf16>, #plan.view<@wt : 5x4xf32>] {rows = 4 : i64} {phase = #plan.phase<backward>}
    plan.launch "accumulate" ins [#plan.view<@wt : 5x4xf32>] outs [#plan.view<@ws : 5x4xf32>] {first = 1 : i64} {phase = #plan.phase<backward>, when = #plan.when<first>}
    plan.launch "accumulate" ins [#plan.view<@wt : 5x4xf32>] outs [#plan.view<@ws : 5x4xf32>] {first = 0 : i64} {phase = #plan.phase<backward>, when = #plan.when<not_first>}
  }
}
