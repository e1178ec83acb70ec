// RUN: sluice-opt %s -sluice-partition -split-input-file | FileCheck %s
// Tests the sharding phase on features that a chain of layers does not have.

// Tests bf16: a shard is rounded first and gathered as bf16, once for each gather; the gradient is reduced in f32 after
// its cast, although the cast and the gradient are at the end of the backward in the input.
// CHECK-LABEL: func.func @bf16
// CHECK: %[[C:.*]] = model.cast %arg0 {model.ids = array<i64: 3>, model.phase = #model.phase<forward>} : (tensor<2x4xf32, {{.*}}) -> tensor<2x4xbf16
// CHECK-NEXT: %[[T:.*]] = spmd.all_gather_start %[[C]] over ["shard"] unit "h" {{.*}} : tensor<2x4xbf16
// CHECK-NEXT: spmd.wait %[[T]] {model.ids = array<i64: 3>, model.phase = #model.phase<forward>} : tensor<4x4xbf16>
// CHECK: spmd.release {{.*}} : tensor<4x4xbf16>
// CHECK: model.cast %arg0 {model.ids = array<i64: 3>, model.phase = #model.phase<backward>}
// CHECK-NEXT: spmd.all_gather_start {{.*}} unit "h" {model.phase = #model.phase<backward>}
// CHECK: %[[D:.*]] = model.matmul {{.*}}transpose_lhs
// CHECK-NEXT: %[[DC:.*]] = model.cast %[[D]]
// CHECK-NEXT: spmd.release
// CHECK-NEXT: %[[R:.*]] = spmd.reduce_scatter_start %[[DC]] {{.*}} : tensor<4x4xf32> to
// CHECK-NEXT: spmd.wait %[[R]] {model.ids = array<i64: 9>, model.phase = #model.phase<backward>}
// CHECK-NEXT: model.relu
// CHECK: spmd.section "update"
module attributes {model.recipe = {mesh.shard = 2 : i64}} {
  model.parameter @h.w : tensor<4x4xf32> zeros
  func.func @bf16(%x: tensor<2x4xbf16> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @h.w {model.block = "h", model.phase = #model.phase<forward>, model.ids = array<i64: 3>} : tensor<4x4xbf16>
    %y = model.matmul %x, %w {model.block = "h", model.phase = #model.phase<forward>} : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
    %s = model.reduce_sum %y {dims = array<i64: 0, 1>, model.block = "", model.phase = #model.phase<loss>} : (tensor<2x4xbf16>) -> tensor<bf16>
    %loss = model.cast %s {model.block = "", model.phase = #model.phase<loss>} : (tensor<bf16>) -> tensor<f32>
    %g = model.constant 1.0 {model.block = "", model.phase = #model.phase<loss>} : tensor<2x4xbf16>
    %dx = model.matmul %g, %w {transpose_rhs, model.block = "h", model.phase = #model.phase<backward>} : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
    %dw = model.matmul %x, %g {transpose_lhs, model.block = "h", model.phase = #model.phase<backward>} : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<4x4xbf16>
    %de = model.relu %dx {model.block = "", model.phase = #model.phase<backward>} : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
    %df = model.cast %dw {model.block = "", model.phase = #model.phase<backward>} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
    %m = model.gradient @h.w, %df {model.block = "", model.phase = #model.phase<backward>, model.ids = array<i64: 9>} : tensor<4x4xf32>
    %mean = model.step_mean %loss {model.block = "", model.phase = #model.phase<loss>} : tensor<f32>
    %p = model.power_sum %m {p = 2.0, model.phase = #model.phase<update>} : (tensor<4x4xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}

// -----

// Tests that a view of a parameter is recomputed from the value that the backward gathers.
// CHECK-LABEL: func.func @views
// CHECK: model.reshape {{.*}}model.phase = #model.phase<forward>
// CHECK: spmd.release {{.*}}model.phase = #model.phase<forward>
// CHECK: %[[W:.*]] = spmd.wait {{.*}}model.phase = #model.phase<backward>
// CHECK-NEXT: %[[V:.*]] = model.reshape %[[W]] {{.*}}model.phase = #model.phase<backward>
// CHECK-NEXT: %[[U:.*]] = model.transpose %[[V]] {{.*}}model.phase = #model.phase<backward>
// CHECK-NEXT: model.matmul %{{.*}}, %[[U]]
// CHECK: spmd.release {{.*}}model.phase = #model.phase<backward>
module attributes {model.recipe = {mesh.shard = 2 : i64}} {
  model.parameter @h.w : tensor<16xf32> zeros
  func.func @views(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @h.w {model.block = "h", model.phase = #model.phase<forward>} : tensor<16xf32>
    %v = model.reshape %w {model.block = "h", model.phase = #model.phase<forward>} : (tensor<16xf32>) -> tensor<4x4xf32>
    %u = model.transpose %v {permutation = array<i64: 1, 0>, model.block = "h", model.phase = #model.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %y = model.matmul %x, %u {model.block = "h", model.phase = #model.phase<forward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %loss = model.reduce_sum %y {dims = array<i64: 0, 1>, model.block = "", model.phase = #model.phase<loss>} : (tensor<2x4xf32>) -> tensor<f32>
    %g = model.constant 1.0 {model.block = "", model.phase = #model.phase<loss>} : tensor<2x4xf32>
    %dx = model.matmul %g, %u {transpose_rhs, model.block = "h", model.phase = #model.phase<backward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %mean = model.step_mean %loss {model.block = "", model.phase = #model.phase<loss>} : tensor<f32>
    return %mean : tensor<f32>
  }
}

// -----

// Tests that a recompute region is inlined, reads the values that the backward gathers, and is marked.
// CHECK-LABEL: func.func @recompute
// CHECK: spmd.release {{.*}}model.phase = #model.phase<forward>
// CHECK: %[[W:.*]] = spmd.wait {{.*}}model.phase = #model.phase<backward>
// CHECK-NEXT: %[[Y:.*]] = model.matmul %{{.*}}, %[[W]] {model.block = "h", model.phase = #model.phase<backward>, model.recompute}
// CHECK-NEXT: model.matmul %[[Y]], %[[W]]
// CHECK: spmd.release {{.*}}model.phase = #model.phase<backward>
// CHECK-NOT: model.recompute "h"
module attributes {model.recipe = {mesh.shard = 2 : i64}} {
  model.parameter @h.w : tensor<4x4xf32> zeros
  func.func @recompute(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @h.w {model.block = "h", model.phase = #model.phase<forward>} : tensor<4x4xf32>
    %y = model.matmul %x, %w {model.block = "h", model.phase = #model.phase<forward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %loss = model.reduce_sum %y {dims = array<i64: 0, 1>, model.block = "", model.phase = #model.phase<loss>} : (tensor<2x4xf32>) -> tensor<f32>
    %r = model.recompute "h" -> tensor<2x4xf32> attributes {model.block = "h", model.phase = #model.phase<backward>} {
      %a = model.matmul %x, %w {model.block = "h", model.phase = #model.phase<forward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      model.yield %a : tensor<2x4xf32>
    }
    %dx = model.matmul %r, %w {model.block = "h", model.phase = #model.phase<backward>} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %mean = model.step_mean %loss {model.block = "", model.phase = #model.phase<loss>} : tensor<f32>
    return %mean : tensor<f32>
  }
}

// -----

// Tests that a scalar parameter is replicated, its gradient is all-reduced, and counts once in the norm of shards.
// CHECK-LABEL: func.func @scalar
// CHECK-SAME: %[[S:[^:]*]]: tensor<f32> {spmd.parameter = @scale}
// CHECK: spmd.reduce_scatter_start %{{.*}} over ["shard"] <mean> unit "root"
// CHECK-NEXT: spmd.wait
// CHECK-NEXT: spmd.all_reduce_start %{{.*}} over ["shard"] <mean> unit "root" {model.phase = #model.phase<backward>} : tensor<f32>
// CHECK: %[[P:.*]] = model.power_sum %{{.*}} : (tensor<2xf32, {{.*}}>) -> tensor<f32>
// CHECK-NEXT: %[[Q:.*]] = model.power_sum %{{.*}} : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %[[T:.*]] = spmd.all_reduce_start %[[P]] over ["shard"] <sum>
// CHECK-NEXT: %[[N:.*]] = spmd.wait %[[T]]
// CHECK-NEXT: %[[A:.*]] = model.add %[[N]], %[[Q]]
// CHECK-NEXT: model.norm_root %[[A]]
module attributes {model.recipe = {mesh.shard = 2 : i64}} {
  model.parameter @scale : tensor<f32> ones
  model.parameter @w : tensor<4xf32> zeros
  func.func @scalar(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "norm"}) attributes {model.entry = #model.entry<train>} {
    %s = model.read @scale {model.block = "", model.phase = #model.phase<forward>} : tensor<f32>
    %w = model.read @w {model.block = "", model.phase = #model.phase<forward>} : tensor<4xf32>
    %y = model.multiply %w, %s {model.block = "", model.phase = #model.phase<forward>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %dw = model.multiply %x, %s {model.block = "", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %ds = model.reduce_sum %w {dims = array<i64: 0>, model.block = "", model.phase = #model.phase<backward>} : (tensor<4xf32>) -> tensor<f32>
    %mw = model.gradient @w, %dw {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    %ms = model.gradient @scale, %ds {model.block = "", model.phase = #model.phase<backward>} : tensor<f32>
    %p = model.power_sum %mw, %ms {p = 2.0, model.phase = #model.phase<update>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %n = model.norm_root %p {p = 2.0, model.phase = #model.phase<update>} : (tensor<f32>) -> tensor<f32>
    return %n : tensor<f32>
  }
}

// -----

// Tests the maximum norm: partial results are combined by max, together with a replicated gradient.
// CHECK-LABEL: func.func @greatest
// CHECK: model.power_sum %{{.*}}, %{{.*}} {
// CHECK-NEXT: spmd.all_reduce_start %{{.*}} over ["shard"] <max>
module attributes {model.recipe = {mesh.shard = 2 : i64}} {
  model.parameter @scale : tensor<f32> ones
  model.parameter @w : tensor<4xf32> zeros
  func.func @greatest(%x: tensor<4xf32> {model.input = "x"}, %y: tensor<f32> {model.input = "y"}) -> (tensor<f32> {model.output = "norm"}) attributes {model.entry = #model.entry<train>} {
    %mw = model.gradient @w, %x {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    %ms = model.gradient @scale, %y {model.block = "", model.phase = #model.phase<backward>} : tensor<f32>
    %p = model.power_sum %mw, %ms {p = 0x7FF0000000000000 : f64, model.phase = #model.phase<update>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %p : tensor<f32>
  }
}

// -----

// Tests that a forward entry has parameters and no states as arguments, and releases all parameters that it gathers.
// The unused parameter is an argument like others, and is not gathered.
// CHECK-LABEL: func.func @logits
// CHECK-SAME: (%{{[^:]*}}: tensor<2xf32, #spmd.sharding<[{{[^]]*}}]>> {spmd.parameter = @head}, %{{[^:]*}}: tensor<2xf32, #spmd.sharding<[{{[^]]*}}]>> {spmd.parameter = @unused},
// CHECK-SAME: %{{[^:]*}}: tensor<2xf32, #spmd.sharding<[{{[^]]*}}]>> {spmd.parameter = @h.w}, %{{[^:]*}}: tensor<4xf32> {spmd.input = "x"})
// CHECK-SAME: -> (tensor<4xf32> {spmd.output = "logits"})
// CHECK: spmd.section "forward" repeat 1
// CHECK-NEXT: spmd.all_gather_start %arg0 over ["shard"] unit "root"
// CHECK: spmd.all_gather_start %arg2 over ["shard"] unit "h"
// CHECK: model.add
// CHECK-NEXT: spmd.release %{{.*}} unit "h" {model.phase = #model.phase<forward>}
// CHECK-NEXT: model.add
// CHECK-NEXT: spmd.release %{{.*}} unit "root" {model.phase = #model.phase<forward>}
// CHECK-NEXT: spmd.yield
module attributes {model.recipe = {mesh.shard = 2 : i64, sharding.reshard_after_forward = false}} {
  model.parameter @head : tensor<4xf32> zeros
  model.parameter @unused : tensor<4xf32> zeros
  model.parameter @h.w : tensor<4xf32> zeros
  func.func @logits(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "logits"}) attributes {model.entry = #model.entry<forward>} {
    %h = model.read @head {model.block = "", model.phase = #model.phase<forward>} : tensor<4xf32>
    %w = model.read @h.w {model.block = "h", model.phase = #model.phase<forward>} : tensor<4xf32>
    %0 = model.add %x, %w {model.block = "h", model.phase = #model.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = model.add %0, %h {model.block = "", model.phase = #model.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// Tests a parameter with fewer rows than ranks: every rank has one row, most of them padding.
// CHECK: func.func @init(%arg0: tensor<1x2xf32, #spmd.sharding<[{"shard", chunk = 1, total = 3}, {}]>> {spmd.parameter = @w}
module attributes {model.recipe = {mesh.shard = 8 : i64}} {
  model.parameter @w : tensor<3x2xf32> ones
  func.func @f() attributes {model.entry = #model.entry<forward>} {
    return
  }
}

// -----

// Tests the update of a parameter of one row: on the ranks without the row the shard is padding.
// CHECK-LABEL: func.func @one_row
// CHECK: model.add %{{.*}}, %{{.*}} : (tensor<1xf32, #spmd.sharding<[{"shard", chunk = 1, total = 1}]>>, tensor<1xf32, #spmd.sharding<[{"shard", chunk = 1, total = 1}]>>) -> tensor<1xf32, #spmd.sharding<[{"shard", chunk = 1, total = 1}]>>
module attributes {model.recipe = {mesh.shard = 2 : i64}} {
  model.parameter @w : tensor<1xf32> zeros
  func.func @one_row() attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.phase = #model.phase<update>} : tensor<1xf32>
    %n = model.add %w, %w {model.phase = #model.phase<update>} : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    model.write @w, %n {model.phase = #model.phase<update>} : tensor<1xf32>
    return
  }
}
