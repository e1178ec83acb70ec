// RUN: sluice-opt %s -spmd-lower-reshards -split-input-file -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-lower-reshards -split-input-file -verify-roundtrip | diff %t.once -

// Tests the collectives of reshards along a model-parallel axis: a sum and a maximum in place, a logsumexp relative to the
// largest, a reduce_scatter; a gather in which a transpose orders the ranks' chunks and a slice removes the padding; a slice;
// an exchange of the chunks of one dim for those of another; segments.

module attributes {model.recipe = {mesh.tensor = 2 : i64}} {
  // CHECK-LABEL: func.func @reduced
  func.func @reduced(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    // CHECK-NEXT: %[[T:.*]] = spmd.all_reduce_start %arg0 over ["tensor"] <sum> {model.block = "h.0"} : tensor<4xf32>
    // CHECK-NEXT: %[[S:.*]] = spmd.wait %[[T]] {model.block = "h.0", model.ids = array<i64: 7>} : tensor<4xf32>
    %0 = spmd.reshard %x from [#spmd.sharding<[{}] partial sum over ["tensor"]>] to [#spmd.sharding<[{}]>] {model.block = "h.0", model.ids = array<i64: 7>} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: spmd.all_reduce_start %arg0 over ["tensor"] <max>
    // CHECK-NEXT: %[[M:.*]] = spmd.wait
    %1 = spmd.reshard %x from [#spmd.sharding<[{}] partial max over ["tensor"]>] to [#spmd.sharding<[{}]>] : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: spmd.all_reduce_start %arg0 over ["tensor"] <max>
    // CHECK-NEXT: %[[L:.*]] = spmd.wait
    // CHECK-NEXT: %[[D:.*]] = model.subtract %arg0, %[[L]]
    // CHECK-NEXT: %[[E:.*]] = model.exp %[[D]]
    // CHECK-NEXT: spmd.all_reduce_start %[[E]] over ["tensor"] <sum>
    // CHECK-NEXT: %[[SUM:.*]] = spmd.wait
    // CHECK-NEXT: %[[LOG:.*]] = model.log %[[SUM]]
    // CHECK-NEXT: %[[A:.*]] = model.add %[[LOG]], %[[L]]
    // CHECK-NEXT: return %[[S]], %[[M]], %[[A]]
    %2 = spmd.reshard %x from [#spmd.sharding<[{}] partial logsumexp over ["tensor"]>] to [#spmd.sharding<[{}]>] : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }

  // CHECK-LABEL: func.func @moved
  func.func @moved(%x: tensor<2x5xf32>, %part: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x5xf32>) {
    // CHECK-NEXT: %[[T:.*]] = spmd.reduce_scatter_start %arg0 over ["tensor"] <sum> : tensor<2x5xf32> to [tensor<2x3xf32, #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>>]
    // CHECK-NEXT: %[[W:.*]] = spmd.wait %[[T]]
    // CHECK-NEXT: %[[R:.*]] = model.reshape %[[W]] {{.*}} -> tensor<2x3xf32>
    %0 = spmd.reshard %x from [#spmd.sharding<[{}, {}] partial sum over ["tensor"]>] to [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>] : (tensor<2x5xf32>) -> tensor<2x3xf32>
    // CHECK-NEXT: model.reshape %arg0 : (tensor<2x5xf32>) -> tensor<2x1x5x1xf32>
    // CHECK-NEXT: spmd.all_slice {{.*}} -> tensor<2x1x3x1xf32, #spmd.sharding<[{}, {}, {"tensor", chunk = 3, total = 5}, {}]>>
    // CHECK-NEXT: %[[S:.*]] = model.reshape {{.*}} -> tensor<2x3xf32>
    %1 = spmd.reshard %x from [#spmd.sharding<[{}, {}]>] to [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>] : (tensor<2x5xf32>) -> tensor<2x3xf32>
    // CHECK-NEXT: %[[Z:.*]] = model.pad %arg1 {{.*}}spmd.local_shardings
    // CHECK-NEXT: model.reshape %[[Z]] : (tensor<2x3xf32>) -> tensor<1x2x1x3x1xf32, #spmd.sharding<[{"tensor", chunk = 1, total = 2}, {}, {}, {}, {}]>>
    // CHECK-NEXT: spmd.all_gather_start
    // CHECK-NEXT: spmd.wait {{.*}} : tensor<2x2x1x3x1xf32>
    // CHECK-NEXT: model.transpose {{.*}} -> tensor<2x1x2x3x1xf32>
    // CHECK-NEXT: model.reshape {{.*}} -> tensor<2x6x1xf32>
    // CHECK-NEXT: model.slice {{.*}} -> tensor<2x5x1xf32>
    // CHECK-NEXT: %[[G:.*]] = model.reshape {{.*}} -> tensor<2x5xf32>
    // CHECK-NEXT: return %[[R]], %[[S]], %[[G]]
    %2 = spmd.reshard %part from [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>] to [#spmd.sharding<[{}, {}]>] : (tensor<2x3xf32>) -> tensor<2x5xf32>
    return %0, %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x5xf32>
  }

  // The columns of a rank's rows become dim 0, in chunks of three of which the last is padded; the rows of the ranks follow
  // each other in the result.
  // CHECK-LABEL: func.func @exchanged
  func.func @exchanged(%rows: tensor<2x5xf32>) -> tensor<4x3xf32> {
    // CHECK-NEXT: model.reshape %arg0 : (tensor<2x5xf32>) -> tensor<2x5x1xf32>
    // CHECK-NEXT: model.pad {{.*}}high = array<i64: 0, 1, 0>{{.*}} -> tensor<2x6x1xf32>
    // CHECK-NEXT: model.reshape {{.*}} -> tensor<2x2x3x1xf32>
    // CHECK-NEXT: %[[C:.*]] = model.transpose {{.*}}permutation = array<i64: 1, 0, 2, 3>{{.*}} -> tensor<2x2x3x1xf32>
    // CHECK-NEXT: %[[T:.*]] = spmd.all_to_all_start %[[C]] over ["tensor"] : tensor<2x2x3x1xf32>
    // CHECK-NEXT: %[[W:.*]] = spmd.wait %[[T]] : tensor<2x2x3x1xf32>
    // CHECK-NEXT: model.reshape %[[W]] : (tensor<2x2x3x1xf32>) -> tensor<2x1x1x2x3xf32>
    // CHECK-NEXT: model.transpose {{.*}} -> tensor<1x1x2x2x3xf32>
    // CHECK-NEXT: %[[R:.*]] = model.reshape {{.*}} -> tensor<4x3xf32>
    // CHECK-NEXT: return %[[R]]
    %0 = spmd.reshard %rows from [#spmd.sharding<[{"tensor", chunk = 2, total = 4}, {}]>] to [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>] : (tensor<2x5xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }

  // Padding of the source is cleared before, and removed after the exchange.
  // CHECK-LABEL: func.func @exchanged_back
  func.func @exchanged_back(%columns: tensor<4x3xf32>) -> tensor<2x5xf32> {
    // CHECK-NEXT: model.pad %arg0 {{.*}}spmd.local_shardings
    // CHECK: spmd.all_to_all_start {{.*}} : tensor<2x1x2x3xf32>
    // CHECK: model.slice {{.*}} -> tensor<2x5x1xf32>
    // CHECK-NEXT: %[[R:.*]] = model.reshape {{.*}} -> tensor<2x5xf32>
    // CHECK-NEXT: return %[[R]]
    %0 = spmd.reshard %columns from [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>] to [#spmd.sharding<[{"tensor", chunk = 2, total = 4}, {}]>] : (tensor<4x3xf32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }

  // Readers of segments read the padding, so a slice of segments is padded.
  // CHECK-LABEL: func.func @segments
  func.func @segments(%x: tensor<6xf32>) -> tensor<4xf32> {
    // CHECK-NEXT: model.reshape %arg0 : (tensor<6xf32>) -> tensor<1x2x3x1xf32>
    // CHECK-NEXT: spmd.all_slice {{.*}} -> tensor<1x2x2x1xf32, #spmd.sharding<[{}, {}, {"tensor", chunk = 2, total = 3}, {}]>>
    // CHECK: model.pad
    // CHECK-NEXT: model.reshape {{.*}} -> tensor<4xf32>
    %0 = spmd.reshard %x from [#spmd.sharding<[{}]>] to [#spmd.sharding<[{"tensor", segments = 2, chunk = 2, total = 6}]>] : (tensor<6xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
