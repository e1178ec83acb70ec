// RUN: sluice-opt %s -split-input-file -verify-diagnostics -model-differentiate
// Tests losses that cannot be differentiated.

module {
  // expected-error@+1 {{loss of '@step' depends on no parameter}}
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    %l = model.reduce_sum %x {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{loss of '@step' depends on no parameter}}
  func.func @step(%x: tensor<f32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    return %x : tensor<f32>
  }
}

// -----

module {
  model.parameter @w : tensor<4xf32> ones
  func.func @step(%i: tensor<2xi32> {model.input = "i"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    %w = model.read @w : tensor<4xf32>
    // expected-error@+1 {{op 'model.softmax_grad' between parameters and loss has no derivative}}
    %d = model.softmax_grad %w, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %l = model.reduce_sum %d {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
