// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// Tests the text of attributes for the repetitions and the stream of an op.

// CHECK: spmd.unit @h.0 [@h.0.w] {sync = #spmd.sync<every>}
spmd.unit @h.0 [@h.0.w] {sync = #spmd.sync<every>}
// CHECK: spmd.unit @h.1 [@h.1.w] {sync_in = #spmd.when<[0, 2]>}
spmd.unit @h.1 [@h.1.w] {sync_in = #spmd.when<[0, 2]>}

// CHECK-LABEL: func.func @f
// CHECK-SAME: {spmd.space = #spmd.space<host>}
func.func @f(%x: tensor<2xf32> {spmd.space = #spmd.space<host>}) {
  spmd.section "s" repeat 4 {
    // CHECK: spmd.accumulate %{{.*}} {spmd.stream = #spmd.stream<host>, starts = #spmd.when<[0, 3]>}
    %0 = spmd.accumulate %x {spmd.stream = #spmd.stream<host>, starts = #spmd.when<[0, 3]>} : tensor<2xf32> -> tensor<2xf32>
    // CHECK: spmd.accumulate %{{.*}} {spmd.stream = #spmd.stream<host>, spmd.when = #spmd.when<not_last>}
    %1 = spmd.accumulate %x {spmd.stream = #spmd.stream<host>, spmd.when = #spmd.when<not_last>} : tensor<2xf32> -> tensor<2xf32>
  }
  return
}
