// RUN: sluice-opt %s -spmd-insert-reshards=axis=tensor -split-input-file -verify-diagnostics -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-insert-reshards=axis=tensor -split-input-file -verify-roundtrip | diff %t.once -

// Tests that an op that requires another sharding of an operand reads a reshard of it: one for all readers that require the
// same, another for the backward where the sequence is sharded; that a shard of a constant is computed and not sliced; that
// inputs are gathered where they have fewer elements; that a gradient still states that its operand is a partial sum.

#column = #spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>
#replicated = #spmd.sharding<[{}, {}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "column"}}} {
  model.parameter @w : tensor<4x8xf32> zeros {spmd.sharding = #column}
  // CHECK-LABEL: func.func @readers
  func.func @readers(%x: tensor<2x4xf32>, %y: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w {spmd.shardings = [#column]} : tensor<4x8xf32>
    // CHECK: %[[H:.*]] = model.matmul
    // CHECK-NEXT: %[[ALL:.*]] = spmd.reshard %[[H]] from [#spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>] to [#spmd.sharding<[{}, {}]>]
    %0 = model.matmul %x, %w {spmd.shardings = [#column]} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    // CHECK-NEXT: %[[S:.*]] = model.softmax %[[ALL]] : tensor<2x8xf32>
    // expected-remark @below {{all_gather over 'tensor': model.softmax ([i, j]) -> ([i, j]) {i=2, j=8 replicated} cannot be sharded along this dim (1 time)}}
    %1 = model.softmax %0 {spmd.operand_shardings = [#replicated]} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    // CHECK: model.constant {{.*}} {spmd.shardings = [#spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>]}
    %two = model.constant 2.0 : tensor<2x8xf32>
    // CHECK-NEXT: model.multiply %[[H]], %{{.*}} {spmd.shardings = {{.*}}} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %2 = model.multiply %0, %two {spmd.operand_shardings = [#column, #column], spmd.shardings = [#column]} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    // CHECK-NEXT: %[[MINE:.*]] = spmd.reshard %{{.*}} from [#spmd.sharding<[{}, {}]>] to [#spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>]
    // CHECK-NEXT: model.add %{{.*}}, %[[MINE]]
    %3 = model.add %2, %y {spmd.operand_shardings = [#column, #column], spmd.shardings = [#column]} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    // CHECK: model.add %[[S]], %[[ALL]]
    %4 = model.add %1, %0 {spmd.operand_shardings = [#replicated, #replicated]} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    return %4 : tensor<2x8xf32>
  }
}

// -----

#column = #spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>
#row = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "column"}}} {
  model.parameter @w : tensor<4x8xf32> zeros {spmd.sharding = #column}
  // Two readers of the same shards along another dim read one exchange.
  // CHECK-LABEL: func.func @exchanged
  func.func @exchanged(%x: tensor<8x4xf32>) -> tensor<8x8xf32> attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w {spmd.shardings = [#column]} : tensor<4x8xf32>
    %0 = model.matmul %x, %w {spmd.shardings = [#column]} : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    // CHECK: %[[T:.*]] = model.transpose
    // CHECK-NEXT: %[[E:.*]] = spmd.reshard %[[T]] from [#spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>] to [#spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>]
    %1 = model.transpose %0 {permutation = array<i64: 1, 0>, spmd.shardings = [#row]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: %[[A:.*]] = model.add %{{.*}}, %[[E]]
    // expected-remark @below {{all_to_all over 'tensor': model.add ([i, j], [i, j]) -> ([i, j]) {i=8, j=8} is sharded along another dim (1 time)}}
    %2 = model.add %0, %1 {spmd.operand_shardings = [#column, #column], spmd.shardings = [#column]} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: model.multiply %[[A]], %[[E]]
    %3 = model.multiply %2, %1 {spmd.operand_shardings = [#column, #column], spmd.shardings = [#column]} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    // expected-remark @below {{all_gather over 'tensor': func.return}}
    return {spmd.operand_shardings = [#spmd.sharding<[{}, {}]>]} %3 : tensor<8x8xf32>
  }
}

// -----

#rows = #spmd.sharding<[{}, {"tensor", chunk = 3, total = 6}p1, {}]>
#partial = #spmd.sharding<[{}, {}, {}] partial sum over ["tensor"]>
#replicated = #spmd.sharding<[{}, {}, {}]>
#row = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>
#flat = #spmd.sharding<[{}, {}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "row"}, sharding.sequence = true}} {
  model.parameter @w : tensor<8x4xf32> zeros {spmd.sharding = #row}
  model.parameter @b : tensor<4xf32> zeros
  // CHECK-LABEL: func.func @again
  func.func @again(%x: tensor<2x6x4xf32>, %d: tensor<6x6xf32>) attributes {model.entry = #model.entry<train>} {
    // CHECK: %[[PART:.*]] = spmd.reshard
    %0 = spmd.reshard %x from [#partial] to [#rows] : (tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    // CHECK-NEXT: %[[FIRST:.*]] = spmd.reshard %[[PART]]
    // CHECK-NEXT: model.reshape %[[FIRST]] {model.phase = #model.phase<forward>}
    // expected-remark @below {{all_gather over 'tensor': model.reshape}}
    %1 = model.reshape %0 {spmd.operand_shardings = [#replicated], model.phase = #model.phase<forward>} : (tensor<2x6x4xf32>) -> tensor<12x4xf32>
    // CHECK-NEXT: %[[SECOND:.*]] = spmd.reshard %[[PART]] {{.*}}model.phase = #model.phase<backward>
    // CHECK-NEXT: model.reshape %[[SECOND]] {model.phase = #model.phase<backward>}
    %2 = model.reshape %0 {spmd.operand_shardings = [#replicated], model.phase = #model.phase<backward>} : (tensor<2x6x4xf32>) -> tensor<12x4xf32>
    // CHECK: model.gradient @b, %{{.*}} {model.phase = #model.phase<backward>, spmd.operand_shardings = [#spmd.sharding<[{}] partial sum over ["tensor"]>]}
    %3 = model.reduce_sum %2 {dims = array<i64: 0>, model.phase = #model.phase<backward>, spmd.shardings = [#spmd.sharding<[{}] partial sum over ["tensor"]>]} : (tensor<12x4xf32>) -> tensor<4xf32>
    %4 = model.gradient @b, %3 {model.phase = #model.phase<backward>, spmd.operand_shardings = [#spmd.sharding<[{}] partial sum over ["tensor"]>]} : tensor<4xf32>
    return
  }

  // A broadcast of rows has more elements than they have.
  // CHECK-LABEL: func.func @inputs
  func.func @inputs(%x: tensor<2x6x4xf32>) -> tensor<3x2x6x4xf32> attributes {model.entry = #model.entry<forward>} {
    // CHECK: %[[PART:.*]] = spmd.reshard
    %0 = spmd.reshard %x from [#partial] to [#rows] : (tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    // CHECK: %[[ALL:.*]] = spmd.reshard %[[PART]]
    // CHECK: %[[WIDE:.*]] = model.broadcast %[[ALL]]
    // CHECK: return %[[WIDE]]
    // expected-remark @below {{all_gather over 'tensor': model.broadcast}}
    %1 = model.broadcast %0 {spmd.shardings = [#spmd.sharding<[{}, {}, {"tensor", chunk = 3, total = 6}p1, {}]>]} : (tensor<2x6x4xf32>) -> tensor<3x2x6x4xf32>
    return {spmd.operand_shardings = [#spmd.sharding<[{}, {}, {}, {}]>]} %1 : tensor<3x2x6x4xf32>
  }
}
