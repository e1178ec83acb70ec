// RUN: sluice-opt %s '-pass-pipeline=builtin.module(spmd-shard-parameters{axis=tensor},spmd-propagate-shardings{axis=tensor},spmd-insert-reshards{axis=tensor},spmd-localize{axis=tensor},spmd-lower-reshards)' -split-input-file -verify-diagnostics | FileCheck %s

// Tests the passes along the axis tensor together: that a column and a row sharding propagate through two products with one
// all_reduce, after which bias and residual are added once; that a fused weight is sharded in segments; that a value that is
// read replicated is gathered, and a shard of a constant is computed; that a dim that the ranks do not divide has padded
// chunks, whose padding is not read, or is zeros where a collective or a gradient reads it; that every rank has the heads
// that several ranks share; that with sharding.sequence a norm is sharded along the sequence.

// CHECK: model.parameter @up : tensor<4x4xf32> zeros {spmd.sharding = #spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>}
// CHECK-NEXT: model.parameter @up.bias : tensor<4xf32> zeros {spmd.sharding = #spmd.sharding<[{"tensor", chunk = 4, total = 8}]>}
// CHECK-NEXT: model.parameter @down : tensor<4x4xf32> zeros {spmd.sharding = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>}
// CHECK-NEXT: model.parameter @down.bias : tensor<4xf32> zeros{{$}}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"up*" = "column", "down*" = "row"}}} {
  model.parameter @up : tensor<4x8xf32> zeros
  model.parameter @up.bias : tensor<8xf32> zeros
  model.parameter @down : tensor<8x4xf32> zeros
  model.parameter @down.bias : tensor<4xf32> zeros
  // CHECK: func.func @f
  func.func @f(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {model.entry = #model.entry<forward>} {
    %up = model.read @up : tensor<4x8xf32>
    %up.bias = model.read @up.bias : tensor<8xf32>
    %down = model.read @down : tensor<8x4xf32>
    %down.bias = model.read @down.bias : tensor<4xf32>
    // CHECK: %[[H:.*]] = model.matmul {{.*}} -> tensor<2x4xf32>
    %0 = model.matmul %x, %up bias(%up.bias) : (tensor<2x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    // CHECK-NEXT: %[[G:.*]] = model.relu %[[H]] : tensor<2x4xf32>
    %1 = model.relu %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
    // CHECK-NEXT: %[[P:.*]] = model.matmul %[[G]], %{{[^ ]*}} {{.*}}: (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    // CHECK-NEXT: %[[T:.*]] = spmd.all_reduce_start %[[P]] over ["tensor"] <sum> : tensor<2x4xf32>
    // CHECK-NEXT: %[[S:.*]] = spmd.wait %[[T]] : tensor<2x4xf32>
    // CHECK-NEXT: %[[B:.*]] = model.add %[[S]], %{{.*}} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    // CHECK-NEXT: model.add %[[B]], %{{.*}} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // expected-remark @below {{all_reduce over 'tensor': model.matmul ([i, k], [k, j]) -> ([i, j]) {i=2, j=4, k=8} reduce=sum has a partial result (1 time)}}
    %2 = model.matmul %1, %down bias(%down.bias) residual(%x) : (tensor<2x8xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %2 : tensor<2x4xf32>
  }
}

// -----

// CHECK: model.parameter @fused : tensor<4x6xf32> zeros {spmd.sharding = #spmd.sharding<[{}, {"tensor", segments = 3, chunk = 2, total = 12}]>}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"fused" = "column"}}} {
  model.parameter @fused : tensor<4x12xf32> zeros
  // CHECK: func.func @f
  func.func @f(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {model.entry = #model.entry<forward>} {
    %w = model.read @fused : tensor<4x12xf32>
    %0 = model.matmul %x, %w : (tensor<2x4xf32>, tensor<4x12xf32>) -> tensor<2x12xf32>
    // CHECK: model.split %{{.*}} : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
    %1:3 = model.split %0 {dim = 1 : i64} : (tensor<2x12xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    %2 = model.multiply %1#0, %1#1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // A shard of a constant is a constant.
    // CHECK: model.constant 2.000000e+00 {spmd.local_shardings = [#spmd.sharding<[{}, {"tensor", chunk = 2, total = 4}]>]} : tensor<2x2xf32>
    %two = model.constant 2.0 : tensor<2x4xf32>
    // CHECK: %[[M:.*]] = model.multiply %{{.*}} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    // CHECK: %[[R:.*]] = model.reshape %{{.*}} : (tensor<2x2xf32>) -> tensor<1x2x1x2x1xf32, #spmd.sharding<[{"tensor", chunk = 1, total = 2}, {}, {}, {}, {}]>>
    // CHECK-NEXT: %[[T:.*]] = spmd.all_gather_start %[[R]] over ["tensor"]
    // CHECK-NEXT: %[[A:.*]] = spmd.wait %[[T]] : tensor<2x2x1x2x1xf32>
    // CHECK-NEXT: %[[V:.*]] = model.transpose %[[A]]
    // CHECK-NEXT: model.reshape %[[V]] {{.*}}-> tensor<2x4xf32>
    %3 = model.multiply %2, %two : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // expected-remark @below {{all_gather over 'tensor': func.return requires replicated operands (1 time)}}
    return %3 : tensor<2x4xf32>
  }
}

// -----

// expected-error @unknown {{recipe: value of 'sharding.tensor' for parameter 's': a scalar has no dim to shard}}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"s" = "column"}}} {
  model.parameter @s : tensor<f32> zeros
}

// -----

// expected-error @unknown {{recipe: value of 'sharding.tensor' for parameter 'w': no product and no embedding reads it}}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "row"}}} {
  model.parameter @w : tensor<4x2xf32> zeros
}

// -----

// expected-remark @unknown {{recipe: 'mesh.tensor' shards nothing where 'sharding.tensor' names no parameter: its ranks all compute the same}}
module attributes {model.recipe = {mesh.tensor = 2 : i64}} {
  model.parameter @w : tensor<4x2xf32> zeros
}

// -----

// CHECK: model.parameter @up : tensor<4x3xf32> zeros {spmd.sharding = #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>}
// CHECK-NEXT: model.parameter @down : tensor<3x4xf32> zeros {spmd.sharding = #spmd.sharding<[{"tensor", chunk = 3, total = 5}, {}]>}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"up" = "column", "down" = "row"}}} {
  model.parameter @up : tensor<4x5xf32> zeros
  model.parameter @down : tensor<5x4xf32> zeros
  // CHECK: func.func @f
  func.func @f(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x5xf32>) attributes {model.entry = #model.entry<forward>} {
    %up = model.read @up : tensor<4x5xf32>
    %down = model.read @down : tensor<5x4xf32>
    // CHECK: %[[H:.*]] = model.matmul {{.*}}spmd.local_shardings = [#spmd.sharding<[{}, {}]>, #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>, #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>]{{.*}} -> tensor<2x3xf32>
    %0 = model.matmul %x, %up : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    // CHECK-NEXT: %[[E:.*]] = model.exp %[[H]] {spmd.local_shardings = [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>, #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>]}
    // CHECK-NEXT: %[[P:.*]] = model.pad %[[E]] {{.*}}spmd.local_shardings = [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>, #spmd.sharding<[{}, {}]>]{{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK-NEXT: %[[R:.*]] = model.reshape %[[P]]
    // CHECK-NEXT: spmd.all_gather_start %[[R]] over ["tensor"]
    // CHECK: model.slice {{.*}} : (tensor<2x6x1xf32>) -> tensor<2x5x1xf32>
    %1 = model.exp %0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    // CHECK: model.matmul %[[E]], %{{.*}}spmd.local_shardings = [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>, #spmd.sharding<[{"tensor", chunk = 3, total = 5}, {}]>, #spmd.sharding<[{}, {}]>]
    // CHECK-NEXT: spmd.all_reduce_start
    // expected-remark @below {{all_reduce over 'tensor': model.matmul}}
    %2 = model.matmul %1, %down : (tensor<2x5xf32>, tensor<5x4xf32>) -> tensor<2x4xf32>
    // expected-remark @below {{all_gather over 'tensor': func.return requires replicated operands (1 time)}}
    return %2, %1 : tensor<2x4xf32>, tensor<2x5xf32>
  }
}

