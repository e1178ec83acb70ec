// RUN: sluice-opt %s -split-input-file -verify-diagnostics -model-recompute

// Tests an op that the dialect does not have.
// expected-error @unknown {{recipe: unknown op in 'recompute.save', expected 'matmul' or another op of the model dialect but got 'matmull'}}
module attributes {model.recipe = {recompute.policy = "selective", recompute.save = ["matmull"]}} {}

// -----

// Tests a pattern that no op matches, in a table.
// expected-error @unknown {{recipe: unknown op in 'recompute.save', expected}}
module attributes {model.recipe = {recompute.policy = "selective", recompute.save = {h.0 = ["zz*"]}}} {
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) attributes {model.entry = #model.entry<train>} {
    %a = model.exp %x {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// Tests an op that no recomputed block has.
// expected-warning @unknown {{recipe: 'matmul' in 'recompute.save' matches no op of a recomputed block}}
module attributes {model.recipe = {recompute.policy = "selective", recompute.save = ["matmul", "exp"]}} {
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) attributes {model.entry = #model.entry<train>} {
    %a = model.exp %x {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// Tests tables that name no block.
// expected-error @unknown {{recipe: 'h.1' in 'recompute.policy' matches no block}}
module attributes {model.recipe = {recompute.policy = {h.1 = "block"}}} {
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) attributes {model.entry = #model.entry<train>} {
    %a = model.exp %x {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// expected-error @unknown {{recipe: 'mlp' in 'recompute.save' matches no block}}
module attributes {model.recipe = {recompute.policy = "selective", recompute.save = {mlp = ["exp"]}}} {
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) attributes {model.entry = #model.entry<train>} {
    %a = model.exp %x {model.block = "h.0/mlp", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// Tests two globs with different values for one block.
// expected-error @unknown {{recipe: value of 'recompute.policy' for block 'h.0' is ambiguous: globs give "block" and "none"}}
module attributes {model.recipe = {recompute.policy = {"*.0" = "block", "h.*" = "none"}}} {
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) attributes {model.entry = #model.entry<train>} {
    %a = model.exp %x {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// Tests that the pass does not choose.
// expected-error @unknown {{recipe: 'recompute.policy' = "budget" requires the choices of sluice-compile, which replace it}}
module attributes {model.recipe = {recompute.policy = "budget", memory.budget = "1GiB"}} {}
