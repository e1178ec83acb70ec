// RUN: sluice-opt %s -spmd-fold-unit-axes -split-input-file | FileCheck %s
// RUN: sluice-opt %s -spmd-fold-unit-axes -split-input-file | sluice-opt -spmd-fold-unit-axes -split-input-file | FileCheck %s

// Tests that on one rank no collective remains: a gather and a reduction are replaced by their operands, and no value is released.
spmd.mesh @mesh <replicate = 1, shard = 1>
// CHECK-LABEL: func.func @alone
// CHECK-SAME: (%[[W:.*]]: tensor<6x4xf32>, %[[G:.*]]: tensor<6x4xf32>)
func.func @alone(%w: tensor<6x4xf32>, %g: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  // CHECK-NEXT: %[[R:.*]]:2 = spmd.section
  %r:2 = spmd.section "s" repeat 1 -> tensor<6x4xf32>, tensor<6x4xf32> {
    %t = spmd.all_gather_start %w over ["shard"] unit "h.0" : tensor<6x4xf32>
    %0 = spmd.wait %t : tensor<6x4xf32>
    // CHECK-NEXT: %[[Y:.*]] = model.relu %[[W]]
    %y = model.relu %0 : (tensor<6x4xf32>) -> tensor<6x4xf32>
    spmd.release %0 unit "h.0" : tensor<6x4xf32>
    %u = spmd.reduce_scatter_start %g over ["shard"] <mean> unit "h.0" : tensor<6x4xf32> to [tensor<6x4xf32>]
    %1 = spmd.wait %u {chained} : tensor<6x4xf32>
    %v = spmd.all_reduce_start %1 over ["replicate"] <mean> unit "h.0" : tensor<6x4xf32>
    %2 = spmd.wait %v : tensor<6x4xf32>
    // CHECK-NEXT: spmd.yield %[[Y]], %[[G]]
    spmd.yield %y, %2 : tensor<6x4xf32>, tensor<6x4xf32>
  }
  return %r#0, %r#1 : tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 1, shard = 3>
// CHECK-LABEL: func.func @shards
func.func @shards(%g: tensor<6x4xf32>, %x: tensor<f32>) -> (!shard, tensor<f32>) {
  %r:2 = spmd.section "s" repeat 1 -> !shard, tensor<f32> {
    // Tests that a chain loses its second collective, and that compute waits for the first then.
    // CHECK: %[[T:.*]] = spmd.reduce_scatter_start
    // CHECK-NEXT: %[[S:.*]] = spmd.wait %[[T]] : tensor<2x4xf32
    %t = spmd.reduce_scatter_start %g over ["shard"] <mean> : tensor<6x4xf32> to [!shard]
    %0 = spmd.wait %t {chained} : !shard
    %u = spmd.all_reduce_start %0 over ["replicate"] <mean> : !shard
    %1 = spmd.wait %u : !shard
    // Tests that axes of one rank are dropped from groups.
    // CHECK-NEXT: spmd.all_reduce_start %{{.*}} over ["shard"] <mean>
    %v = spmd.all_reduce_start %x over ["replicate", "shard"] <mean> : tensor<f32>
    %2 = spmd.wait %v : tensor<f32>
    // CHECK: spmd.yield %[[S]]
    spmd.yield %1, %2 : !shard, tensor<f32>
  }
  return %r#0, %r#1 : !shard, tensor<f32>
}

// -----

// Tests that a chain over axes of several ranks stays.
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
// CHECK-LABEL: func.func @hybrid
func.func @hybrid(%g: tensor<6x4xf32>) -> !shard {
  %r = spmd.section "s" repeat 1 -> !shard {
    // CHECK: spmd.reduce_scatter_start %{{.*}} over ["shard"]
    // CHECK-NEXT: spmd.wait %{{.*}} {chained}
    // CHECK-NEXT: spmd.all_reduce_start %{{.*}} over ["replicate"]
    // CHECK-NEXT: spmd.wait
    // CHECK-NEXT: spmd.yield
    %t = spmd.reduce_scatter_start %g over ["shard"] <mean> : tensor<6x4xf32> to [!shard]
    %0 = spmd.wait %t {chained} : !shard
    %u = spmd.all_reduce_start %0 over ["replicate"] <mean> : !shard
    %1 = spmd.wait %u : !shard
    spmd.yield %1 : !shard
  }
  return %r : !shard
}

// -----

// Tests that a chain ends where the next collective is on another stream.
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 1, shard = 3, tensor = 2>
// CHECK-LABEL: func.func @terms
func.func @terms(%g: tensor<6x4xf32>) -> !shard {
  %r = spmd.section "s" repeat 1 -> !shard {
    // CHECK: spmd.reduce_scatter_start %{{.*}} over ["shard"]
    // CHECK-NEXT: %[[S:.*]] = spmd.wait %{{[a-z0-9_]*}} : tensor<2x4xf32
    // CHECK-NEXT: spmd.all_reduce_start %[[S]] over ["tensor"]
    %t = spmd.reduce_scatter_start %g over ["shard"] <mean> : tensor<6x4xf32> to [!shard]
    %0 = spmd.wait %t {chained} : !shard
    %u = spmd.all_reduce_start %0 over ["replicate"] <mean> : !shard
    %1 = spmd.wait %u : !shard
    %v = spmd.all_reduce_start %1 over ["tensor"] <sum> : !shard
    %2 = spmd.wait %v : !shard
    spmd.yield %2 : !shard
  }
  return %r : !shard
}
