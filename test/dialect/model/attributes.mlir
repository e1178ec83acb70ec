// RUN: sluice-opt %s -split-input-file -verify-diagnostics | sluice-opt -split-input-file | FileCheck %s
// Tests the text of the model dialect's attributes.

// CHECK-LABEL: func.func @phases
// CHECK-SAME: model.entry = #model.entry<forward>
func.func @phases(%x: tensor<2xf32>) -> tensor<2xf32> attributes {model.entry = #model.entry<forward>} {
  // CHECK: model.phase = #model.phase<forward>
  %0 = model.exp %x {model.phase = #model.phase<forward>} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: model.phase = #model.phase<update>
  %1 = model.exp %0 {model.phase = #model.phase<update>} : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
