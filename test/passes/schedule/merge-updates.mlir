// RUN: sluice-opt %s -spmd-merge-updates -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-merge-updates | diff %t.once -
// Tests that consecutive updates of a unit's parameters become one, with the numbers of all results
// and the unit's name; and that an op that differs in attributes or shared operands, belongs to another unit, is held by ranks along
// other axes, reads the result of another update, has another op in between, or is not an update, does not change.

spmd.mesh @mesh <shard = 2>
spmd.unit @root [@r, @s] {}
spmd.unit @h [@a, @b, @c, @d] {}
spmd.unit @t [@e, @f, @i, @j] {}
model.parameter @r : tensor<4xf32> zeros
model.parameter @s : tensor<4xf32> zeros
model.parameter @a : tensor<4xf32> zeros
model.parameter @b : tensor<4xf32> zeros
model.parameter @c : tensor<4xf32> zeros
model.parameter @d : tensor<4xf32> zeros
model.parameter @e : tensor<2xf32> zeros {spmd.sharding = #spmd.sharding<[{"tensor", chunk = 2, total = 4}]>}
model.parameter @f : tensor<2xf32> zeros {spmd.sharding = #spmd.sharding<[{"tensor", chunk = 2, total = 4}]>}
model.parameter @i : tensor<2xf32> zeros {spmd.sharding = #spmd.sharding<[{"expert", chunk = 2, total = 4}]>}
model.parameter @j : tensor<2xf32> zeros

// CHECK-LABEL: func.func @lists
// CHECK: spmd.section "update"
// CHECK-NEXT: %[[R:.*]]:2 = model.sgd %arg0, %arg4, %arg1, %arg4, %arg5, %arg7, %arg8, %arg9 {model.ids = array<i64: 5, 7>, {{.*}}unit = "root", weight_decay = 1.000000e-01 : f64}
// CHECK-NEXT: %[[H:.*]]:2 = model.sgd %arg2, %arg4, %arg3, %arg4, %arg5, %arg7, %arg8, %arg9 {model.ids = array<i64: 8, 9>, {{.*}}unit = "h",
// CHECK-NEXT: spmd.yield %[[R]]#0, %[[R]]#1, %[[H]]#0, %[[H]]#1
func.func @lists(%r: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @r},
                %s: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @s},
                %a: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @a},
                %b: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @b},
                %g: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.input = "g"},
                %lr: tensor<f32> {spmd.input = "lr"},
                %rate: tensor<f32> {spmd.input = "rate"},
                %step: tensor<i64> {spmd.input = "step"},
                %clip: tensor<f32> {spmd.input = "clip"},
                %ok: tensor<ui8> {spmd.input = "ok"})
    -> (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 0 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 1 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 2 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 3 : i64}) attributes {model.entry = #model.entry<train>} {
  %n:4 = spmd.section "update" repeat 1 -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {
    %0 = model.sgd %r, %g, %lr, %step, %clip, %ok {model.ids = array<i64: 5>, momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %1 = model.sgd %s, %g, %lr, %step, %clip, %ok {model.ids = array<i64: 7>, momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %2 = model.sgd %a, %g, %lr, %step, %clip, %ok {model.ids = array<i64: 8>, momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %3 = model.sgd %b, %g, %lr, %step, %clip, %ok {model.ids = array<i64: 9>, momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    spmd.yield %0, %1, %2, %3 : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
  }
  return %n#0, %n#1, %n#2, %n#3 : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
}

// CHECK-LABEL: func.func @groups
// CHECK: spmd.section "update"
// CHECK-NEXT: %[[AC:.*]]:2 = model.sgd %arg0, %arg4, %arg2, %arg4, %arg5, {{.*}}weight_decay = 1.000000e-01
// CHECK-NEXT: %[[B:.*]] = model.sgd %arg1, {{.*}}weight_decay = 0.000000e+00
// CHECK-NEXT: %[[D:.*]] = model.sgd %arg3, %arg4, %arg6,
// CHECK-NEXT: spmd.yield %[[AC]]#0, %[[B]], %[[AC]]#1, %[[D]]
func.func @groups(%a: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @a},
                %b: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @b},
                %c: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @c},
                %d: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @d},
                %g: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.input = "g"},
                %lr: tensor<f32> {spmd.input = "lr"},
                %rate: tensor<f32> {spmd.input = "rate"},
                %step: tensor<i64> {spmd.input = "step"},
                %clip: tensor<f32> {spmd.input = "clip"},
                %ok: tensor<ui8> {spmd.input = "ok"})
    -> (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 0 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 1 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 2 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 3 : i64}) attributes {model.entry = #model.entry<train>} {
  %n:4 = spmd.section "update" repeat 1 -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {
    %0 = model.sgd %a, %g, %lr, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %1 = model.sgd %b, %g, %lr, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %2 = model.sgd %c, %g, %lr, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %3 = model.sgd %d, %g, %rate, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    spmd.yield %0, %1, %2, %3 : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
  }
  return %n#0, %n#1, %n#2, %n#3 : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
}

