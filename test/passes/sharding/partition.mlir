// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 gradient.microbatches=3" -spmd-partition="gradient.microbatches=3" | FileCheck %s
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 gradient.microbatches=3" -spmd-partition="gradient.microbatches=3" -o %t.once
// RUN: sluice-opt %t.once -spmd-partition | diff %t.once -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units -spmd-partition | FileCheck %s --check-prefix=ONE-RANK
// Tests the frame of a train step: arguments, donated results, sections, and the entry point init.

// A parameter of five rows has chunks of two on four ranks; states are after their parameter.
// CHECK: func.func @train_step(
// CHECK-SAME: %[[E:[^:]*]]: tensor<5x6xf32> {spmd.parameter = @embed, spmd.sharding = #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>},
// CHECK-SAME: %[[EM:[^:]*]]: tensor<5x6xf32> {spmd.parameter = @embed, spmd.sharding = #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>, spmd.state = "momentum_buffer"},
// CHECK-SAME: %{{[^:]*}}: tensor<6x6xf32> {spmd.parameter = @layer.0.w, spmd.sharding = #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>},
// CHECK-SAME: {spmd.parameter = @layer.0.w, {{[^%]*}}spmd.state = "momentum_buffer"},
// CHECK-SAME: {spmd.parameter = @layer.1.w,
// CHECK-SAME: {spmd.parameter = @layer.1.w, {{[^%]*}}spmd.state = "momentum_buffer"},
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x5xf32> {spmd.input = "x", spmd.per_repetition},
// CHECK-SAME: %[[LR:[^:]*]]: tensor<f32> {spmd.input = "lr"},
// CHECK-SAME: %[[STEP:[^:]*]]: tensor<i64> {spmd.input = "step"})
// CHECK-SAME: -> (tensor<5x6xf32> {spmd.donates = 0 : i64},
// CHECK-SAME: {spmd.donates = 5 : i64},
// CHECK-SAME: tensor<f32> {spmd.output = "loss"}, tensor<f32> {spmd.output = "grad_norm"}, tensor<ui8> {spmd.output = "guard"})
// CHECK-SAME: attributes {model.entry = #model.entry<train>}

// CHECK: %[[M:.*]]:4 = spmd.section "microbatch" repeat 3
// Parameters are still read, and gradients named.
// CHECK: model.read @embed
// CHECK: model.gradient @layer.1.w
// CHECK: spmd.yield

// CHECK: spmd.section "update" repeat 1
// CHECK-NOT: model.read
// CHECK-NOT: model.write
// CHECK: model.step_mean
// The update is of global types.
// CHECK: model.power_sum
// CHECK-NEXT: model.norm_root
// CHECK: model.sgd %[[E]], %[[M]]#3, %[[EM]], %[[LR]], %[[STEP]]
// CHECK-SAME: -> (tensor<5x6xf32>, tensor<5x6xf32>)
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

// On one rank no argument is sharded.
// ONE-RANK-NOT: spmd.sharding
// ONE-RANK: spmd.section "microbatch" repeat 1
// ONE-RANK: spmd.section "update" repeat 1
// ONE-RANK-NOT: spmd.sharding
