// RUN: sluice-opt %S/../sharding/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4" -spmd-hoist-gathers -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-hoist-gathers | diff %t.once -
// RUN: sluice-opt %S/../sharding/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4" -o %t.unmoved
// RUN: sluice-opt %t.unmoved -spmd-hoist-gathers="schedule.forward_prefetch=0 schedule.backward_prefetch=none" | diff %t.unmoved -
// RUN: sluice-opt %s -spmd-hoist-gathers | FileCheck %s --check-prefix=CAST
// RUN: sluice-opt %s -spmd-hoist-gathers | sluice-opt -spmd-hoist-gathers | FileCheck %s --check-prefix=CAST
// Tests that gathers are issued after the wait of the unit before, and at distance 0 stay at their use. (event-order.mlir
// has the full orders.)

// CHECK: spmd.section "microbatch"
// CHECK-NEXT: spmd.all_gather_start {{.*}} unit "root"
// CHECK-NEXT: spmd.wait
// CHECK-NEXT: %[[T0:.*]] = spmd.all_gather_start {{.*}} unit "layer.0"
// CHECK-NEXT: model.matmul
// CHECK-NEXT: spmd.wait %[[T0]]
// CHECK-NEXT: %[[T1:.*]] = spmd.all_gather_start {{.*}} unit "layer.1"
// CHECK-NEXT: model.matmul
// CHECK-NEXT: spmd.release
// CHECK-NEXT: spmd.wait %[[T1]]
// The root is not gathered again, and still prefetches the first unit of the backward; not before the backward begins.
// CHECK: model.constant {{.*}}model.phase = #model.phase<loss>
// CHECK-NEXT: %[[T2:.*]] = spmd.all_gather_start {{.*}} unit "layer.1"
// CHECK-NEXT: spmd.wait %[[T2]]
// CHECK-NEXT: %[[T3:.*]] = spmd.all_gather_start {{.*}} unit "layer.0"
// CHECK-NEXT: model.matmul
// CHECK: spmd.wait %[[T3]]

!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}, {}]>>
!low = tensor<2x4xbf16, #spmd.sharding<[{"shard", chunk = 2, total = 4}, {}]>>
module {
  spmd.mesh @mesh <shard = 2>
  spmd.unit @root []
  spmd.unit @h.0 [@a]
  spmd.unit @h.1 [@b]
  // Tests that the cast of a shard moves with its gather, and that neither moves before ops that compute its operands.
  // CAST-LABEL: func.func @cast
  func.func @cast(%a: !low, %b: !shard, %x: tensor<4x4xbf16>) {
    spmd.section "forward" repeat 1 {
      // CAST: spmd.all_gather_start {{.*}} unit "h.0"
      // CAST-NEXT: spmd.wait
      // CAST-NEXT: %[[C:.*]] = model.cast %arg1
      // CAST-NEXT: spmd.all_gather_start %[[C]] over ["shard"] unit "h.1"
      // CAST-NEXT: model.matmul
      // CAST-NEXT: spmd.release
      // CAST-NEXT: spmd.wait
      %t = spmd.all_gather_start %a over ["shard"] unit "h.0" : !low
      %0 = spmd.wait %t : tensor<4x4xbf16>
      %1 = model.matmul %x, %0 {model.block = "h.0"} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
      spmd.release %0 unit "h.0" : tensor<4x4xbf16>
      %c = model.cast %b {model.phase = #model.phase<forward>} : (!shard) -> !low
      %u = spmd.all_gather_start %c over ["shard"] unit "h.1" : !low
      %2 = spmd.wait %u : tensor<4x4xbf16>
      %3 = model.matmul %1, %2 {model.block = "h.1"} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
      spmd.release %2 unit "h.1" : tensor<4x4xbf16>
    }
    return
  }
  // CAST-LABEL: func.func @computed
  func.func @computed(%a: !low, %b: !low, %x: tensor<4x4xbf16>) {
    spmd.section "forward" repeat 1 {
      // CAST: spmd.wait
      // CAST-NEXT: model.matmul
      // CAST-NEXT: spmd.release
      // CAST-NEXT: model.relu
      // CAST-NEXT: model.relu
      // CAST-NEXT: spmd.all_gather_start {{.*}} unit "h.1"
      %t = spmd.all_gather_start %a over ["shard"] unit "h.0" : !low
      %0 = spmd.wait %t : tensor<4x4xbf16>
      %1 = model.matmul %x, %0 {model.block = "h.0"} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
      spmd.release %0 unit "h.0" : tensor<4x4xbf16>
      %c = model.relu %b : (!low) -> !low
      %d = model.relu %c : (!low) -> !low
      %u = spmd.all_gather_start %d over ["shard"] unit "h.1" : !low
      %2 = spmd.wait %u : tensor<4x4xbf16>
      spmd.release %2 unit "h.1" : tensor<4x4xbf16>
    }
    return
  }
}
