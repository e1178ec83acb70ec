// RUN: sluice-opt %s -spmd-offload-activations="memory.offload=['activations']" -o %t.one
// RUN: FileCheck %s < %t.one
// RUN: sluice-opt %t.one -spmd-offload-activations="memory.offload=['activations']" | diff %t.one -
// RUN: sluice-opt %s -spmd-offload-activations="memory.offload=['activations'] schedule.backward_prefetch=0" | FileCheck %s --check-prefix=AT-USE
// RUN: sluice-opt %s -spmd-offload-activations="memory.offload=['parameters']" | FileCheck %s --check-prefix=NONE
// Tests the copies of activations: to the host after the last block that reads them, awaited where the copies of the next
// block start; to the device one block before the backward of the block that reads them first.

// NONE-NOT: copy_start

!t = tensor<16x16xf32>
!v = tensor<256xf32>
module {
  spmd.mesh @mesh <shard = 1>
  spmd.unit @root []
  spmd.unit @h.0 [@w]
  // CHECK-LABEL: func.func @train_step
  // AT-USE-LABEL: func.func @train_step
  func.func @train_step(%x: !t, %g: !t) -> !t attributes {model.entry = #model.entry<train>} {
    %result:2 = spmd.section "microbatch" repeat 1 -> !t, !t {
      %e = model.exp %x {model.block = "", model.phase = #model.phase<forward>} : !t
      // The embedding is read by h.0 last. Its view is repeated in the backward; small values stay.
      // CHECK: %[[V:.*]] = model.reshape
      // CHECK-NEXT: %[[A:.*]] = model.exp %[[V]]
      // CHECK-NEXT: %[[OUT0:.*]] = spmd.copy_start %{{[0-9]+}} to <host> unit "h.0" {model.block = "h.0", model.phase = #model.phase<forward>} : tensor<16x16xf32>
      // CHECK-NEXT: model.reduce_sum
      %v = model.reshape %e {model.block = "h.0", model.phase = #model.phase<forward>} : (!t) -> !v
      %a = model.exp %v {model.block = "h.0", model.phase = #model.phase<forward>} : !v
      %s = model.reduce_sum %a {dims = array<i64: 0>, model.block = "h.0", model.phase = #model.phase<forward>} : (!v) -> tensor<f32>
      // CHECK-NEXT: %[[B:.*]] = model.exp %[[A]]
      // CHECK-NEXT: %[[HOST0:.*]] = spmd.wait %[[OUT0]]
      // CHECK-NEXT: %[[OUT1:.*]] = spmd.copy_start %[[A]] to <host> unit "root" {model.block = "h.1"
      %b = model.exp %a {model.block = "h.1", model.phase = #model.phase<forward>} : !v
      // CHECK-NEXT: %[[C:.*]] = model.exp %[[B]]
      // The values of h.2, whose backward is first, stay.
      // CHECK-NEXT: %[[HOST1:.*]] = spmd.wait %[[OUT1]]
      // CHECK-NEXT: model.exp %[[C]]
      // CHECK-NOT: to <host>
      %c = model.exp %b {model.block = "h.2", model.phase = #model.phase<forward>} : !v
      %d = model.exp %c {model.block = "", model.phase = #model.phase<forward>} : !v
      %last = model.reshape %d {model.block = "", model.phase = #model.phase<forward>} : (!v) -> !t
      // Both uses of the root and the first block of the backward read the device's values.
      // CHECK: model.multiply %{{.*}}, %[[C]]
      // CHECK-NEXT: %[[IN1:.*]] = spmd.copy_start %[[HOST1]] to <device> unit "root" {model.block = "h.1", model.phase = #model.phase<backward>}
      // CHECK-NEXT: model.multiply %{{.*}}, %[[B]]
      // CHECK-NEXT: %[[DEVICE1:.*]] = spmd.wait %[[IN1]]
      // CHECK-NEXT: %[[IN0:.*]] = spmd.copy_start %[[HOST0]] to <device> unit "h.0" {model.block = "h.0"
      // CHECK-NEXT: model.multiply %{{.*}}, %[[DEVICE1]]
      // CHECK-NEXT: %[[DEVICE0:.*]] = spmd.wait %[[IN0]]
      // CHECK-NEXT: %[[AGAIN:.*]] = model.reshape %[[DEVICE0]] {model.block = "h.0", model.phase = #model.phase<backward>}
      // CHECK-NEXT: model.multiply %{{.*}}, %[[AGAIN]]
      // AT-USE: %[[IN1:.*]] = spmd.copy_start {{.*}} to <device>
      // AT-USE-NEXT: spmd.wait %[[IN1]]
      // AT-USE-NEXT: model.multiply
      // AT-USE-NEXT: %[[IN0:.*]] = spmd.copy_start {{.*}} to <device>
      // AT-USE-NEXT: spmd.wait %[[IN0]]
      %g0 = model.reshape %g {model.block = "", model.phase = #model.phase<backward>} : (!t) -> !v
      %g1 = model.multiply %g0, %c {model.block = "", model.phase = #model.phase<backward>} : (!v, !v) -> !v
      %g2 = model.multiply %g1, %b {model.block = "h.2", model.phase = #model.phase<backward>} : (!v, !v) -> !v
      %g3 = model.multiply %g2, %a {model.block = "h.1", model.phase = #model.phase<backward>} : (!v, !v) -> !v
      %g4 = model.multiply %g3, %v {model.block = "h.0", model.phase = #model.phase<backward>} : (!v, !v) -> !v
      %g5 = model.multiply %s, %s {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %first = model.reshape %g4 {model.block = "", model.phase = #model.phase<backward>} : (!v) -> !t
      spmd.yield %first, %last : !t, !t
    }
    return %result#0 : !t
  }
}
