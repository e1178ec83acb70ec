// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4" -spmd-partition -spmd-insert-data-reshards -spmd-group-reshards -spmd-elide-reshards -spmd-accumulate-gradients -spmd-localize-update -spmd-lower-reshards -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=GATHER < %t.once
// RUN: sluice-opt %t.once -spmd-lower-reshards | diff %t.once -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 sharding.reshard_after_forward=true" -spmd-partition -spmd-insert-data-reshards -spmd-group-reshards -spmd-elide-reshards -spmd-accumulate-gradients -spmd-localize-update -spmd-lower-reshards | FileCheck %s --check-prefix=ALL
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 sharding.reshard_after_forward=false" -spmd-partition -spmd-insert-data-reshards -spmd-group-reshards -spmd-elide-reshards -spmd-accumulate-gradients -spmd-localize-update -spmd-lower-reshards | FileCheck %s --check-prefix=KEEP
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 gradient.microbatches=4" -spmd-partition="gradient.microbatches=4" -spmd-insert-data-reshards -spmd-group-reshards -spmd-elide-reshards -spmd-accumulate-gradients -spmd-localize-update -spmd-lower-reshards | FileCheck %s --check-prefix=MANY
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 sharding.strategy=no_shard" -spmd-partition -spmd-insert-data-reshards -spmd-group-reshards -spmd-elide-reshards -spmd-accumulate-gradients -spmd-localize-update -spmd-lower-reshards | FileCheck %s --check-prefix=REPLICATED
// Tests which collectives reshards of parameters and gradients become.

// By default blocks are gathered for the forward and again for the backward; the root stays gathered.
// GATHER: %[[T0:.*]] = spmd.all_gather_start %arg0 over ["shard"] unit "root" {model.phase = #model.phase<forward>} : tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>>
// GATHER-NEXT: %[[E:.*]] = spmd.wait %[[T0]] {model.phase = #model.phase<forward>} : tensor<5x6xf32>
// GATHER-NEXT: model.matmul %{{.*}}, %[[E]]
// GATHER-NEXT: spmd.all_gather_start %arg2 over ["shard"] unit "layer.0" {model.phase = #model.phase<forward>}
// GATHER-NEXT: %[[W0:.*]] = spmd.wait
// GATHER-NEXT: model.matmul %{{.*}}, %[[W0]]
// GATHER-NEXT: spmd.release %[[W0]] unit "layer.0" {model.phase = #model.phase<forward>} : tensor<6x6xf32>
// GATHER-NEXT: spmd.all_gather_start %arg4 over ["shard"] unit "layer.1" {model.phase = #model.phase<forward>}
// GATHER-NEXT: spmd.wait
// GATHER-NEXT: model.matmul
// GATHER-NEXT: spmd.release
// GATHER-NEXT: model.reduce_sum
// GATHER: spmd.all_gather_start %arg4 over ["shard"] unit "layer.1" {model.phase = #model.phase<backward>}
// GATHER-NEXT: %[[W1:.*]] = spmd.wait
// GATHER-NEXT: model.matmul %{{.*}}, %[[W1]]
// GATHER-NEXT: model.matmul
// GATHER-NEXT: spmd.release %[[W1]] unit "layer.1" {model.phase = #model.phase<backward>}
// GATHER: spmd.all_gather_start %arg2 over ["shard"] unit "layer.0" {model.phase = #model.phase<backward>}
// GATHER: spmd.release %{{.*}} unit "layer.0" {model.phase = #model.phase<backward>}
// GATHER: spmd.release %[[E]] unit "root" {model.phase = #model.phase<backward>}
// GATHER-NOT: model.read

// With all units released after the forward the root is gathered again where the backward begins.
// ALL: spmd.release {{.*}} unit "layer.1" {model.phase = #model.phase<forward>}
// ALL-NEXT: spmd.release {{.*}} unit "root" {model.phase = #model.phase<forward>}
// ALL-NEXT: model.reduce_sum
// ALL: model.constant
// ALL-NEXT: spmd.all_gather_start %arg0 over ["shard"] unit "root" {model.phase = #model.phase<backward>}
// ALL-NEXT: spmd.wait
// ALL-NEXT: spmd.all_gather_start %arg4 over ["shard"] unit "layer.1" {model.phase = #model.phase<backward>}