// -----

// Tests that a remark has no rule of many operands.
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "column"}}} {
  model.parameter @w : tensor<4x8xf32> zeros
  // CHECK: func.func @many
  func.func @many(%x: tensor<2x4xf32>) -> tensor<f32> attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w : tensor<4x8xf32>
    %0 = model.matmul %x, %w : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    // expected-remark @below {{all_reduce over 'tensor': model.power_sum of 9 operands has a partial result (1 time)}}
    %1 = model.power_sum %0, %0, %0, %0, %0, %0, %0, %0, %0 {p = 2.0} : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "column"}}} {
  model.parameter @w : tensor<4x5xf32> zeros
  // CHECK: func.func @gradient
  func.func @gradient(%x: tensor<2x4xf32>, %dy: tensor<2x5xf32>) -> tensor<2xf32> attributes {model.entry = #model.entry<train>} {
    %w = model.read @w : tensor<4x5xf32>
    %0 = model.matmul %x, %w {model.phase = #model.phase<forward>} : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    // expected-remark @below {{all_reduce over 'tensor': model.reduce_sum}}
    %1 = model.reduce_sum %0 {dims = array<i64: 1>, model.phase = #model.phase<forward>} : (tensor<2x5xf32>) -> tensor<2xf32>
    // CHECK: %[[G:.*]] = spmd.all_slice
    // CHECK-NEXT: %[[R:.*]] = model.reshape %[[G]] {{.*}} -> tensor<2x3xf32>
    // CHECK-NEXT: %[[M:.*]] = model.matmul %{{.*}}, %[[R]] {{.*}} -> tensor<4x3xf32>
    // CHECK-NEXT: %[[C:.*]] = model.pad %[[M]] {{.*}}spmd.local_shardings = [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>, #spmd.sharding<[{}, {}]>]
    // CHECK-NEXT: model.gradient @w, %[[C]] {{.*}}tensor<4x3xf32>
    %g = model.matmul %x, %dy {transpose_lhs, model.phase = #model.phase<backward>} : (tensor<2x4xf32>, tensor<2x5xf32>) -> tensor<4x5xf32>
    %m = model.gradient @w, %g {model.phase = #model.phase<backward>} : tensor<4x5xf32>
    return %1 : tensor<2xf32>
  }
}

// -----

module attributes {model.recipe = {mesh.tensor = 4 : i64, sharding.tensor = {"q" = "column", "k" = "column"}}} {
  model.parameter @q : tensor<8x8xf32> zeros
  model.parameter @k : tensor<8x4xf32> zeros
  // CHECK: func.func @heads
  func.func @heads(%x: tensor<1x3x8xf32>) -> tensor<1x3x4x2xf32> attributes {model.entry = #model.entry<forward>} {
    %wq = model.read @q : tensor<8x8xf32>
    %wk = model.read @k : tensor<8x4xf32>
    %0 = model.matmul %x, %wq : (tensor<1x3x8xf32>, tensor<8x8xf32>) -> tensor<1x3x8xf32>
    %1 = model.matmul %x, %wk : (tensor<1x3x8xf32>, tensor<8x4xf32>) -> tensor<1x3x4xf32>
    %2 = model.reshape %0 : (tensor<1x3x8xf32>) -> tensor<1x3x4x2xf32>
    // CHECK: spmd.all_gather_start
    // expected-remark @below {{all_gather over 'tensor': model.reshape ([1, i, jk]) -> ([1, i, j, k]) {i=3, j=2, k=2} separates heads that several ranks share (1 time)}}
    %3 = model.reshape %1 : (tensor<1x3x4xf32>) -> tensor<1x3x2x2xf32>
    // CHECK: model.broadcast {{.*}} -> tensor<1x3x2x2x2xf32>
    // CHECK: model.attention {{.*}} : (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>) -> (tensor<1x3x1x2xf32>, tensor<1x1x3xf32>)
    %4:2 = model.attention %2, %3, %3 {causal, scale = 1.0 : f64} : (tensor<1x3x4x2xf32>, tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>) -> (tensor<1x3x4x2xf32>, tensor<1x4x3xf32>)
    // expected-remark @below {{all_gather over 'tensor': func.return requires replicated operands (1 time)}}
    return %4#0 : tensor<1x3x4x2xf32>
  }
}

// -----

module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "column"}}} {
  model.parameter @w : tensor<4x6xf32> zeros
  func.func @uneven_heads(%x: tensor<2x4xf32>) -> tensor<2x3x2xf32> attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w : tensor<4x6xf32>
    // Two heads of three, and the last.
    // CHECK: model.matmul {{.*}}sharding<[{}, {"tensor", chunk = 4, total = 6}]>]} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %0 = model.matmul %x, %w : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
    // CHECK: model.reshape {{.*}}sharding<[{}, {"tensor", chunk = 2, total = 3}, {}]>]} : (tensor<2x4xf32>) -> tensor<2x2x2xf32>
    %1 = model.reshape %0 : (tensor<2x6xf32>) -> tensor<2x3x2xf32>
    // expected-remark @below {{all_gather over 'tensor': func.return requires replicated operands}}
    return %1 : tensor<2x3x2xf32>
  }
}

