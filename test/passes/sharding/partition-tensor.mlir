// RUN: sluice-opt %s -spmd-partition-tensor -split-input-file -verify-diagnostics | FileCheck %s

// Tests that a column and a row split flow through two products with one all_reduce, behind which bias and residual are
// added once; that a fused weight is split in segments; that what is read as a whole is gathered, and what can be made in
// parts is made in parts.

// CHECK: model.parameter @up : tensor<4x4xf32> zeros {spmd.tensor = {dim = 1 : i64, segments = 1 : i64, shape = array<i64: 4, 8>}}
// CHECK-NEXT: model.parameter @up.bias : tensor<4xf32> zeros {spmd.tensor = {dim = 0 : i64, segments = 1 : i64, shape = array<i64: 8>}}
// CHECK-NEXT: model.parameter @down : tensor<4x4xf32> zeros {spmd.tensor = {dim = 0 : i64, segments = 1 : i64, shape = array<i64: 8, 4>}}
// CHECK-NEXT: model.parameter @down.bias : tensor<4xf32> zeros{{$}}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"up*" = "column", "down*" = "row"}}} {
  model.parameter @up : tensor<4x8xf32> zeros
  model.parameter @up.bias : tensor<8xf32> zeros
  model.parameter @down : tensor<8x4xf32> zeros
  model.parameter @down.bias : tensor<4xf32> zeros
  // CHECK: func.func @f
  func.func @f(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {model.entry = "forward"} {
    %up = model.read @up : tensor<4x8xf32>
    %up.bias = model.read @up.bias : tensor<8xf32>
    %down = model.read @down : tensor<8x4xf32>
    %down.bias = model.read @down.bias : tensor<4xf32>
    // CHECK: %[[H:.*]] = model.matmul {{.*}} -> tensor<2x4xf32>
    %0 = model.matmul %x, %up bias(%up.bias) : (tensor<2x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    // CHECK-NEXT: %[[G:.*]] = model.relu %[[H]] : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %1 = model.relu %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
    // CHECK-NEXT: %[[P:.*]] = model.matmul %[[G]], %{{[^ ]*}} {{.*}}: (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    // CHECK-NEXT: %[[T:.*]] = spmd.all_reduce_start %[[P]] over ["tensor"] "sum" : tensor<2x4xf32>
    // CHECK-NEXT: %[[S:.*]] = spmd.wait %[[T]] : tensor<2x4xf32>
    // CHECK-NEXT: %[[B:.*]] = model.add %[[S]], %{{.*}} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    // CHECK-NEXT: model.add %[[B]], %{{.*}} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // expected-remark @below {{all_reduce over 'tensor': a split dim is reduced by model.matmul ([i, k], [k, j]) -> ([i, j]) {i=2, j=4, k=8} reduce=sum (1 time)}}
    %2 = model.matmul %1, %down bias(%down.bias) residual(%x) : (tensor<2x8xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %2 : tensor<2x4xf32>
  }
}

// -----

// CHECK: model.parameter @fused : tensor<4x6xf32> zeros {spmd.tensor = {dim = 1 : i64, segments = 3 : i64, shape = array<i64: 4, 12>}}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"fused" = "column"}}} {
  model.parameter @fused : tensor<4x12xf32> zeros
  // CHECK: func.func @f
  func.func @f(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {model.entry = "forward"} {
    %w = model.read @fused : tensor<4x12xf32>
    %0 = model.matmul %x, %w : (tensor<2x4xf32>, tensor<4x12xf32>) -> tensor<2x12xf32>
    // CHECK: model.split %{{.*}} : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
    %1:3 = model.split %0 {dim = 1 : i64} : (tensor<2x12xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    %2 = model.multiply %1#0, %1#1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // A part of a constant is a constant.
    // CHECK: model.constant 2.000000e+00 : tensor<2x2xf32>
    %two = model.constant 2.0 : tensor<2x4xf32>
    // CHECK: %[[M:.*]] = model.multiply %{{.*}} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    // CHECK: %[[R:.*]] = model.reshape %{{.*}} : (tensor<2x2xf32>) -> tensor<1x2x1x2x1xf32, #spmd.valid<dim = 0, total = 2, axes = ["tensor"]>>
    // CHECK-NEXT: %[[T:.*]] = spmd.all_gather_start %[[R]] over ["tensor"]
    // CHECK-NEXT: %[[A:.*]] = spmd.wait %[[T]] : tensor<2x2x1x2x1xf32>
    // CHECK-NEXT: %[[V:.*]] = model.transpose %[[A]]
    // CHECK-NEXT: model.reshape %[[V]] {{.*}}-> tensor<2x4xf32>
    %3 = model.multiply %2, %two : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // expected-remark @below {{all_gather over 'tensor': operands are whole for func.return (1 time)}}
    return %3 : tensor<2x4xf32>
  }
}

// -----

// expected-error @unknown {{recipe: value of 'sharding.tensor' for parameter 's', expected a parameter with dims but got a scalar}}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"s" = "column"}}} {
  model.parameter @s : tensor<f32> zeros
}

// -----

// expected-error @unknown {{recipe: value of 'sharding.tensor' for parameter 'w', expected one that a product or a table reads but got one that none does}}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "row"}}} {
  model.parameter @w : tensor<4x2xf32> zeros
}

// -----

// expected-remark @unknown {{recipe: 'mesh.tensor' splits nothing where 'sharding.tensor' names no parameter: its ranks all do the same}}
module attributes {model.recipe = {mesh.tensor = 2 : i64}} {
  model.parameter @w : tensor<4x2xf32> zeros
}
