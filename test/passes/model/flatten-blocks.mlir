// RUN: sluice-opt %s -model-flatten-blocks | FileCheck %s
// RUN: sluice-opt %s -model-flatten-blocks > %t.once
// RUN: sluice-opt %t.once -model-flatten-blocks | diff %t.once -
// Tests that blocks and checkpoint regions become paths on their ops, and that flat ops do not change.

// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = model.exp %[[X]] {model.block = ""}
// CHECK-NEXT: %[[B:.*]] = model.tanh %[[A]] {model.block = "h.0"}
// CHECK-NEXT: %[[C:.*]] = model.exp %[[B]] {model.block = "h.0/mlp", model.checkpoint = "0"}
// CHECK-NEXT: %[[D:.*]] = model.log %[[C]] {model.block = "h.0/mlp", model.checkpoint = "0/1"}
// CHECK-NEXT: %[[E:.*]] = model.tanh %[[D]] {model.block = "other"}
// CHECK-NEXT: %[[F:.*]] = model.sqrt %[[E]] {model.block = "", model.checkpoint = "2"}
// CHECK-NEXT: return %[[F]], %[[B]]
func.func @f(%x: tensor<4xf32> {model.input = "x"})
    -> (tensor<4xf32> {model.output = "y"}, tensor<4xf32> {model.output = "z"}) attributes {model.entry = #model.entry<forward>} {
  %a = model.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %block:2 = model.block "h.0" -> tensor<4xf32>, tensor<4xf32> {
    %b = model.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
    %inner = model.block "mlp" -> tensor<4xf32> {
      %checkpoint = model.checkpoint -> tensor<4xf32> {
        %c = model.exp %b : (tensor<4xf32>) -> tensor<4xf32>
        %nested = model.checkpoint -> tensor<4xf32> {
          %d = model.log %c : (tensor<4xf32>) -> tensor<4xf32>
          model.yield %d : tensor<4xf32>
        }
        model.yield %nested : tensor<4xf32>
      }
      model.yield %checkpoint : tensor<4xf32>
    }
    model.yield %inner, %b : tensor<4xf32>, tensor<4xf32>
  }
  %e = model.tanh %block#0 {model.block = "other"} : (tensor<4xf32>) -> tensor<4xf32>
  %root = model.checkpoint -> tensor<4xf32> {
    %f = model.sqrt %e : (tensor<4xf32>) -> tensor<4xf32>
    model.yield %f : tensor<4xf32>
  }
  return %root, %block#1 : tensor<4xf32>, tensor<4xf32>
}

// A function that is not an entry point does not change.
// CHECK-LABEL: func.func @helper
// CHECK: model.block "h.0"
func.func @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = model.block "h.0" -> tensor<4xf32> {
    %y = model.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
    model.yield %y : tensor<4xf32>
  }
  return %b : tensor<4xf32>
}
