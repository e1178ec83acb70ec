// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4" -spmd-partition -spmd-insert-gathers -o %t.default
// RUN: FileCheck %s < %t.default
// RUN: sluice-opt %t.default -spmd-insert-gathers | diff %t.default -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 sharding.reshard_after_forward=true" -spmd-partition -spmd-insert-gathers | FileCheck %s --check-prefix=ALL
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 sharding.reshard_after_forward=false" -spmd-partition -spmd-insert-gathers | FileCheck %s --check-prefix=KEEP
// Tests where units are gathered and released.

// By default blocks are gathered for the forward and again for the backward; the root stays gathered.
// CHECK: %[[T0:.*]] = spmd.all_gather_start %arg0 over ["shard"] unit "root" {model.phase = #model.phase<forward>} : tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>>
// CHECK-NEXT: %[[E:.*]] = spmd.wait %[[T0]] {model.phase = #model.phase<forward>} : tensor<5x6xf32>
// CHECK-NEXT: model.matmul %{{.*}}, %[[E]]
// CHECK-NEXT: spmd.all_gather_start %arg2 over ["shard"] unit "layer.0" {model.phase = #model.phase<forward>}
// CHECK-NEXT: %[[W0:.*]] = spmd.wait
// CHECK-NEXT: model.matmul %{{.*}}, %[[W0]]
// CHECK-NEXT: spmd.release %[[W0]] unit "layer.0" {model.phase = #model.phase<forward>} : tensor<6x6xf32>
// CHECK-NEXT: spmd.all_gather_start %arg4 over ["shard"] unit "layer.1" {model.phase = #model.phase<forward>}
// CHECK-NEXT: spmd.wait
// CHECK-NEXT: model.matmul
// CHECK-NEXT: spmd.release
// CHECK-NEXT: model.reduce_sum
// CHECK: spmd.all_gather_start %arg4 over ["shard"] unit "layer.1" {model.phase = #model.phase<backward>}
// CHECK-NEXT: %[[W1:.*]] = spmd.wait
// CHECK-NEXT: model.matmul %{{.*}}, %[[W1]]
// CHECK-NEXT: model.matmul
// CHECK-NEXT: model.gradient @layer.1.w
// CHECK-NEXT: spmd.release %[[W1]] unit "layer.1" {model.phase = #model.phase<backward>}
// CHECK: spmd.all_gather_start %arg2 over ["shard"] unit "layer.0" {model.phase = #model.phase<backward>}
// CHECK: spmd.release %{{.*}} unit "layer.0" {model.phase = #model.phase<backward>}
// CHECK: model.gradient @embed
// CHECK: spmd.release %[[E]] unit "root" {model.phase = #model.phase<backward>}
// CHECK-NEXT: spmd.yield
// CHECK-NOT: model.read

// With all units released behind the forward the root is gathered again where the backward begins.
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
