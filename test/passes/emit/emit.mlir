// RUN: sluice-compile %s -o %t.plan
// RUN: sluice-plan print %t.plan | FileCheck %s
// RUN: sluice-plan check %t.plan
// RUN: cp %s %t.mlir && cp %t.plan %t.first && mkdir -p %t.folder && cd %t.folder && sluice-compile %s -o %t.plan && cmp %t.plan %t.first

// From spmd IR to a file that the checker accepts; the same bytes from another working directory.

// CHECK: plan 'small' version 3.1
// CHECK: mesh replicate=1 shard=2 tensor=1
// CHECK: arena device bytes [[#BYTES:]] persistent 512 peak_live [[#]] workspace [[#]] align 256
// CHECK: parameter w:f32[7x4] dim 0 over shard chunk 4 in %w.shard momentum_buffer %w.momentum_buffer init zeros(0, 0) key 0
// CHECK: %w.gathered.0:f32[8x4] device gathered {{.*}} reserved_from [[#UPDATED:]] unit root
// CHECK: entry train_step events 5
// CHECK: input x %input.x.host[0 + r*56]:f32[2x7] per repetition
// CHECK: output y %output.y.host:f32[2x4]
// CHECK: section microbatch repeat 1
// CHECK-NEXT: 0 compute all forward -: copy %input.x.host[0 + r*56]:f32[2x7] -> %input.x:f32[2x7] loc(emit.mlir:
// The gather is after the update of the previous step.
// CHECK-NEXT: 1 gather all forward root: wait 4 carried
// CHECK-NEXT: 2 gather all forward root: all_gather over shard f32 %w.shard:f32[4x4] -> %w.gathered.0:f32[8x4]
// CHECK-NEXT: 3 gather all forward root: record 1
// CHECK-NEXT: 4 compute all forward root: wait 1
// CHECK-NEXT: 5 compute all forward root: matmul(%input.x:f32[2x7], %w.gathered.0:f32[7x4]) -> %[[Y:[a-z0-9.]+]]:f32[2x4]
// CHECK-NEXT: 6 compute all forward root: release %w.gathered.0
// CHECK: fill %h.0.grad.0[112]:f32[1x4] with 0
// CHECK: reduce_scatter over shard f32 mean %h.0.grad.0:f32[8x4] -> %root.gradient_shard.0:f32[4x4]
// CHECK: section update repeat 1
// CHECK: compute all update -: copy %[[Y]]:f32[2x4] -> %output.y.host:f32[2x4]
// CHECK: sgd(%w.shard:f32[4x4] valid(dim 0: 4 of 7 over shard), {{.*}} -> %w.shard:f32[4x4] valid(dim 0: 4 of 7 over shard), %w.momentum_buffer
// CHECK-NEXT: [[#UPDATED-1]] compute all update root: record 4
// CHECK: entry init
// CHECK: constant() -> %w.shard:f32[4x4] valid(dim 0: 4 of 7 over shard)

