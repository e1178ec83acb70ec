// RUN: sluice-opt %s -spmd-shard-parameters=axis=tensor -split-input-file -verify-diagnostics -o %t.tensor
// RUN: FileCheck %s < %t.tensor
// RUN: sluice-opt %s -spmd-shard-parameters=axis=expert -split-input-file -o %t.expert
// RUN: FileCheck %s --check-prefix=EXPERT < %t.expert
// RUN: sluice-opt %t.tensor -spmd-shard-parameters=axis=expert -split-input-file | FileCheck %s --check-prefix=BOTH
// RUN: not sluice-opt %s -spmd-shard-parameters=axis=shard -split-input-file 2>&1 | FileCheck %s --check-prefix=AXIS

// Tests that parameters get the sharding that the recipe states, with segments and full heads as the readers require, and inputs
// a sharding by rows; that types stay global, and that the options of the pass are those of the recipe.

// AXIS: error: option 'axis', expected tensor or expert but got shard

// CHECK: module
// CHECK-NEXT: model.parameter @up : tensor<4x12xf32> zeros {spmd.sharding = #spmd.sharding<[{}, {"tensor", segments = 3, chunk = 2, total = 12}]>}
// CHECK-NEXT: model.parameter @down : tensor<5x4xf32> zeros {spmd.sharding = #spmd.sharding<[{"tensor", chunk = 3, total = 5}, {}]>}
// CHECK-NEXT: model.parameter @norm : tensor<4xf32> ones{{$}}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"up" = "column", "down" = "row"}}} {
  model.parameter @up : tensor<4x12xf32> zeros
  model.parameter @down : tensor<5x4xf32> zeros
  model.parameter @norm : tensor<4xf32> ones
  // CHECK-NEXT: func.func @f(%{{.*}}: tensor<2x4xf32>, %{{.*}}: tensor<2x5xf32>)
  func.func @f(%x: tensor<2x4xf32>, %y: tensor<2x5xf32>) attributes {model.entry = #model.entry<forward>} {
    // CHECK-NEXT: model.read @up : tensor<4x12xf32>
    %up = model.read @up : tensor<4x12xf32>
    %down = model.read @down : tensor<5x4xf32>
    %0 = model.matmul %x, %up : (tensor<2x4xf32>, tensor<4x12xf32>) -> tensor<2x12xf32>
    %1:3 = model.split %0 {dim = 1 : i64} : (tensor<2x12xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    %2 = model.matmul %y, %down : (tensor<2x5xf32>, tensor<5x4xf32>) -> tensor<2x4xf32>
    return
  }
}

// -----

// Dim 0 of experts, and rows of inputs, with priority 1. A scalar input has no rows.
// EXPERT: model.parameter @experts : tensor<4x8x6xf32> zeros {spmd.sharding = #spmd.sharding<[{"expert", chunk = 2, total = 4}, {}, {}]>}
// EXPERT-NEXT: model.parameter @dense : tensor<8x8xf32> zeros{{$}}
// EXPERT: func.func @f(%{{.*}}: tensor<10x8xf32> {model.input = "x", spmd.sharding = #spmd.sharding<[{"expert", chunk = 5, total = 10}p1, {}]>}, %{{.*}}: tensor<f32> {model.input = "lr"})
// Each axis adds its sharding, here to different parameters.
// BOTH: model.parameter @experts : tensor<4x8x6xf32> zeros {spmd.sharding = #spmd.sharding<[{"expert", chunk = 2, total = 4}, {}, {}]>}
// BOTH-NEXT: model.parameter @dense : tensor<8x8xf32> zeros {spmd.sharding = #spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>}
module attributes {model.recipe = {mesh.expert = 2 : i64, mesh.tensor = 2 : i64, sharding.expert = ["experts"], sharding.tensor = {"dense" = "column"}}} {
  model.parameter @experts : tensor<4x8x6xf32> zeros
  model.parameter @dense : tensor<8x8xf32> zeros
  func.func @f(%x: tensor<10x8xf32> {model.input = "x"}, %lr: tensor<f32> {model.input = "lr"}) -> tensor<10x8xf32> attributes {model.entry = #model.entry<forward>} {
    %dense = model.read @dense : tensor<8x8xf32>
    %0 = model.matmul %x, %dense : (tensor<10x8xf32>, tensor<8x8xf32>) -> tensor<10x8xf32>
    return %0 : tensor<10x8xf32>
  }
}
