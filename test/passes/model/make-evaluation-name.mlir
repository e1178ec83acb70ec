// RUN: sluice-opt %s -split-input-file -model-make-evaluation | FileCheck %s
// Tests that eval_step is derived from a train function of any name: train_step, else the first.

// CHECK-LABEL: func.func @second
// CHECK-LABEL: func.func @train_step
// CHECK-LABEL: func.func @eval_step
// CHECK: model.exp
module {
  func.func @second(%x: tensor<f32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    return %x : tensor<f32>
  }
  func.func @train_step(%x: tensor<f32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %y = model.exp %x : tensor<f32>
    return %y : tensor<f32>
  }
}

// -----

// CHECK-LABEL: func.func @fit
// CHECK-LABEL: func.func @eval_step
// CHECK: model.exp
module {
  func.func @fit(%x: tensor<f32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %y = model.exp %x : tensor<f32>
    return %y : tensor<f32>
  }
  func.func @fit_more(%x: tensor<f32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    return %x : tensor<f32>
  }
}
