// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests each constraint of shardings and of spmd.reshard.

// dim_sharding_c1
// expected-error @below {{axis "shard" occurs twice in a sharding}}
func.func @f(%x: tensor<2xf32, #spmd.sharding<[{"shard", "shard", chunk = 2, total = 4}]>>)

// -----

// dim_sharding_c2
// expected-error @below {{a sharded dim requires positive segments, chunk and total, and segments that divide the total, but got segments = 1, chunk = 2, total = 0}}
func.func @f(%x: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 0}]>>)

// -----

// dim_sharding_c2
// expected-error @below {{but got segments = 3, chunk = 1, total = 4}}
func.func @f(%x: tensor<3xf32, #spmd.sharding<[{"shard", segments = 3, chunk = 1, total = 4}]>>)

// -----

// dim_sharding_c3
// expected-error @below {{a dim without axes has segments, a chunk, a total or a priority}}
func.func @f(%x: tensor<2xf32, #spmd.sharding<[{chunk = 2}]>>)

// -----

// expected-error @below {{expected a priority such as p1 after a dim}}
func.func @f(%x: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}first]>>)

// -----

// sharding_c1
// expected-error @below {{axis "shard" occurs twice in a sharding}}
func.func @f(%x: tensor<2x2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}, {"shard", chunk = 2, total = 4}]>>)

// -----

// sharding_c1
// expected-error @below {{axis "shard" occurs twice in a sharding}}
func.func @f(%x: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}] partial sum over ["shard"]>>)

// -----

// expected-error @below {{a partial result requires axes}}
func.func @f(%x: tensor<2xf32, #spmd.sharding<[{}] partial sum over []>>)

// -----

// sharding_c2
// expected-error @below {{expected a reduction: sum, max, logsumexp or mean}}
func.func @f(%x: tensor<2xf32, #spmd.sharding<[{}] partial product over ["shard"]>>)

// -----

// sharding_c3
// expected-error @below {{sharding of a tensor of rank 2 has 1 dims}}
func.func @f(%x: tensor<2x2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>)

// -----

// sharding_c3
// expected-error @below {{extent of sharded dim 0, expected 2 but got 3}}
func.func @f(%x: tensor<3xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>)

// -----

// reshard_c1
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{requires a result, a source and a destination for each operand, but got 1 operands, 1 results, 1 sources and 0 destinations}}
  %0 = spmd.reshard %x from [#spmd.sharding<[{}]>] to [] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// reshard_c2
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{global type of a result, expected 'tensor<4xf32>' but got 'tensor<5xf32>'}}
  %0 = spmd.reshard %x from [#spmd.sharding<[{}]>] to [#spmd.sharding<[{}]>] : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// reshard_c3
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{does not fit type 'tensor<4xf32>'}}
  %0 = spmd.reshard %x from [#spmd.sharding<[{}]>] to [#spmd.sharding<[{"shard", chunk = 2, total = 3}]>] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// reshard_c3
func.func @f(%x: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) {
  // expected-error @below {{does not fit type}}
  %0 = spmd.reshard %x from [#spmd.sharding<[{}]>] to [#spmd.sharding<[{}]>] : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<4xf32>
  return
}

// -----

// reshard_c4
// expected-note @below {{the mesh is here}}
spmd.mesh @mesh <shard = 2>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{axis "tensor" is not an axis of the mesh}}
  %0 = spmd.reshard %x from [#spmd.sharding<[{}]>] to [#spmd.sharding<[{"tensor", chunk = 2, total = 4}]>] : (tensor<4xf32>) -> tensor<4xf32>
  return
}
