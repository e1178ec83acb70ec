// RUN: sluice-opt %s -spmd-localize=axis=tensor -split-input-file -verify-diagnostics -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-localize=axis=tensor -split-input-file -verify-roundtrip | diff %t.once -

// Tests that types of parameters, values and reshards become those of one rank; that kernels get the shardings of their
// operands and results where a chunk is padded or they read their position; that padding is zeros in a gradient, and in
// a sum of gradients; that an input is an argument without a sharding.

#column = #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>
#replicated = #spmd.sharding<[{}, {}]>
#partial = #spmd.sharding<[{}, {}] partial sum over ["tensor"]>
// CHECK: module attributes {{.*}}spmd.local_axes = ["tensor"]
// CHECK-NEXT: model.parameter @w : tensor<4x3xf32> zeros {spmd.sharding = #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>}
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "column"}}} {
  model.parameter @w : tensor<4x5xf32> zeros {spmd.sharding = #column}
  // CHECK-LABEL: func.func @f
  // CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>, %[[DY:.*]]: tensor<2x5xf32>
  func.func @f(%x: tensor<2x4xf32>, %dy: tensor<2x5xf32>) -> tensor<2x5xf32> attributes {model.entry = #model.entry<train>} {
    // CHECK-NEXT: %[[W:.*]] = model.read @w : tensor<4x3xf32>
    %w = model.read @w {spmd.shardings = [#column]} : tensor<4x5xf32>
    // CHECK-NEXT: %[[H:.*]] = model.matmul %[[X]], %[[W]] {spmd.local_shardings = [#spmd.sharding<[{}, {}]>, #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>, #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>]} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %0 = model.matmul %x, %w {spmd.shardings = [#column]} : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    // CHECK-NEXT: %[[ALL:.*]] = spmd.reshard %[[H]] from {{.*}} : (tensor<2x3xf32>) -> tensor<2x5xf32>
    %1 = spmd.reshard %0 from [#column] to [#replicated] : (tensor<2x5xf32>) -> tensor<2x5xf32>
    // CHECK-NEXT: %[[MINE:.*]] = spmd.reshard %[[DY]] from {{.*}} : (tensor<2x5xf32>) -> tensor<2x3xf32>
    %2 = spmd.reshard %dy from [#replicated] to [#column] {model.phase = #model.phase<backward>} : (tensor<2x5xf32>) -> tensor<2x5xf32>
    // CHECK-NEXT: %[[G:.*]] = model.matmul %[[X]], %[[MINE]] {{.*}} -> tensor<4x3xf32>
    %3 = model.matmul %x, %2 {transpose_lhs, model.phase = #model.phase<backward>, spmd.shardings = [#column]} : (tensor<2x4xf32>, tensor<2x5xf32>) -> tensor<4x5xf32>
    // CHECK-NEXT: %[[Z:.*]] = model.pad %[[G]] {{.*}}spmd.local_shardings = [#spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>, #spmd.sharding<[{}, {}]>]
    // CHECK-NEXT: model.gradient @w, %[[Z]] {{.*}} : tensor<4x3xf32>
    %4 = model.gradient @w, %3 {model.phase = #model.phase<backward>, spmd.shardings = [#column]} : tensor<4x5xf32>
    return %1 : tensor<2x5xf32>
  }
}

// -----

// Even chunks have no padding: a kernel that does not read its position gets no shardings. Shapes in attributes are local.

#column = #spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "column"}}} {
  model.parameter @w : tensor<4x8xf32> zeros {spmd.sharding = #column}
  // CHECK-LABEL: func.func @even
  // CHECK-SAME: (%{{.*}}: tensor<2x4xf32> {model.input = "x"})
  func.func @even(%x: tensor<2x4xf32> {model.input = "x"}) attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w {spmd.shardings = [#column]} : tensor<4x8xf32>
    // CHECK: model.matmul %{{[^ ]*}}, %{{[^ ]*}} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %0 = model.matmul %x, %w {spmd.shardings = [#column]} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    // CHECK-NEXT: model.slice %{{.*}} {limit = array<i64: 1, 4>, start = array<i64: 0, 0>, step = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %1 = model.slice %0 {start = array<i64: 0, 0>, limit = array<i64: 1, 8>, step = array<i64: 1, 1>, spmd.shardings = [#column]} : (tensor<2x8xf32>) -> tensor<1x8xf32>
    return
  }
}

// -----

// The gradients of two passes: the sum of zeros is zeros, so the kernel computes the padding too. That of other ops is
// left out: of a product, and of a sum with a value that is no gradient.

#column = #spmd.sharding<[{}, {"tensor", chunk = 3, total = 5}]>
#replicated = #spmd.sharding<[{}, {}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "column"}}} {
  model.parameter @w : tensor<4x5xf32> zeros {spmd.sharding = #column}
  // CHECK-LABEL: func.func @passes
  func.func @passes(%dw: tensor<4x5xf32>) attributes {model.entry = #model.entry<train>} {
    %0 = spmd.reshard %dw from [#replicated] to [#column] {model.phase = #model.phase<backward>} : (tensor<4x5xf32>) -> tensor<4x5xf32>
    // CHECK: %[[A:.*]] = model.gradient
    %1 = model.gradient @w, %0 {model.invocation = 1 : i64, model.phase = #model.phase<backward>, spmd.shardings = [#column]} : tensor<4x5xf32>
    // CHECK: %[[B:.*]] = model.gradient
    %2 = model.gradient @w, %0 {model.phase = #model.phase<backward>, spmd.shardings = [#column]} : tensor<4x5xf32>
    // CHECK-NEXT: %[[SUM:.*]] = model.add %[[A]], %[[B]] {model.phase = #model.phase<backward>} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %3 = model.add %1, %2 {model.phase = #model.phase<backward>, spmd.shardings = [#column]} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    // CHECK-NEXT: model.add %[[SUM]], %[[B]] {model.phase = #model.phase<backward>} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %4 = model.add %3, %2 {model.phase = #model.phase<backward>, spmd.shardings = [#column]} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    // CHECK-NEXT: model.multiply %[[SUM]], %[[B]] {{.*}}spmd.local_shardings
    %5 = model.multiply %3, %2 {model.phase = #model.phase<backward>, spmd.shardings = [#column]} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    // CHECK-NEXT: %[[ROWS:.*]] = spmd.reshard
    %6 = spmd.reshard %dw from [#replicated] to [#column] {model.phase = #model.phase<backward>} : (tensor<4x5xf32>) -> tensor<4x5xf32>
    // CHECK-NEXT: model.add %[[SUM]], %[[ROWS]] {{.*}}spmd.local_shardings
    %7 = model.add %3, %6 {model.phase = #model.phase<backward>, spmd.shardings = [#column]} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    return
  }
}
