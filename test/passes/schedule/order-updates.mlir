// RUN: sluice-opt %s -spmd-order-updates -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-order-updates | diff %t.once -
// Tests that parameters of the unit that is gathered first are updated first, each after the operands of its update; that
// the order within a unit and the ops before the updates do not change; and that a program without gathers does not change.

spmd.mesh @mesh <shard = 2>
spmd.unit @root [@r, @s] {}
spmd.unit @h [@a, @b] {}
model.parameter @a : tensor<4xf32> zeros
model.parameter @r : tensor<4xf32> zeros
model.parameter @b : tensor<4xf32> zeros
model.parameter @s : tensor<4xf32> zeros

// CHECK-LABEL: func.func @step
// CHECK: spmd.section "update"
// CHECK-NEXT: %[[N:.*]] = model.relu %arg1
// CHECK-NEXT: %[[C:.*]] = model.relu %[[N]]
// CHECK-NEXT: %[[R:.*]] = model.add %arg1, %[[N]]
// CHECK-NEXT: %[[T:.*]] = model.relu %[[C]]
// CHECK-NEXT: %[[S:.*]] = model.add %arg3, %[[T]]
// CHECK-NEXT: %[[A:.*]] = model.add %arg0, %[[C]]
// CHECK-NEXT: %[[B:.*]] = model.add %arg2, %[[N]]
// CHECK-NEXT: spmd.yield %[[A]], %[[R]], %[[B]], %[[S]]
func.func @step(%a: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @a}, %r: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @r},
                %b: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @b}, %s: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @s})
    -> (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 0 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 1 : i64},
        tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 2 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 3 : i64}) attributes {model.entry = #model.entry<train>} {
  spmd.section "microbatch" repeat 1 {
    %t = spmd.all_gather_start %r over ["shard"] unit "root" : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %0 = spmd.wait %t : tensor<4xf32>
    %u = spmd.all_gather_start %a over ["shard"] unit "h" : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %1 = spmd.wait %u : tensor<4xf32>
  }
  %n:4 = spmd.section "update" repeat 1 -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {
    %norm = model.relu %r : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %clip = model.relu %norm : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %2 = model.add %a, %clip : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %3 = model.add %r, %norm : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %4 = model.add %b, %norm : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %twice = model.relu %clip : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %5 = model.add %s, %twice : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    spmd.yield %2, %3, %4, %5 : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
  }
  return %n#0, %n#1, %n#2, %n#3 : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
}

// CHECK-LABEL: func.func @alone
// CHECK: model.add %arg0
// CHECK-NEXT: model.add %arg1
func.func @alone(%a: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @a}, %r: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @r})
    -> (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 0 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 1 : i64}) attributes {model.entry = #model.entry<train>} {
  %n:2 = spmd.section "update" repeat 1 -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {
    %2 = model.add %a, %a : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %3 = model.add %r, %r : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    spmd.yield %2, %3 : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
  }
  return %n#0, %n#1 : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
}