// With none released there is one gather for each unit.
// KEEP-COUNT-3: spmd.all_gather_start
// KEEP-NOT: spmd.all_gather_start
// KEEP-NOT: spmd.release {{.*}}model.phase = #model.phase<forward>
// KEEP: spmd.release {{.*}} unit "layer.1" {model.phase = #model.phase<backward>}
// KEEP: spmd.release {{.*}} unit "layer.0" {model.phase = #model.phase<backward>}
// KEEP: spmd.release {{.*}} unit "root" {model.phase = #model.phase<backward>}

// A unit's gradients are reduced after its release: over the shards, then over replicas.
// CHECK-NOT: spmd.accumulate
// CHECK: spmd.release {{.*}} unit "layer.1" {model.phase = #model.phase<backward>}
// CHECK-NEXT: %[[T:.*]] = spmd.reduce_scatter_start %{{.*}} over ["shard"] <mean> unit "layer.1" {model.phase = #model.phase<backward>} : tensor<6x6xf32> to [tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>]
// CHECK-NEXT: %[[S:.*]] = spmd.wait %[[T]] {chained, model.phase = #model.phase<backward>}
// CHECK-NEXT: %[[U:.*]] = spmd.all_reduce_start %[[S]] over ["replicate"] <mean> unit "layer.1" {model.phase = #model.phase<backward>}
// CHECK-NEXT: %[[G1:.*]] = spmd.wait %[[U]] {model.phase = #model.phase<backward>}
// CHECK: spmd.release {{.*}} unit "layer.0" {model.phase = #model.phase<backward>}
// CHECK-NEXT: spmd.reduce_scatter_start {{.*}} unit "layer.0"
// CHECK: spmd.release {{.*}} unit "root" {model.phase = #model.phase<backward>}
// CHECK-NEXT: spmd.reduce_scatter_start {{.*}} unit "root"
// CHECK: spmd.yield %{{.*}}, %[[G1]],
// CHECK-NOT: model.gradient
// CHECK: spmd.section "update"
// CHECK-NEXT: spmd.all_reduce_start %{{.*}}#0 over ["replicate", "shard"] <mean> {model.phase = #model.phase<update>} : tensor<f32>
// CHECK-NEXT: spmd.wait
// CHECK-NOT: model.step_mean

// Over micro-batches gradients and the loss are accumulated, and reduced in the last.
// MANY: spmd.section "microbatch" repeat 4
// MANY: %[[L:.*]] = model.reduce_sum
// MANY-NEXT: %[[LS:.*]] = spmd.accumulate %[[L]] {model.phase = #model.phase<loss>} : tensor<f32> -> tensor<f32>
// MANY: %[[D:.*]] = model.matmul {{.*}}transpose_lhs
// MANY-NEXT: %[[DS:.*]] = spmd.accumulate %[[D]] {model.phase = #model.phase<backward>} : tensor<6x6xf32> -> tensor<6x6xf32>
// MANY-NEXT: spmd.release
// MANY-NEXT: spmd.reduce_scatter_start %[[DS]] {{.*}}spmd.when = #spmd.when<last>
// MANY-NEXT: spmd.wait {{.*}}spmd.when = #spmd.when<last>
// MANY-NEXT: spmd.all_reduce_start {{.*}}spmd.when = #spmd.when<last>
// MANY-NEXT: spmd.wait {{.*}}spmd.when = #spmd.when<last>
// MANY: spmd.yield %[[LS]],
// MANY: spmd.section "update"
// MANY-NEXT: %[[LM:.*]] = model.scale %{{.*}}#0 {factor = 2.500000e-01 : f64, model.phase = #model.phase<update>}
// MANY-NEXT: spmd.all_reduce_start %[[LM]] over ["replicate", "shard"] <mean>

// Gradients of replicated parameters are all-reduced.
// REPLICATED-NOT: spmd.release
// REPLICATED-NOT: spmd.reduce_scatter_start
// REPLICATED: spmd.all_reduce_start %{{.*}} over ["replicate", "shard"] <mean> unit "layer.1" {model.phase = #model.phase<backward>} : tensor<6x6xf32>
// REPLICATED: spmd.all_reduce_start %{{.*}} over ["replicate", "shard"] <mean> unit "layer.0"
// REPLICATED: spmd.all_reduce_start %{{.*}} over ["replicate", "shard"] <mean> unit "root"
// REPLICATED: model.power_sum
// REPLICATED-NOT: spmd.all_reduce_start
