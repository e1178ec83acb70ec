// RUN: sluice-opt %s -model-show-cost | FileCheck %s
// Tests the cost of collectives: the bytes that a rank sends in a ring, padding included, and the operations of the
// reduction. A copy between memory spaces costs its bytes.

spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 4>
func.func @f(%shard: tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>, %g: tensor<7x4xf32>, %l: tensor<16xf32>) attributes {model.entry = #model.entry<train>} {
  spmd.section "main" repeat 1 {
    // CHECK: spmd.all_gather_start {{.*}}model.cost = "flops=0, bytes=64"
    %t0 = spmd.all_gather_start %shard over ["shard"] unit "root" : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
    %w = spmd.wait %t0 : tensor<7x4xf32>
    spmd.release %w unit "root" : tensor<7x4xf32>
    // CHECK: spmd.reduce_scatter_start {{.*}}model.cost = "flops=16, bytes=64"
    %t1 = spmd.reduce_scatter_start %g over ["shard"] <mean> unit "root" : tensor<7x4xf32> to [tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>]
    %r = spmd.wait %t1 : tensor<4x4xf32, #spmd.sharding<[{"shard", chunk = 4, total = 7}, {}]>>
    // CHECK: spmd.all_reduce_start {{.*}}model.cost = "flops=12, bytes=96"
    %t2 = spmd.all_reduce_start %l over ["tensor"] <sum> : tensor<16xf32>
    %s = spmd.wait %t2 : tensor<16xf32>
    // CHECK: spmd.copy_start {{.*}}model.cost = "flops=0, bytes=64"
    %t3 = spmd.copy_start %s to <host> : tensor<16xf32>
    %h = spmd.wait %t3 : tensor<16xf32>
    spmd.yield
  }
  return
}
