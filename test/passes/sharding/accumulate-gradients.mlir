// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 gradient.microbatches=4" -spmd-partition="gradient.microbatches=4" -spmd-insert-data-reshards -spmd-group-reshards -spmd-elide-reshards -spmd-accumulate-gradients --verify-roundtrip -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-accumulate-gradients | diff %t.once -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 gradient.microbatches=4 gradient.sync=every" -spmd-partition="gradient.microbatches=4" -spmd-insert-data-reshards -spmd-group-reshards -spmd-elide-reshards -spmd-accumulate-gradients -o %t.every
// RUN: FileCheck %s --check-prefix=EVERY < %t.every
// RUN: sluice-opt %t.every -spmd-accumulate-gradients | diff %t.every -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=2 mesh.replicate=2 gradient.microbatches=4 gradient.sync=reduce_scatter_only" -spmd-partition="gradient.microbatches=4" -spmd-insert-data-reshards -spmd-group-reshards -spmd-elide-reshards -spmd-accumulate-gradients -o %t.split
// RUN: FileCheck %s --check-prefix=SPLIT < %t.split
// RUN: sluice-opt %t.split -spmd-accumulate-gradients | diff %t.split -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 gradient.microbatches=4 gradient.sync=[false,true,false,true]" -spmd-partition="gradient.microbatches=4" -spmd-insert-data-reshards -spmd-group-reshards -spmd-elide-reshards -spmd-accumulate-gradients | FileCheck %s --check-prefix=LIST
// Tests the accumulations over micro-batches, and the micro-batches that reduce gradients.

// By default gradients and the loss are accumulated, and gradients reduced in the last micro-batch.
// CHECK: spmd.section "microbatch" repeat 4
// CHECK: %[[L:.*]] = model.reduce_sum
// CHECK-NEXT: %[[LS:.*]] = spmd.accumulate %[[L]] {model.phase = #model.phase<loss>} : tensor<f32> -> tensor<f32>
// CHECK: %[[D:.*]] = model.matmul {{.*}}transpose_lhs
// CHECK-NEXT: %[[DS:.*]] = spmd.accumulate %[[D]] {model.phase = #model.phase<backward>} : tensor<6x6xf32> -> tensor<6x6xf32>
// CHECK-NEXT: spmd.release
// CHECK-NEXT: spmd.reshard %[[DS]] {{.*}} unit "layer.1" {{.*}}spmd.when = #spmd.when<last>
// CHECK: spmd.section "update"
// CHECK-NEXT: %[[LM:.*]] = model.scale %{{.*}}#0 {factor = 2.500000e-01 : f64
// CHECK-NEXT: spmd.reshard %[[LM]]

// Gradients that every micro-batch reduces are accumulated after the reduction.
// EVERY: %[[D:.*]] = model.matmul {{.*}}transpose_lhs
// EVERY-NEXT: spmd.release
// EVERY-NEXT: %[[M:.*]] = spmd.reshard %[[D]]
// EVERY-NOT: spmd.when
// EVERY: spmd.accumulate %[[M]]

// Shards are accumulated between the reduction over shards and that over replicas.
// SPLIT: spmd.release
// SPLIT: %[[S:.*]] = spmd.reshard %{{.*}} from [#spmd.sharding<[{}, {}] partial mean over ["replicate", "shard"]>] to [#spmd.sharding<[{"shard", chunk = 3, total = 6}, {}] partial mean over ["replicate"]>] unit "layer.1"
// SPLIT-NEXT: %[[A:.*]] = spmd.accumulate %[[S]]
// SPLIT-NEXT: spmd.reshard %[[A]] from [#spmd.sharding<[{"shard", chunk = 3, total = 6}, {}] partial mean over ["replicate"]>] to [#spmd.sharding<[{"shard", chunk = 3, total = 6}, {}]>] unit "layer.1" {{.*}}spmd.when = #spmd.when<last>

// A list reduces in its micro-batches, and accumulates before and after.
// LIST: spmd.accumulate %{{.*}} {{.*}}starts = {{.*}}[0, 2]
// LIST: %[[M:.*]] = spmd.reshard %{{.*}} unit "layer.1" {{.*}}spmd.when = #spmd.when<[1, 3]>
// LIST-NEXT: spmd.accumulate %[[M]] {{.*}}spmd.when = #spmd.when<[1, 3]>