module attributes {model.name = "small", model.compiled_to = "prefetch"} {
spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
model.parameter @w : tensor<7x4xf32> zeros
spmd.unit @root [@w]

func.func @train_step(
    %w: tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.parameter = @w},
    %m: tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.parameter = @w, spmd.state = "momentum_buffer"},
    %x: tensor<2x7xf32> {spmd.input = "x", spmd.per_repetition},
    %lr: tensor<f32> {spmd.input = "lr"}, %step: tensor<i64> {spmd.input = "step"})
    -> (tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.donates = 0 : i64},
        tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.donates = 1 : i64},
        tensor<2x4xf32> {spmd.output = "y"}) attributes {model.entry = #model.entry<train>} {
  %s, %y = spmd.section "microbatch" repeat 1 -> tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<2x4xf32> {
    %t = spmd.all_gather_start %w over ["shard"] unit "root" {model.phase = #model.phase<forward>} : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
    %W = spmd.wait %t {model.phase = #model.phase<forward>} : tensor<7x4xf32>
    %y = model.matmul %x, %W {model.phase = #model.phase<forward>, model.block = "h.0", model.ids = array<i64: 5>} : (tensor<2x7xf32>, tensor<7x4xf32>) -> tensor<2x4xf32>
    spmd.release %W unit "root" {model.phase = #model.phase<forward>} : tensor<7x4xf32>
    %xt = model.transpose %x {permutation = array<i64: 1, 0>, model.phase = #model.phase<backward>, model.block = "h.0", model.ids = array<i64: 7>} : (tensor<2x7xf32>) -> tensor<7x2xf32>
    %g = model.matmul %xt, %y {model.phase = #model.phase<backward>, model.block = "h.0", model.ids = array<i64: 8>} : (tensor<7x2xf32>, tensor<2x4xf32>) -> tensor<7x4xf32>
    %r = spmd.reduce_scatter_start %g over ["shard"] <mean> unit "root" {model.phase = #model.phase<backward>} : tensor<7x4xf32> to [tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>]
    %gs = spmd.wait %r {model.phase = #model.phase<backward>} : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
    spmd.yield %gs, %y : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<2x4xf32>
  }
  %w2, %m2 = spmd.section "update" repeat 1 -> tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {
    %one = model.constant 1.0 {model.phase = #model.phase<update>, model.ids = array<i64: 10>} : tensor<f32>
    %guard = model.all_finite %one {model.phase = #model.phase<update>, model.ids = array<i64: 11>} : (tensor<f32>) -> tensor<ui8>
    %a, %b = model.sgd %w, %s, %m, %lr, %step, %one, %guard {momentum = 0.9, weight_decay = 0.0, nesterov = false, model.phase = #model.phase<update>, model.ids = array<i64: 13, 14>} : (tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>)
    spmd.yield %a, %b : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
  }
  return %w2, %m2, %y : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<2x4xf32>
}

func.func @init(%w: tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.parameter = @w},
    %m: tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.parameter = @w, spmd.state = "momentum_buffer"})
    -> (tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.donates = 0 : i64}, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {spmd.donates = 1 : i64}) attributes {model.entry = #model.entry<init>} {
  %0:2 = spmd.section "init" repeat 1 -> tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>> {
    %z = model.constant 0.0 {model.phase = #model.phase<update>} : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
    %y = model.constant 0.0 {model.phase = #model.phase<update>} : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
    spmd.yield %z, %y : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
  }
  return %0#0, %0#1 : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
}

// The program that the checker compares with the plan.
module @unsharded attributes {model.unsharded} {
  model.parameter @w : tensor<7x4xf32> zeros
  func.func @train_step(%x: tensor<2x7xf32> {model.id = 1 : i64, model.input = "x"}, %lr: tensor<f32> {model.id = 2 : i64, model.input = "lr"},
      %step: tensor<i64> {model.id = 3 : i64, model.input = "step"}) -> (tensor<2x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.ids = array<i64: 4>, model.phase = #model.phase<forward>} : tensor<7x4xf32>
    %y = model.matmul %x, %w {model.ids = array<i64: 5>, model.phase = #model.phase<forward>} : (tensor<2x7xf32>, tensor<7x4xf32>) -> tensor<2x4xf32>
    %xt = model.transpose %x {permutation = array<i64: 1, 0>, model.ids = array<i64: 7>, model.phase = #model.phase<backward>} : (tensor<2x7xf32>) -> tensor<7x2xf32>
    %g = model.matmul %xt, %y {model.ids = array<i64: 8>, model.phase = #model.phase<backward>} : (tensor<7x2xf32>, tensor<2x4xf32>) -> tensor<7x4xf32>
    %dw = model.gradient @w, %g {model.ids = array<i64: 9>, model.phase = #model.phase<backward>} : tensor<7x4xf32>
    %one = model.constant 1.0 {model.ids = array<i64: 10>, model.phase = #model.phase<update>} : tensor<f32>
    %guard = model.all_finite %one {model.ids = array<i64: 11>, model.phase = #model.phase<update>} : (tensor<f32>) -> tensor<ui8>
    %old = model.read @w {model.ids = array<i64: 12>, model.phase = #model.phase<update>} : tensor<7x4xf32>
    %m = model.read @w state "momentum_buffer" {model.ids = array<i64: 6>, model.phase = #model.phase<update>} : tensor<7x4xf32>
    %a, %b = model.sgd %old, %dw, %m, %lr, %step, %one, %guard {momentum = 0.9, weight_decay = 0.0, nesterov = false, model.ids = array<i64: 13, 14>, model.phase = #model.phase<update>} : (tensor<7x4xf32>, tensor<7x4xf32>, tensor<7x4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<7x4xf32>, tensor<7x4xf32>)
    model.write @w, %a {model.phase = #model.phase<update>} : tensor<7x4xf32>
    model.write @w state "momentum_buffer", %b {model.phase = #model.phase<update>} : tensor<7x4xf32>
    return %y : tensor<2x4xf32>
  }
}
}
