// RUN: sluice-opt %s -plan-lower | FileCheck %s

// Two ranks, a weight of 7 rows: 4 a rank, the last one padding. Gather, a window (transpose), a product, a gradient that
// is reduced from a buffer of 8 rows whose tail is zeroed, an update in place.

module attributes {model.name = "small"} {
spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
model.parameter @w : tensor<7x4xf32> zeros
spmd.unit @root [@w]

// CHECK-DAG: plan.buffer @w.shard : tensor<4x4xf32> {buffer_class = #plan.class<parameter>, bytes = 64 : i64, parameter = "w", space = #plan.space<device>, valid = #plan.valid<dim = 0, chunk = 4, total = 7, axes = ["shard"]>}
// CHECK-DAG: plan.buffer @w.momentum_buffer : tensor<4x4xf32> {buffer_class = #plan.class<optimizer>
// CHECK-DAG: plan.buffer @w.gathered.0 : tensor<8x4xf32> {buffer_class = #plan.class<gathered>, bytes = 128 : i64, entry = "train_step", space = #plan.space<device>, unit = "root"}
// CHECK-DAG: plan.buffer @h.0.grad.0 : tensor<8x4xf32> {buffer_class = #plan.class<gradient>
// CHECK-DAG: plan.buffer @root.gradient_shard.0 : tensor<4x4xf32> {buffer_class = #plan.class<gradient_shard>
// CHECK-DAG: plan.buffer @input.x : tensor<2x7xf32> {buffer_class = #plan.class<input>
// CHECK-DAG: plan.buffer @input.x.host : tensor<1x2x7xf32> {buffer_class = #plan.class<input>, {{.*}} space = #plan.space<host>}

// CHECK-LABEL: plan.entry @train_step
// CHECK: plan.port <input> "x" <@input.x.host : 2x7xf32 step 56> {per_repetition}
// CHECK: plan.port <output> "y" <@output.y.host : 2x4xf32>
func.func @train_step(
    %w: tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.parameter = @w},
    %m: tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.parameter = @w, spmd.state = "momentum_buffer"},
    %x: tensor<2x7xf32> {spmd.input = "x", spmd.per_repetition},
    %lr: tensor<f32> {spmd.input = "lr"}, %step: tensor<i64> {spmd.input = "step"})
    -> (tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.donates = 0 : i64},
        tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.donates = 1 : i64},
        tensor<2x4xf32> {spmd.output = "y"}) attributes {model.entry = #model.entry<train>} {
  // CHECK: plan.section "microbatch" repeat 1
  // CHECK-NEXT: plan.copy <@input.x.host : 2x7xf32 step 56> to <@input.x : 2x7xf32> {phase = #plan.phase<forward>}
  %s, %y = spmd.section "microbatch" repeat 1 -> tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<2x4xf32> {
    // CHECK-NEXT: plan.collective <all_gather> <none> over ["shard"] from [#plan.view<@w.shard : 4x4xf32>] to [#plan.view<@w.gathered.0 : 8x4xf32>] on @gather {phase = #plan.phase<forward>, token = 1 : i64, unit = "root"}
    // CHECK-NEXT: plan.await 1
    %t = spmd.all_gather_start %w over ["shard"] unit "root" {model.phase = #model.phase<forward>} : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
    %W = spmd.wait %t {model.phase = #model.phase<forward>} : tensor<7x4xf32>
    // CHECK-NEXT: plan.launch "matmul" ins [#plan.view<@input.x : 2x7xf32>, #plan.view<@w.gathered.0 : 7x4xf32>] outs [#plan.view<@[[Y:[a-z0-9.]+]] : 2x4xf32>]
    %y = model.matmul %x, %W {model.phase = #model.phase<forward>, model.block = "h.0", model.ids = array<i64: 5>} : (tensor<2x7xf32>, tensor<7x4xf32>) -> tensor<2x4xf32>
    // CHECK-NEXT: plan.release [@w.gathered.0]
    spmd.release %W unit "root" {model.phase = #model.phase<forward>} : tensor<7x4xf32>
    // A window: nothing is launched for it.
    // CHECK-NOT: transpose
    %xt = model.transpose %x {permutation = array<i64: 1, 0>, model.phase = #model.phase<backward>, model.block = "h.0"} : (tensor<2x7xf32>) -> tensor<7x2xf32>
    // CHECK: plan.launch "matmul" ins [#plan.view<@input.x : 7x2xf32 strides [1, 7]>, #plan.view<@[[Y]] : 2x4xf32>] outs [#plan.view<@h.0.grad.0 : 7x4xf32>]
    %g = model.matmul %xt, %y {model.phase = #model.phase<backward>, model.block = "h.0"} : (tensor<7x2xf32>, tensor<2x4xf32>) -> tensor<7x4xf32>
    // CHECK-NEXT: plan.fill <@h.0.grad.0 : 1x4xf32 offset 112> with 0.000000e+00
    // CHECK-NEXT: plan.collective <reduce_scatter> <mean> over ["shard"] from [#plan.view<@h.0.grad.0 : 8x4xf32>] to [#plan.view<@root.gradient_shard.0 : 4x4xf32>] on @reduce {phase = #plan.phase<backward>, token = 2 : i64, unit = "root"}
    // CHECK-NEXT: plan.await 2
    %r = spmd.reduce_scatter_start %g over ["shard"] <mean> unit "root" {model.phase = #model.phase<backward>} : tensor<7x4xf32> to [tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>]
    %gs = spmd.wait %r {model.phase = #model.phase<backward>} : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
    spmd.yield %gs, %y : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<2x4xf32>
  }
  // CHECK: plan.section "update" repeat 1
  %w2, %m2 = spmd.section "update" repeat 1 -> tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {
    // CHECK: plan.copy <@input.lr.host : f32> to <@input.lr : f32> {phase = #plan.phase<update>}
    // An output of an earlier section is copied before the update.
    // CHECK: plan.copy <@[[Y]] : 2x4xf32> to <@output.y.host : 2x4xf32> {phase = #plan.phase<update>}
    %one = model.constant 1.0 {model.phase = #model.phase<update>} : tensor<f32>
    %guard = model.all_finite %one {model.phase = #model.phase<update>} : (tensor<f32>) -> tensor<ui8>
    // CHECK: plan.launch "sgd" ins [#plan.view<@w.shard : 4x4xf32 valid <dim = 0, chunk = 4, total = 7, axes = ["shard"]>>, #plan.view<@root.gradient_shard.0
    // CHECK-SAME: outs [#plan.view<@w.shard : 4x4xf32 valid {{.*}}, #plan.view<@w.momentum_buffer
    %a, %b = model.sgd %w, %s, %m, %lr, %step, %one, %guard {momentum = 0.9, weight_decay = 0.0, nesterov = false, model.phase = #model.phase<update>} : (tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>)
    spmd.yield %a, %b : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
  }
  // CHECK-NOT: plan.copy
  return %w2, %m2, %y : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<2x4xf32>
}
}
