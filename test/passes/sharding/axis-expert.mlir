// RUN: sluice-opt %s '-pass-pipeline=builtin.module(spmd-shard-parameters{axis=expert},spmd-propagate-shardings{axis=expert},spmd-insert-reshards{axis=expert},spmd-localize{axis=expert},spmd-lower-reshards)' -split-input-file -verify-diagnostics | FileCheck %s

// Tests the passes along the axis expert together: that experts are sharded by number and inputs by rows; that a product with
// sharded experts gathers the rows, and the sum over experts is scattered to the rows; that a returned value is replicated;
// that the gradient of a replicated parameter is a term of a sum, and that of an expert is not.

// CHECK: model.parameter @experts : tensor<2x8x6xf32> zeros {spmd.sharding = #spmd.sharding<[{"expert", chunk = 2, total = 4}, {}, {}]>}
// CHECK-NEXT: model.parameter @dense : tensor<8x8xf32> zeros{{$}}
module attributes {model.recipe = {mesh.expert = 2 : i64, sharding.expert = ["experts"]}} {
  model.parameter @experts : tensor<4x8x6xf32> zeros
  model.parameter @dense : tensor<8x8xf32> zeros
  // CHECK: func.func @f(%[[X:.*]]: tensor<10x8xf32>
  func.func @f(%x: tensor<10x8xf32> {model.input = "x"}) -> tensor<10x6xf32> attributes {model.entry = #model.entry<forward>} {
    // CHECK: spmd.all_slice {{.*}} : tensor<1x1x10x8xf32> -> tensor<1x1x5x8xf32, #spmd.sharding<[{}, {}, {"expert", chunk = 5, total = 10}, {}]>>
    // CHECK: %[[MINE:.*]] = model.reshape {{.*}} -> tensor<5x8xf32>
    %experts = model.read @experts : tensor<4x8x6xf32>
    %dense = model.read @dense : tensor<8x8xf32>
    // CHECK: %[[H:.*]] = model.matmul %[[MINE]], {{.*}} -> tensor<5x8xf32>
    %h = model.matmul %x, %dense : (tensor<10x8xf32>, tensor<8x8xf32>) -> tensor<10x8xf32>
    // CHECK: spmd.all_gather_start {{.*}} over ["expert"]
    // CHECK: %[[ALL:.*]] = model.reshape {{.*}} -> tensor<10x8xf32>
    // CHECK: model.matmul %[[ALL]], {{.*}} : (tensor<10x8xf32>, tensor<2x8x6xf32>) -> tensor<2x10x6xf32>
    // expected-remark @below {{requires all rows (1 time)}}
    %y = model.matmul %h, %experts : (tensor<10x8xf32>, tensor<4x8x6xf32>) -> tensor<4x10x6xf32>
    // CHECK: %[[SUM:.*]] = model.reduce_sum {{.*}} -> tensor<10x6xf32>
    // CHECK: spmd.reduce_scatter_start %[[SUM]] over ["expert"] <sum> : tensor<10x6xf32> to [tensor<5x6xf32,
    // expected-remark @below {{reduce_scatter over 'expert': model.reduce_sum}}
    %s = model.reduce_sum %y {dims = array<i64: 0>} : (tensor<4x10x6xf32>) -> tensor<10x6xf32>
    // CHECK: model.relu {{.*}} : tensor<5x6xf32>
    %r = model.relu %s : (tensor<10x6xf32>) -> tensor<10x6xf32>
    // CHECK: spmd.all_gather_start
    // expected-remark @below {{all_gather over 'expert': func.return requires replicated operands}}
    return %r : tensor<10x6xf32>
  }
}

// -----

// Tests that the operand of a broadcast is gathered, and not its result.

