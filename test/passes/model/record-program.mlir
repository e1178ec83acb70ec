// RUN: sluice-opt %s -model-record-program | FileCheck %s
// RUN: sluice-opt %s -model-record-program > %t.once
// RUN: sluice-opt %t.once -model-record-program | diff %t.once -
// Tests the numbers of values, over all entry points and into regions, and the copy.

// CHECK-LABEL: module
// CHECK: func.func @f(%{{.*}}: tensor<4xf32> {model.id = 1 : i64, model.input = "x"})
// CHECK: model.read @w {model.ids = array<i64: 2>}
// CHECK: model.recompute "h.0" -> tensor<4xf32> attributes {model.ids = array<i64: 4>}
// CHECK: model.exp %{{.*}} {model.ids = array<i64: 3>}
// CHECK: model.write @w, %{{.*}} {model.ids = array<i64>}
// CHECK: func.func @g(%{{.*}}: tensor<4xf32> {model.id = 5 : i64, model.input = "x"})
// CHECK: module attributes {model.unsharded} {
// CHECK: model.parameter @w
// CHECK: func.func @f(%{{.*}}: tensor<4xf32> {model.id = 1 : i64, model.input = "x"})
// CHECK: func.func @g
module {
  model.parameter @w : tensor<4xf32> ones
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w : tensor<4xf32>
    %r = model.recompute "h.0" -> tensor<4xf32> {
      %e = model.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      model.yield %e : tensor<4xf32>
    }
    model.write @w, %w : tensor<4xf32>
    return %r : tensor<4xf32>
  }
  func.func @g(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xf32>
  }
}
