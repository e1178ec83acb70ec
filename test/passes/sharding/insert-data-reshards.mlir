// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4" -spmd-partition -spmd-insert-data-reshards --verify-roundtrip -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-insert-data-reshards | diff %t.once -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 sharding.dim=flat" -spmd-partition -spmd-insert-data-reshards | FileCheck %s --check-prefix=FLAT
// Tests the reshards of reads, gradients and means.

// A read becomes a reshard of the argument to replicated, for the readers in the forward and the backward.
// CHECK: spmd.section "microbatch"
// CHECK: %[[W:.*]] = spmd.reshard %arg2 from [#spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>] to [#spmd.sharding<[{}, {}]>] unit "layer.0" {{.*}}spmd.parameter = @layer.0.w} : (tensor<6x6xf32>) -> tensor<6x6xf32>
// CHECK-NEXT: model.matmul %{{.*}}, %[[W]]
// CHECK: model.matmul %{{.*}}, %[[W]] {{.*}}transpose_rhs
// A gradient is partial over the ranks of data, and its mean sharded as the parameter.
// CHECK: %[[D:.*]] = model.matmul {{.*}}transpose_lhs
// CHECK-NEXT: spmd.reshard %[[D]] from [#spmd.sharding<[{}, {}] partial mean over ["replicate", "shard"]>] to [#spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>] unit "layer.0"
// CHECK: spmd.section "update"
// CHECK-NEXT: spmd.reshard %{{.*}}#0 from [#spmd.sharding<[] partial mean over ["replicate", "shard"]>] to [#spmd.sharding<[]>] {{.*}} : (tensor<f32>) -> tensor<f32>
// CHECK-NOT: model.read
// CHECK-NOT: model.gradient
// CHECK-NOT: model.step_mean

// A shard by elements is one of the flattened tensor.
// FLAT: spmd.reshard %arg2 from [#spmd.sharding<[{"shard", chunk = 9, total = 36}]>] to [#spmd.sharding<[{}]>] unit "layer.0" {{.*}} : (tensor<6x6xf32>) -> tensor<6x6xf32>
