// RUN: sluice-opt %s -verify-diagnostics -model-apply-optimizer
// Tests that the update needs gradients.

// expected-error@+1 {{'@step' without gradients, expected a differentiated function}}
func.func @step(%l: tensor<f32> {model.input = "l"}) -> (tensor<f32> {model.output = "loss"})
    attributes {model.entry = #model.entry<train>} {
  return %l : tensor<f32>
}
