// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s -mlir-print-op-generic | sluice-opt | FileCheck %s
// Tests that every op of the dialect prints as it is read.

!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>

// CHECK: spmd.mesh @mesh <replicate = 2, shard = 3, "odd name"(tensor) = 1>
spmd.mesh @mesh <replicate = 2, shard = 3, "odd name"(tensor) = 1>
// CHECK: spmd.unit @root []
spmd.unit @root []
// CHECK: spmd.unit @top (root) []
module {
  spmd.unit @top(root) []
}
// CHECK: spmd.unit @h.0 [@h.0.w] {reshard_after_forward}
spmd.unit @h.0 [@h.0.w] {reshard_after_forward}

// CHECK-LABEL: func.func @step
func.func @step(%w: !shard, %x: tensor<6x4xf32>, %ids: tensor<12xi32>) -> !shard {
  // CHECK: %[[R:.*]] = spmd.section "microbatch" repeat 2 -> tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>> {
  %r = spmd.section "microbatch" repeat 2 -> !shard {
    // CHECK: %[[T:.*]] = spmd.all_gather_start %{{.*}} over ["shard"] unit "h.0" {model.phase = #model.phase<forward>} : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
    %t = spmd.all_gather_start %w over ["shard"] unit "h.0" {model.phase = #model.phase<forward>} : !shard
    // CHECK: %[[W:.*]] = spmd.wait %[[T]] : tensor<6x4xf32>
    %whole = spmd.wait %t : tensor<6x4xf32>
    // CHECK: spmd.release %[[W]] unit "h.0" : tensor<6x4xf32>
    spmd.release %whole unit "h.0" : tensor<6x4xf32>
    // CHECK: %[[S:.*]] = spmd.accumulate %{{.*}} : tensor<6x4xf32> -> tensor<6x4xf32>
    %sum = spmd.accumulate %x : tensor<6x4xf32> -> tensor<6x4xf32>
    // CHECK: spmd.reduce_scatter_start %[[S]] over ["shard"] <mean> unit "h.0" {spmd.when = #spmd.when<last>} : tensor<6x4xf32> to [tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>]
    %u = spmd.reduce_scatter_start %sum over ["shard"] <mean> unit "h.0" {spmd.when = #spmd.when<last>} : tensor<6x4xf32> to [!shard]
    // CHECK: spmd.wait %{{.*}} {chained, spmd.when = #spmd.when<last>} : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
    %part = spmd.wait %u {chained, spmd.when = #spmd.when<last>} : !shard
    // CHECK: spmd.all_reduce_start %{{.*}} over ["replicate"] <premul_sum> unit "h.0" {scale = 5.000000e-01 : f64, spmd.when = #spmd.when<last>} : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
    %v = spmd.all_reduce_start %part over ["replicate"] <premul_sum> unit "h.0" {scale = 0.5 : f64, spmd.when = #spmd.when<last>} : !shard
    %mean = spmd.wait %v {spmd.when = #spmd.when<last>} : !shard
    // CHECK: spmd.all_to_all_start %{{.*}}, %{{.*}} over ["replicate", "shard"] : tensor<6x4xf32>, tensor<12xi32>
    %e = spmd.all_to_all_start %x, %ids over ["replicate", "shard"] : tensor<6x4xf32>, tensor<12xi32>
    // CHECK: spmd.wait %{{.*}} : tensor<6x4xf32>, tensor<12xi32>
    %f:2 = spmd.wait %e : tensor<6x4xf32>, tensor<12xi32>
    // CHECK: spmd.yield %{{.*}} : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
    spmd.yield %mean : !shard
  }
  // CHECK: spmd.section "copies" (update) repeat 1 {
  spmd.section "copies"(update) repeat 1 {
    // CHECK: %[[C:.*]] = spmd.copy_start %{{.*}} to <host> unit "h.0" : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
    %c = spmd.copy_start %w to <host> unit "h.0" : !shard
    // CHECK: spmd.wait %[[C]] : tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
    %host = spmd.wait %c : !shard
  }
  // CHECK: spmd.section "empty" repeat 1 {
  spmd.section "empty" repeat 1 {
  }
  return %r : !shard
}

// CHECK-LABEL: func.func @reshards
func.func @reshards(%a: !shard, %x: tensor<6x4xf32>) {
  // CHECK: spmd.reshard %{{.*}}, %{{.*}} from [#spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>, #spmd.sharding<[{}, {}] partial mean over ["replicate", "shard"], sum over ["odd name"]>]
  // CHECK-SAME: to [#spmd.sharding<[{}, {}]>, #spmd.sharding<[{"shard", segments = 2, chunk = 1, total = 6}, {"replicate", chunk = 2, total = 4}p1]>] unit "h.0" {model.phase = #model.phase<forward>}
  // CHECK-SAME: : (tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  %0:2 = spmd.reshard %a, %x
    from [#spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>, #spmd.sharding<[{}, {}] partial mean over ["replicate", "shard"], sum over ["odd name"]>]
    to [#spmd.sharding<[{}, {}]>, #spmd.sharding<[{"shard", segments = 2, chunk = 1, total = 6}, {"replicate", chunk = 2, total = 4}p1]>]
    unit "h.0" {model.phase = #model.phase<forward>} : (!shard, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  return
}
// CHECK: func.func private @shardings(tensor<f32> {spmd.sharding = #spmd.sharding<[] partial max over ["shard"]>})
func.func private @shardings(tensor<f32> {spmd.sharding = #spmd.sharding<[] partial max over ["shard"]>})
// CHECK: #spmd.sharding<[{"shard", "replicate", chunk = 2, total = 6}]>
func.func private @axes(tensor<2xf32, #spmd.sharding<[{"shard", "replicate", segments = 1, chunk = 2, total = 6}]>>)
