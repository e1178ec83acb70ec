// RUN: sluice-opt %s -spmd-join-reductions -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-join-reductions | diff %t.once -

// Tests that values that an add or a maximum combines are combined before they are reduced over the same axes, and that
// reductions over other axes, of another kind or with another reader are not changed.

spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 2>

// The terms of sharded parameters are reduced over tensor first.
// CHECK-LABEL: func.func @norm
// CHECK: spmd.section
// CHECK-NEXT: spmd.all_reduce_start %arg0 over ["tensor"] <sum> : tensor<f32>
// CHECK-NEXT: %[[P:.*]] = spmd.wait
// CHECK-NEXT: %[[A:.*]] = model.add %[[P]], %arg1 {model.phase = #model.phase<update>}
// CHECK-NEXT: spmd.all_reduce_start %[[A]] over ["shard"] <sum> {model.phase = #model.phase<update>}
// CHECK-NEXT: %[[W:.*]] = spmd.wait {{.*}} {model.ids = array<i64: 3>, model.phase = #model.phase<update>}
// CHECK-NEXT: spmd.yield %[[W]]
func.func @norm(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %n = spmd.section "update" repeat 1 -> tensor<f32> {
    %0 = spmd.all_reduce_start %a over ["shard"] <sum> : tensor<f32>
    %1 = spmd.wait %0 : tensor<f32>
    %2 = spmd.all_reduce_start %1 over ["tensor"] <sum> : tensor<f32>
    %3 = spmd.wait %2 : tensor<f32>
    %4 = spmd.all_reduce_start %b over ["shard"] <sum> : tensor<f32>
    %5 = spmd.wait %4 : tensor<f32>
    %6 = model.add %3, %5 {model.ids = array<i64: 3>, model.phase = #model.phase<update>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    spmd.yield %6 : tensor<f32>
  }
  return %n : tensor<f32>
}

// CHECK-LABEL: func.func @same_axes
// CHECK: spmd.section
// CHECK-NEXT: %[[A:.*]] = model.maximum %arg0, %arg1
// CHECK-NEXT: spmd.all_reduce_start %[[A]] over ["tensor"] <max>
// CHECK-NEXT: spmd.wait
// CHECK-NEXT: spmd.yield
func.func @same_axes(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %n = spmd.section "update" repeat 1 -> tensor<f32> {
    %0 = spmd.all_reduce_start %a over ["tensor"] <max> : tensor<f32>
    %1 = spmd.wait %0 : tensor<f32>
    %2 = spmd.all_reduce_start %b over ["tensor"] <max> : tensor<f32>
    %3 = spmd.wait %2 : tensor<f32>
    %4 = model.maximum %1, %3 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    spmd.yield %4 : tensor<f32>
  }
  return %n : tensor<f32>
}

// CHECK-LABEL: func.func @left_alone
// CHECK-COUNT-6: spmd.all_reduce_start
func.func @left_alone(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %n:4 = spmd.section "update" repeat 1 -> tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32> {
    %0 = spmd.all_reduce_start %a over ["tensor"] <sum> : tensor<f32>
    %1 = spmd.wait %0 : tensor<f32>
    %2 = spmd.all_reduce_start %b over ["shard"] <sum> : tensor<f32>
    %3 = spmd.wait %2 : tensor<f32>
    %4 = model.add %1, %3 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %5 = spmd.all_reduce_start %a over ["tensor"] <sum> : tensor<f32>
    %6 = spmd.wait %5 : tensor<f32>
    %7 = spmd.all_reduce_start %b over ["tensor"] <max> : tensor<f32>
    %8 = spmd.wait %7 : tensor<f32>
    %9 = model.add %6, %8 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %10 = spmd.all_reduce_start %a over ["tensor"] <sum> : tensor<f32>
    %11 = spmd.wait %10 : tensor<f32>
    %12 = spmd.all_reduce_start %b over ["tensor"] <sum> : tensor<f32>
    %13 = spmd.wait %12 : tensor<f32>
    %14 = model.add %11, %13 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    spmd.yield %4, %9, %14, %11 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %n#0, %n#1, %n#2, %n#3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
