// RUN: sluice-opt %s -verify-diagnostics -model-apply-optimizer
// Tests that the update needs gradients.

// expected-error@+1 {{function '@step' has no gradients}}
func.func @step(%l: tensor<f32> {model.input = "l"}) -> (tensor<f32> {model.output = "loss"})
    attributes {model.entry = #model.entry<train>} {
  return %l : tensor<f32>
}
