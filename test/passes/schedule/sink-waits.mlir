// RUN: sluice-opt %S/../sharding/Inputs/three-layers.mlir -sluice-partition="set=mesh.shard=4,mesh.replicate=2" -spmd-sink-waits -o %t.once
// RUN: grep -E 'reduce_|spmd.wait|spmd.yield' %t.once | FileCheck %s
// RUN: sluice-opt %t.once -spmd-sink-waits | diff %t.once -
// RUN: sluice-opt %S/../sharding/Inputs/three-layers.mlir -sluice-partition="set=mesh.shard=4" -spmd-sink-waits="schedule.reduce_buffers=2" | grep -E 'reduce_scatter|spmd.wait.*x6xf32, |spmd.yield' | FileCheck %s --check-prefix=TWO
// RUN: sluice-opt %S/../sharding/Inputs/three-layers.mlir -sluice-partition="set=mesh.shard=4,gradient.microbatches=2" -spmd-sink-waits | grep -E 'reduce_scatter|spmd.wait.*x6xf32, |spmd.yield' | FileCheck %s --check-prefix=LAST
// RUN: sluice-opt %s -spmd-sink-waits | FileCheck %s --check-prefix=READ
// Tests that a reduction is waited for right before the next one is issued, the waits between chained collectives where they are,
// and for the last one at the end of the section.

// CHECK: %[[A:.*]] = spmd.reduce_scatter_start {{.*}} unit "layer.2"
// CHECK-NEXT: spmd.wait %[[A]] {chained
// CHECK-NEXT: %[[B:.*]] = spmd.all_reduce_start {{.*}} unit "layer.2"
// The gather of the next unit.
// CHECK-NEXT: spmd.wait %{{.*}} {model.phase = #model.phase<backward>} : tensor<6x6xf32>
// CHECK-NEXT: spmd.wait %[[B]]
// CHECK-NEXT: spmd.reduce_scatter_start {{.*}} unit "layer.1"
// CHECK: spmd.reduce_scatter_start {{.*}} unit "root"
// CHECK-NEXT: spmd.wait %{{.*}} {chained
// CHECK-NEXT: %[[C:.*]] = spmd.all_reduce_start {{.*}} unit "root"
// CHECK-NEXT: spmd.wait %[[C]]
// CHECK-NEXT: spmd.yield

// TWO: %[[A:.*]] = spmd.reduce_scatter_start {{.*}} unit "layer.2"
// TWO-NEXT: %[[B:.*]] = spmd.reduce_scatter_start {{.*}} unit "layer.1"
// TWO-NEXT: spmd.wait %[[A]]
// TWO-NEXT: %[[C:.*]] = spmd.reduce_scatter_start {{.*}} unit "layer.0"
// TWO-NEXT: spmd.wait %[[B]]
// TWO-NEXT: %[[D:.*]] = spmd.reduce_scatter_start {{.*}} unit "root"
// TWO-NEXT: spmd.wait %[[C]]
// TWO-NEXT: spmd.wait %[[D]]
// TWO-NEXT: spmd.yield

// LAST: spmd.reduce_scatter_start {{.*}} unit "layer.2" {{.*}}spmd.when = #spmd.when<last>
// LAST-NEXT: spmd.wait {{.*}}spmd.when = #spmd.when<last>
// LAST-NEXT: spmd.reduce_scatter_start {{.*}} unit "layer.1"

spmd.mesh @mesh <shard = 2>
// Tests that a wait stays before its readers, and that collectives without a unit do not move.
// READ-LABEL: func.func @read
func.func @read(%a: tensor<4xf32>, %b: tensor<f32>) {
  spmd.section "s" repeat 1 {
    // READ: %[[T:.*]] = spmd.all_reduce_start {{.*}} unit "h"
    // READ-NEXT: %[[U:.*]] = spmd.all_reduce_start
    // READ-NEXT: spmd.wait %[[U]]
    // READ-NEXT: model.relu
    // READ-NEXT: spmd.wait %[[T]]
    // READ-NEXT: model.relu
    %t = spmd.all_reduce_start %a over ["shard"] <mean> unit "h" : tensor<4xf32>
    %0 = spmd.wait %t : tensor<4xf32>
    %u = spmd.all_reduce_start %b over ["shard"] <mean> : tensor<f32>
    %1 = spmd.wait %u : tensor<f32>
    %2 = model.relu %1 : (tensor<f32>) -> tensor<f32>
    %3 = model.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
    %4 = model.relu %3 : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}
