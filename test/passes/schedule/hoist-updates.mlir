// RUN: sluice-opt %s -sluice-input -sluice-prepare="set=mesh.shard=2,gradient.microbatches=2,optimizer.in_backward=true,optimizer.name=sgd" -sluice-differentiate -sluice-optimize -sluice-recompute -sluice-partition -sluice-prefetch -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-hoist-updates | diff %t.once -
// RUN: sluice-opt %s -sluice-input -sluice-prepare="set=optimizer.in_backward=true,optimizer.name=sgd" -sluice-differentiate -sluice-optimize -sluice-recompute -sluice-partition -sluice-prefetch | FileCheck %s --check-prefix=RANK
// Tests that each update is after the reduction of its gradients and before the next reduction, in the last repetition, with
// the sum for the norm; and on one rank after the last reader of the weight.

module {
  model.parameter @a.w : tensor<4x4xf32> ones
  model.parameter @b.w : tensor<4x4xf32> ones
  // CHECK: %[[S:.*]]:5 = spmd.section "microbatch" repeat 2
  // CHECK: spmd.reduce_scatter_start {{.*}} unit "b"
  // CHECK: %[[GB:.*]] = spmd.wait {{.*}}spmd.when = #spmd.when<last>
  // CHECK-NEXT: %[[ONE:.*]] = model.constant 1.0{{.*}}spmd.when = #spmd.when<last>} : tensor<f32>
  // CHECK-NEXT: %[[GUARD:.*]] = model.constant 1.0{{.*}}spmd.when = #spmd.when<last>} : tensor<ui8>
  // CHECK-NEXT: %[[PB:.*]] = model.power_sum %[[GB]] {{.*}}model.phase = #model.phase<backward>, p = 2.0{{.*}}, spmd.when = #spmd.when<last>, unit = "b"}
  // CHECK-NEXT: %[[NB:.*]] = model.sgd %{{.*}}, %[[GB]], %{{.*}}, %{{.*}}, %[[ONE]], %[[GUARD]] {{.*}}model.phase = #model.phase<backward>{{.*}}spmd.when = #spmd.when<last>{{.*}}unit = "b"
  // CHECK-NEXT: spmd.reduce_scatter_start {{.*}} unit "a"
  // CHECK: %[[GA:.*]] = spmd.wait
  // CHECK-NEXT: %[[PA:.*]] = model.power_sum %[[GA]]
  // CHECK-NEXT: %[[NA:.*]] = model.sgd %{{.*}}, %[[GA]], %{{.*}}, %{{.*}}, %[[ONE]], %[[GUARD]]
  // CHECK-NEXT: spmd.yield %{{.*}}, %[[NB]], %[[NA]], %[[PB]], %[[PA]]
  // CHECK: spmd.section "update"
  // CHECK: model.add %[[S]]#3, %[[S]]#4 {{.*}}model.phase = #model.phase<update>
  // CHECK-NOT: model.sgd
  // CHECK: return %[[S]]#2, %[[S]]#1,

  // The derivative by the input reads the weight of `b` after its gradient is computed.
  // RANK: spmd.section "microbatch"
  // RANK: model.matmul {{.*}}model.block = "b", {{.*}}model.phase = #model.phase<backward>
  // RANK: model.matmul {{.*}}model.block = "b", {{.*}}model.phase = #model.phase<backward>
  // RANK: model.sgd {{.*}}unit = "b"
  // RANK: model.matmul {{.*}}model.block = "a", {{.*}}model.phase = #model.phase<backward>
  // RANK: model.sgd {{.*}}unit = "a"
  // RANK: spmd.yield
  func.func @train_step(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    %a = model.block "a" -> tensor<2x4xf32> {
      %w = model.read @a.w : tensor<4x4xf32>
      %y = model.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      model.yield %y : tensor<2x4xf32>
    }
    %b = model.block "b" -> tensor<2x4xf32> {
      %w = model.read @b.w : tensor<4x4xf32>
      %y = model.matmul %a, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      model.yield %y : tensor<2x4xf32>
    }
    %loss = model.reduce_sum %b {dims = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