module attributes {model.recipe = {mesh.expert = 2 : i64, sharding.expert = ["experts"]}} {
  model.parameter @experts : tensor<4x8x6xf32> zeros
  model.parameter @dense : tensor<8x8xf32> zeros
  // CHECK-LABEL: func.func @repeated
  func.func @repeated(%x: tensor<10x8xf32> {model.input = "x"}) -> tensor<4x10x6xf32> attributes {model.entry = #model.entry<forward>} {
    %dense = model.read @dense : tensor<8x8xf32>
    %0 = model.matmul %x, %dense : (tensor<10x8xf32>, tensor<8x8xf32>) -> tensor<10x8xf32>
    // expected-remark @below {{all_gather over 'expert': model.broadcast}}
    %1 = model.broadcast %0 : (tensor<10x8xf32>) -> tensor<4x10x8xf32>
    %experts = model.read @experts : tensor<4x8x6xf32>
    // CHECK: spmd.all_gather_start {{.*}} : tensor<1x1x1x5x8xf32,
    // CHECK: model.broadcast {{.*}} : (tensor<10x8xf32>) -> tensor<2x10x8xf32>
    // CHECK: model.matmul {{.*}} -> tensor<2x10x6xf32>
    %2 = model.matmul %1, %experts : (tensor<4x10x8xf32>, tensor<4x8x6xf32>) -> tensor<4x10x6xf32>
    // expected-remark @below {{func.return requires replicated operands}}
    return %2 : tensor<4x10x6xf32>
  }
}

// -----

// Tests that gradients of experts are computed from all rows, and that others are terms of a sum.

module attributes {model.recipe = {mesh.expert = 2 : i64, sharding.expert = ["experts"]}} {
  model.parameter @experts : tensor<4x8x6xf32> zeros
  model.parameter @bias : tensor<8xf32> zeros
  // CHECK-LABEL: func.func @gradients
  func.func @gradients(%x: tensor<10x8xf32> {model.input = "x"}) attributes {model.entry = #model.entry<train>} {
    %experts = model.read @experts : tensor<4x8x6xf32>
    %0 = model.matmul %x, %experts : (tensor<10x8xf32>, tensor<4x8x6xf32>) -> tensor<4x10x6xf32>
    %1 = model.matmul %x, %0 {transpose_lhs, model.phase = #model.phase<backward>} : (tensor<10x8xf32>, tensor<4x10x6xf32>) -> tensor<4x8x6xf32>
    // CHECK: model.gradient @experts, {{.*}} {model.phase = #model.phase<backward>} : tensor<2x8x6xf32>
    %2 = model.gradient @experts, %1 {model.phase = #model.phase<backward>} : tensor<4x8x6xf32>
    %3 = model.reduce_sum %x {dims = array<i64: 0>, model.phase = #model.phase<backward>} : (tensor<10x8xf32>) -> tensor<8xf32>
    // CHECK: model.gradient @bias, {{.*}} {model.phase = #model.phase<backward>, spmd.operand_shardings = [#spmd.sharding<[{}] partial sum over ["expert"]>]}
    %4 = model.gradient @bias, %3 {model.phase = #model.phase<backward>} : tensor<8xf32>
    return
  }
}

// -----

// Tests that every rank computes all rows of an entry where the ranks do not divide them.

module attributes {model.recipe = {mesh.expert = 2 : i64, sharding.expert = ["experts"]}} {
  model.parameter @experts : tensor<4x8x6xf32> zeros
  // CHECK-LABEL: func.func @undivided
  // CHECK-NOT: spmd.all_slice
  // CHECK: model.matmul {{.*}} : (tensor<3x8xf32>, tensor<2x8x6xf32>) -> tensor<2x3x6xf32>
  // CHECK: spmd.all_reduce_start
  // expected-remark @below {{entry point 'undivided' has 3 rows, which the 2 ranks of 'expert' do not divide: every rank computes all rows}}
  func.func @undivided(%x: tensor<3x8xf32> {model.input = "x"}) -> tensor<3x6xf32> attributes {model.entry = #model.entry<forward>} {
    %experts = model.read @experts : tensor<4x8x6xf32>
    %0 = model.matmul %x, %experts : (tensor<3x8xf32>, tensor<4x8x6xf32>) -> tensor<4x3x6xf32>
    // expected-remark @below {{all_reduce over 'expert'}}
    %1 = model.reduce_sum %0 {dims = array<i64: 0>} : (tensor<4x3x6xf32>) -> tensor<3x6xf32>
    return %1 : tensor<3x6xf32>
  }
}