// -----

// Tests three segments of two heads over three ranks: padding is inside of the dim, and is zeros where it is summed over.
// CHECK: model.parameter @fused : tensor<4x6xf32> zeros {spmd.sharding = #spmd.sharding<[{}, {"tensor", segments = 3, chunk = 2, total = 12}]>}
module attributes {model.recipe = {mesh.tensor = 3 : i64, sharding.tensor = {"fused" = "column"}}} {
  model.parameter @fused : tensor<4x12xf32> zeros
  // CHECK: func.func @fused_heads
  func.func @fused_heads(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {model.entry = #model.entry<train>} {
    %w = model.read @fused : tensor<4x12xf32>
    // CHECK: model.matmul %{{[^ ]*}}, %{{[^ ]*}} {model.phase = #model.phase<forward>} : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
    %0 = model.matmul %x, %w {model.phase = #model.phase<forward>} : (tensor<2x4xf32>, tensor<4x12xf32>) -> tensor<2x12xf32>
    // CHECK-NEXT: model.split {{.*}} : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
    %1:3 = model.split %0 {dim = 1 : i64, model.phase = #model.phase<forward>} : (tensor<2x12xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    %2 = model.reshape %1#0 {model.phase = #model.phase<forward>} : (tensor<2x4xf32>) -> tensor<2x2x2xf32>
    // CHECK: model.exp {{.*}}sharding<[{}, {"tensor", chunk = 2, total = 4}]>]} : tensor<2x2xf32>
    %3 = model.exp %1#1 {model.phase = #model.phase<forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    // CHECK: model.pad
    // CHECK: model.concat {{.*}} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
    %4 = model.concat %1#0, %3, %1#2 {dim = 1 : i64, model.phase = #model.phase<backward>} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x12xf32>
    // CHECK: model.pad {{.*}} : (tensor<2x3x2x1xf32>) -> tensor<2x3x2x1xf32>
    // CHECK: model.pad {{.*}} : (tensor<4x3x2x1xf32>) -> tensor<4x3x2x1xf32>
    // CHECK: model.matmul {{.*}} : (tensor<2x6xf32>, tensor<4x6xf32>) -> tensor<2x4xf32>
    // CHECK-NEXT: spmd.all_reduce_start
    // expected-remark @below {{all_reduce over 'tensor': model.matmul}}
    %5 = model.matmul %4, %w {transpose_rhs, model.phase = #model.phase<backward>} : (tensor<2x12xf32>, tensor<4x12xf32>) -> tensor<2x4xf32>
    return %5 : tensor<2x4xf32>
  }
}

// -----

module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "column"}}} {
  model.parameter @w : tensor<4x12xf32> zeros
  func.func @two_kinds_of_heads(%x: tensor<2x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x2x6xf32>) attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w : tensor<4x12xf32>
    %0 = model.matmul %x, %w : (tensor<2x4xf32>, tensor<4x12xf32>) -> tensor<2x12xf32>
    // expected-error @below {{recipe: value of 'sharding.tensor' for parameter 'w', expected chunks of a multiple of 4 rows for 'model.reshape' but got chunks of 6 rows}}
    // expected-note @below {{its sharding rule is ([i, jk]) -> ([i, j, k]) {i=2, j=3, k=4}}}
    // expected-note @below {{use a 'mesh.tensor' that divides the heads of every reader, or a table that leaves the parameter replicated}}
    %1 = model.reshape %0 : (tensor<2x12xf32>) -> tensor<2x3x4xf32>
    %2 = model.reshape %0 : (tensor<2x12xf32>) -> tensor<2x2x6xf32>
    return %1, %2 : tensor<2x3x4xf32>, tensor<2x2x6xf32>
  }
}

