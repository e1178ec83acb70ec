// RUN: sluice-opt %s -spmd-propagate-shardings=axis=tensor -split-input-file -verify-diagnostics -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-propagate-shardings=axis=tensor -split-input-file | diff %t.once -
// RUN: sluice-opt %t.once -split-input-file -verify-roundtrip -o /dev/null

// Tests that shardings of parameters propagate through ops by their rules and that types stay global; that a partial result
// is completed directly after its op, except for a linear reader and a gradient that its unit reduces; that a sharding of a
// parameter wins over one of the sequence; that an op that cannot be sharded is replaced by its shardable form.

#column = #spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>
#row = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"up" = "column", "down" = "row"}}} {
  model.parameter @up : tensor<4x8xf32> zeros {spmd.sharding = #column}
  model.parameter @down : tensor<8x4xf32> zeros {spmd.sharding = #row}
  // CHECK-LABEL: func.func @column_and_row
  func.func @column_and_row(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {model.entry = #model.entry<forward>} {
    // CHECK-NEXT: %[[UP:.*]] = model.read @up {spmd.shardings = [#spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>]} : tensor<4x8xf32>
    %up = model.read @up : tensor<4x8xf32>
    %down = model.read @down : tensor<8x4xf32>
    // CHECK: %[[H:.*]] = model.matmul %{{.*}}, %[[UP]] {spmd.shardings = [#spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>]} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    %0 = model.matmul %x, %up : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    // CHECK-NEXT: %[[P:.*]] = model.matmul %[[H]], %{{.*}} {spmd.shardings = [#spmd.sharding<[{}, {}] partial sum over ["tensor"]>]}
    // CHECK-NEXT: %[[S:.*]] = spmd.reshard %[[P]] from [#spmd.sharding<[{}, {}] partial sum over ["tensor"]>] to [#spmd.sharding<[{}, {}]>]
    // CHECK-NEXT: model.relu %[[S]] : tensor<2x4xf32>
    // expected-remark @below {{all_reduce over 'tensor': model.matmul ([i, k], [k, j]) -> ([i, j]) {i=2, j=4, k=8} reduce=sum has a partial result (1 time)}}
    %1 = model.matmul %0, %down : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %2 = model.relu %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %2 : tensor<2x4xf32>
  }

  // A sum of two partial sums is partial. A reader that cannot be sharded along a dim states that it requires a replicated operand.
  // CHECK-LABEL: func.func @linear
  func.func @linear(%x: tensor<2x8xf32>) -> tensor<2x4xf32> attributes {model.entry = #model.entry<forward>} {
    %down = model.read @down : tensor<8x4xf32>
    // CHECK: model.matmul %{{.*}} {spmd.operand_shardings = [#spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>, #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>], spmd.shardings = {{.*}}partial
    %0 = model.matmul %x, %down : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    // CHECK-NEXT: model.add {{.*}}spmd.shardings = [#spmd.sharding<[{}, {}] partial sum over ["tensor"]>]
    // CHECK-NEXT: spmd.reshard
    // expected-remark @below {{all_reduce over 'tensor'}}
    %1 = model.add %0, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = model.relu %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    // CHECK: model.softmax {{.*}}spmd.operand_shardings = [#spmd.sharding<[{}, {}]>]
    %3 = model.transpose %down {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %4 = model.softmax %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %2 : tensor<2x4xf32>
  }
}

// -----

// The sequence has priority 1: a product with a sharded parameter requires the full sequence.

#column = #spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>
#row = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"up" = "column", "down" = "row"}, sharding.sequence = true}} {
  model.parameter @up : tensor<4x8xf32> zeros {spmd.sharding = #column}
  model.parameter @down : tensor<8x4xf32> zeros {spmd.sharding = #row}
  // CHECK-LABEL: func.func @sequence
  func.func @sequence(%x: tensor<2x6x8xf32>) -> tensor<2x6x8xf32> attributes {model.entry = #model.entry<forward>} {
    %up = model.read @up : tensor<4x8xf32>
    %down = model.read @down : tensor<8x4xf32>
    // CHECK: spmd.reshard %{{.*}} from [#spmd.sharding<[{}, {}, {}] partial sum over ["tensor"]>] to [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 6}p1, {}]>]
    // expected-remark @below {{reduce_scatter over 'tensor': model.matmul ([i, j, l], [l, k]) -> ([i, j, k]) {i=2, j=6, k=4, l=8} reduce=sum has a partial result, and the next ops are sharded along the sequence (1 time)}}
    %0 = model.matmul %x, %down : (tensor<2x6x8xf32>, tensor<8x4xf32>) -> tensor<2x6x4xf32>
    // CHECK-NEXT: model.relu {{.*}}spmd.shardings = [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 6}p1, {}]>]
    %1 = model.relu %0 : (tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    // CHECK-NEXT: model.matmul {{.*}}spmd.operand_shardings = [#spmd.sharding<[{}, {}, {}]>, #spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>], spmd.shardings = [#spmd.sharding<[{}, {}, {"tensor", chunk = 4, total = 8}]>]
    %2 = model.matmul %1, %up : (tensor<2x6x4xf32>, tensor<4x8xf32>) -> tensor<2x6x8xf32>
    // CHECK-NEXT: return {spmd.operand_shardings = [#spmd.sharding<[{}, {}, {}]>]}
    return %2 : tensor<2x6x8xf32>
  }
}

// -----

// A loss over a sharded vocabulary: log-sum-exp and the targets' logits, each completed by its reduction.

#column = #spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"head" = "column"}}} {
  model.parameter @head : tensor<4x8xf32> zeros {spmd.sharding = #column}
  // CHECK-LABEL: func.func @loss
  func.func @loss(%x: tensor<2x4xf32>, %t: tensor<2xi32>) -> tensor<f32> attributes {model.entry = #model.entry<forward>} {
    %head = model.read @head : tensor<4x8xf32>
    %0 = model.matmul %x, %head : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    // CHECK-NOT: model.cross_entropy
    // CHECK: partial logsumexp over ["tensor"]
    // CHECK: spmd.reshard %{{.*}} from [#spmd.sharding<[{}] partial logsumexp over ["tensor"]>] to [#spmd.sharding<[{}]>]
    // expected-remark @below {{all_reduce over 'tensor': model.logsumexp}}
    // expected-remark @below {{all_reduce over 'tensor'}}
    %loss, %lse = model.cross_entropy %0, %t {reduction = #model.reduction<mean>} : (tensor<2x8xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    return %loss : tensor<f32>
  }
}

// -----

// The gradient of a sharded parameter is sharded as it is. That of a replicated one is partial: its unit's reduction
// completes it, and `model.gradient` states it.

#row = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"down" = "row"}}} {
  model.parameter @down : tensor<8x4xf32> zeros {spmd.sharding = #row}
  model.parameter @bias : tensor<4xf32> zeros
  // CHECK-LABEL: func.func @gradients
  func.func @gradients(%x: tensor<2x8xf32>, %dy: tensor<2x4xf32>) attributes {model.entry = #model.entry<train>} {
    %down = model.read @down : tensor<8x4xf32>
    // CHECK: model.matmul {{.*}}spmd.operand_shardings = [#spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>, #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>]
    %0 = model.matmul %x, %down {model.phase = #model.phase<backward>} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    // CHECK-NEXT: model.reduce_sum {{.*}}partial sum over ["tensor"]
    %1 = model.reduce_sum %0 {dims = array<i64: 0>, model.phase = #model.phase<backward>} : (tensor<2x4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: model.gradient @bias, %{{.*}} {model.phase = #model.phase<backward>, spmd.operand_shardings = [#spmd.sharding<[{}] partial sum over ["tensor"]>]}
    %2 = model.gradient @bias, %1 {model.phase = #model.phase<backward>} : tensor<4xf32>
    %3 = model.matmul %x, %dy {transpose_lhs, model.phase = #model.phase<backward>} : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    // CHECK: model.gradient @down, %{{.*}} {model.phase = #model.phase<backward>, spmd.operand_shardings = [#spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>], spmd.shardings = [#spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>]}
    %4 = model.gradient @down, %3 {model.phase = #model.phase<backward>} : tensor<8x4xf32>
    return
  }
}

// -----

// The norm of a sharded and a replicated gradient: the term of the replicated one is added once, and only the sum has the
// value number of the norm.

#row = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"down" = "row"}}} {
  model.parameter @down : tensor<8x4xf32> zeros {spmd.sharding = #row}
  // CHECK-LABEL: func.func @norm
  func.func @norm(%x: tensor<4xf32>) -> tensor<f32> attributes {model.entry = #model.entry<train>} {
    %down = model.read @down {model.phase = #model.phase<update>} : tensor<8x4xf32>
    // CHECK: %[[T:.*]] = model.power_sum %arg0 {model.phase = #model.phase<update>, p = 2.000000e+00 : f64}
    // CHECK-NEXT: %[[P:.*]] = model.power_sum %{{.*}}partial sum over ["tensor"]
    // CHECK-NEXT: %[[S:.*]] = spmd.reshard %[[P]] {{.*}} {model.phase = #model.phase<update>}
    // CHECK-NEXT: model.add %[[S]], %[[T]] {model.ids = array<i64: 7>, model.phase = #model.phase<update>}
    // expected-remark @below {{all_reduce over 'tensor': model.power_sum}}
    %0 = model.power_sum %down, %x {p = 2.0, model.ids = array<i64: 7>, model.phase = #model.phase<update>} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