// CHECK-LABEL: func.func @between
// CHECK: spmd.section "update"
// CHECK-NEXT: model.sgd %arg0,
// CHECK-NEXT: %[[G:.*]] = model.relu
// CHECK-NEXT: %[[B:.*]] = model.sgd %arg1, %[[G]],
// CHECK-NEXT: model.sgd %arg2, %[[B]],
// CHECK-NEXT: model.add %arg3,
func.func @between(%a: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @a},
                %b: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @b},
                %c: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @c},
                %d: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.parameter = @d},
                %g: tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.input = "g"},
                %lr: tensor<f32> {spmd.input = "lr"},
                %rate: tensor<f32> {spmd.input = "rate"},
                %step: tensor<i64> {spmd.input = "step"},
                %clip: tensor<f32> {spmd.input = "clip"},
                %ok: tensor<ui8> {spmd.input = "ok"})
    -> (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 0 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 1 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 2 : i64}, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {spmd.donates = 3 : i64}) attributes {model.entry = #model.entry<train>} {
  %n:4 = spmd.section "update" repeat 1 -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>> {
    %0 = model.sgd %a, %g, %lr, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %h = model.relu %g : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %1 = model.sgd %b, %h, %lr, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %2 = model.sgd %c, %1, %lr, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    %3 = model.add %d, %g : (tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>) -> tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
    spmd.yield %0, %1, %2, %3 : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
  }
  return %n#0, %n#1, %n#2, %n#3 : tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>, tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
}

// CHECK-LABEL: func.func @axes
// CHECK: spmd.section "update"
// CHECK-NEXT: %[[EF:.*]]:2 = model.sgd %arg0, %arg4, %arg1,
// CHECK-NEXT: %[[J:.*]] = model.sgd %arg3,
// CHECK-NEXT: %[[I:.*]] = model.sgd %arg2,
// CHECK-NEXT: spmd.yield %[[EF]]#0, %[[EF]]#1, %[[I]], %[[J]]
func.func @axes(%e: tensor<2xf32> {spmd.parameter = @e},
                %f: tensor<2xf32> {spmd.parameter = @f},
                %i: tensor<2xf32> {spmd.parameter = @i},
                %j: tensor<2xf32> {spmd.parameter = @j},
                %g: tensor<2xf32> {spmd.input = "g"},
                %lr: tensor<f32> {spmd.input = "lr"},
                %rate: tensor<f32> {spmd.input = "rate"},
                %step: tensor<i64> {spmd.input = "step"},
                %clip: tensor<f32> {spmd.input = "clip"},
                %ok: tensor<ui8> {spmd.input = "ok"})
    -> (tensor<2xf32> {spmd.donates = 0 : i64}, tensor<2xf32> {spmd.donates = 1 : i64}, tensor<2xf32> {spmd.donates = 2 : i64}, tensor<2xf32> {spmd.donates = 3 : i64}) attributes {model.entry = #model.entry<train>} {
  %n:4 = spmd.section "update" repeat 1 -> tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> {
    %0 = model.sgd %e, %g, %lr, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32>
    %1 = model.sgd %j, %g, %lr, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32>
    %2 = model.sgd %i, %g, %lr, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32>
    %3 = model.sgd %f, %g, %lr, %step, %clip, %ok {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<2xf32>
    spmd.yield %0, %3, %2, %1 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  return %n#0, %n#1, %n#2, %n#3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