// -----

module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"down" = "row", "up" = "column"}, sharding.sequence = true}} {
  model.parameter @down : tensor<8x4xf32> zeros
  model.parameter @norm : tensor<4xf32> ones
  model.parameter @up : tensor<4x8xf32> zeros
  // CHECK: func.func @sequence
  func.func @sequence(%x: tensor<2x6x8xf32>) -> tensor<2x6xf32> attributes {model.entry = #model.entry<forward>} {
    %down = model.read @down : tensor<8x4xf32>
    %norm = model.read @norm : tensor<4xf32>
    %up = model.read @up : tensor<4x8xf32>
    // CHECK: %[[P:.*]] = model.matmul {{.*}} -> tensor<2x6x4xf32>
    // CHECK-NEXT: %[[T:.*]] = spmd.reduce_scatter_start %[[P]] over ["tensor"] <sum> : tensor<2x6x4xf32> to [tensor<2x3x4xf32, #spmd.sharding<[{}, {"tensor", chunk = 3, total = 6}, {}]>>]
    // CHECK-NEXT: %[[W:.*]] = spmd.wait %[[T]]
    // CHECK-NEXT: %[[S:.*]] = model.reshape %[[W]] {{.*}} -> tensor<2x3x4xf32>
    // expected-remark @below {{reduce_scatter over 'tensor': model.matmul}}
    %0 = model.matmul %x, %down : (tensor<2x6x8xf32>, tensor<8x4xf32>) -> tensor<2x6x4xf32>
    // CHECK-NEXT: %[[N:.*]], %{{.*}} = model.rms_norm %[[S]], {{.*}} -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
    // CHECK: spmd.all_gather_start
    // CHECK: model.matmul {{.*}} : (tensor<2x6x4xf32>, tensor<4x4xf32>) -> tensor<2x6x4xf32>
    // CHECK-NEXT: model.reduce_sum
    // CHECK-NEXT: spmd.all_reduce_start
    %1:2 = model.rms_norm %0, %norm {epsilon = 1.0e-5 : f64} : (tensor<2x6x4xf32>, tensor<4xf32>) -> (tensor<2x6x4xf32>, tensor<2x6xf32>)
    // expected-remark @below {{all_gather over 'tensor': model.matmul ([i, j, l], [l, k]) -> ([i, j, k]) {i=2, j=6, k=8, l=4} reduce=sum requires the full sequence (1 time)}}
    %2 = model.matmul %1#0, %up : (tensor<2x6x4xf32>, tensor<4x8xf32>) -> tensor<2x6x8xf32>
    // expected-remark @below {{all_reduce over 'tensor': model.reduce_sum}}
    %3 = model.reduce_sum %2 {dims = array<i64: 2>} : (tensor<2x6x8xf32>) -> tensor<2x6xf32>
    return %3 : tensor<2x6xf32>
  }
}

// -----

// expected-remark @unknown {{recipe: 'sharding.sequence' has no effect where no partial value has a sequence dim}}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "row"}, sharding.sequence = true}} {
  model.parameter @w : tensor<4x5xf32> zeros
  func.func @f(%x: tensor<2x4xf32>) -> tensor<2x5xf32> attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w : tensor<4x5xf32>
    // expected-remark @below {{all_reduce over 'tensor': model.matmul}}
    %0 = model.matmul %x, %w : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}
