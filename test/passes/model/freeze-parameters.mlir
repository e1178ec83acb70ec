// RUN: sluice-opt %s -split-input-file -verify-diagnostics -model-freeze-parameters | FileCheck %s
// Tests that globs freeze by name and by alias, and that a glob that matches nothing is a warning.

module attributes {model.recipe = {parameters.frozen = ["h.*.weight", "lm_head.*"]}} {
  // CHECK: model.parameter @h.0.weight : tensor<4xf32> ones frozen
  model.parameter @h.0.weight : tensor<4xf32> ones
  // CHECK: model.parameter @h.0.bias : tensor<4xf32> ones{{$}}
  model.parameter @h.0.bias : tensor<4xf32> ones
  // CHECK: model.parameter @wte.weight : tensor<4xf32> ones aliases ["lm_head.weight"] frozen
  model.parameter @wte.weight : tensor<4xf32> ones aliases ["lm_head.weight"]
}

// -----

// expected-warning@+1 {{glob 'x.*' of 'parameters.frozen' matches no parameter}}
module attributes {model.recipe = {parameters.frozen = ["*", "x.*"]}} {
  model.parameter @h.0.weight : tensor<4xf32> ones
}
