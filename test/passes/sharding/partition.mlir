// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 gradient.microbatches=3" -spmd-partition="gradient.microbatches=3" | FileCheck %s
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 gradient.microbatches=3" -spmd-partition="gradient.microbatches=3" -o %t.once
// RUN: sluice-opt %t.once -spmd-partition | diff %t.once -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units -spmd-partition | FileCheck %s --check-prefix=ALONE
// Tests the frame of a train step: arguments, donated results, sections, shards in the update, and the entry point init.

// A parameter of five rows makes chunks of two on four ranks; states stand behind their parameter.
// CHECK: func.func @train_step(
// CHECK-SAME: %[[E:[^:]*]]: tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>> {spmd.parameter = @embed},
// CHECK-SAME: %[[EM:[^:]*]]: tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>> {spmd.parameter = @embed, spmd.state = "momentum_buffer"},
// CHECK-SAME: %{{[^:]*}}: tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>> {spmd.parameter = @layer.0.w},
// CHECK-SAME: {spmd.parameter = @layer.0.w, spmd.state = "momentum_buffer"},
// CHECK-SAME: {spmd.parameter = @layer.1.w},
// CHECK-SAME: {spmd.parameter = @layer.1.w, spmd.state = "momentum_buffer"},
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x5xf32> {spmd.input = "x", spmd.per_repetition},
// CHECK-SAME: %[[LR:[^:]*]]: tensor<f32> {spmd.input = "lr"},
// CHECK-SAME: %[[STEP:[^:]*]]: tensor<i64> {spmd.input = "step"})
// CHECK-SAME: -> (tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>> {spmd.donates = 0 : i64},
// CHECK-SAME: {spmd.donates = 5 : i64},
// CHECK-SAME: tensor<f32> {spmd.output = "loss"}, tensor<f32> {spmd.output = "grad_norm"}, tensor<ui8> {spmd.output = "guard"})
// CHECK-SAME: attributes {model.entry = #model.entry<train>}

// CHECK: %[[M:.*]]:4 = spmd.section "microbatch" repeat 3
// Whole parameters are still read, and gradients named; a cast stands for the cut of the whole mean.
// CHECK: model.read @embed
// CHECK: %[[G:.*]] = model.gradient @layer.1.w
// CHECK-NEXT: builtin.unrealized_conversion_cast %[[G]] : tensor<6x6xf32> to tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
// CHECK: spmd.yield

// CHECK: spmd.section "update" repeat 1
// CHECK-NOT: model.read
// CHECK-NOT: model.write
// CHECK: model.step_mean
// The norm of shards is a part of the norm.
// CHECK: %[[P:.*]] = model.power_sum
// CHECK-NEXT: %[[T:.*]] = spmd.all_reduce_start %[[P]] over ["shard"] <sum> {model.phase = #model.phase<update>} : tensor<f32>
// CHECK-NEXT: %[[W:.*]] = spmd.wait %[[T]]
// CHECK-NEXT: model.norm_root %[[W]]
// CHECK: model.sgd %[[E]], %[[M]]#3, %[[EM]], %[[LR]], %[[STEP]]
// CHECK-SAME: -> (tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>>, tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>>)
// CHECK-NOT: model.write

// The weights are keyed by the parameter's place and, by the encoding, each element's global index. States are zero.
// CHECK: func.func @init(
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<i64> {spmd.input = "seed"})
// CHECK-SAME: {spmd.donates = 5 : i64})
// CHECK-SAME: attributes {model.entry = #model.entry<init>}
// CHECK: spmd.section "init" repeat 1
// CHECK-NEXT: model.random_normal %[[SEED]] {key = 0 : i64, {{.*}}stddev = 2.000000e-02{{.*}} -> tensor<2x6xf32, #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>>
// CHECK-NEXT: model.constant 0.000000e+00
// CHECK-NEXT: model.random_uniform %[[SEED]] {high = 5.000000e-01 : f64, key = 1 : i64, low = -5.000000e-01 : f64
// CHECK-NEXT: model.constant 0.000000e+00
// CHECK-NEXT: model.random_uniform %[[SEED]] {high = 5.000000e-01 : f64, key = 2 : i64

// On one rank there is nothing to cut.
// ALONE-NOT: spmd.sharding
// ALONE-NOT: conversion_cast
// ALONE: spmd.section "microbatch" repeat 1
// ALONE: spmd.section "update" repeat 1
// ALONE-NOT: spmd.sharding
