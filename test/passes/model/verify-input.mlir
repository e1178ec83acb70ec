// RUN: sluice-opt %s -split-input-file -verify-diagnostics -model-verify-input
// Tests the errors for invalid modules; the last module is valid.

// expected-error@+1 {{module has no function with 'model.entry'}}
module {
}

// -----

// expected-error@+1 {{unknown recipe key, expected 'mesh.shard' or another of the recipe's keys but got 'mesh.shrad'}}
module attributes {model.recipe = {mesh.shrad = 2 : i64}} {
}

// -----

// expected-error@+1 {{value of 'mesh.shard', expected an integer of at least 1 and at most 1048576 but got 0}}
module attributes {model.recipe = {mesh.shard = 0 : i64}} {
}

// -----

// expected-error@+1 {{'model.recipe' value of 'mesh.shard', expected a string, number, boolean or list of them}}
module attributes {model.recipe = {mesh.shard = i32}} {
}

// -----

// expected-error@+1 {{'model.recipe', expected a dictionary but got 1 : i64}}
module attributes {model.recipe = 1 : i64} {
}

// -----

module {
  // expected-error@+1 {{missing 'model.entry' on function '@f': train, eval or forward}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "y"}) {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{'model.entry' of '@f', expected train, eval or forward but got #model.entry<init>}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "y"})
      attributes {model.entry = #model.entry<init>} {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{entry point '@f', expected a body of one block}}
  func.func private @f(tensor<4xf32>) attributes {model.entry = #model.entry<forward>}
}

// -----

module {
  // expected-error@+1 {{missing 'model.input' on argument 0 of '@f'}}
  func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{missing 'model.output' on result 0 of '@f'}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) -> tensor<4xf32> attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error@+1 {{'model.source_digest', expected 64 hexadecimal digits but got "0123"}}
module attributes {model.source_digest = "0123"} {
}

// -----

// An unused argument is verified too.
// expected-error@+1 {{unknown attribute, expected 'model.name', 'model.config', 'model.batch', 'model.sequence', 'model.recipe', 'model.recipe_origins', 'model.compiled_to', 'model.source_digest' or 'model.unsharded' but got 'model.bacth'}}
module attributes {model.bacth = 4 : i64} {
}

// -----

module {
  // expected-error@+1 {{unknown attribute on argument 0 of @f, expected 'model.input', 'model.limit', 'model.values' or 'model.id' but got 'model.limt'}}
  func.func @f(%x: tensor<4xi32> {model.input = "x", model.limt = 3 : i64}) -> (tensor<4xi32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xi32>
  }
}

// -----

module {
  // expected-error@+1 {{unknown attribute on result 0 of @f, expected 'model.output' but got 'model.input'}}
  func.func @f(%x: tensor<4xi32> {model.input = "x"}) -> (tensor<4xi32> {model.input = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xi32>
  }
}

// -----

module {
  // expected-error@+1 {{'model.limit' on argument 0 of @f, expected an integer of at least 1 but got 0}}
  func.func @f(%x: tensor<4xi32> {model.input = "x", model.limit = 0 : i64}) -> (tensor<4xi32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xi32>
  }
}

// -----

module {
  // expected-error@+1 {{'model.limit' on argument 0 of @f, expected an integer of at least 1 but got "3"}}
  func.func @f(%x: tensor<4xi32> {model.input = "x", model.limit = "3"}) -> (tensor<4xi32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xi32>
  }
}

// -----

module {
  // expected-error@+1 {{'model.values' on argument 0 of @f, expected the elements of a tensor but got 3}}
  func.func @f(%x: tensor<4xi32> {model.input = "x", model.values = 3 : i64}) -> (tensor<4xi32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xi32>
  }
}

// -----

module {
  // expected-error@+1 {{constant 'x' of '@f', expected values of type 'tensor<4xi32>' but got 'tensor<3xi32>'}}
  func.func @f(%x: tensor<4xi32> {model.input = "x", model.values = dense<1> : tensor<3xi32>}) -> (tensor<4xi32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xi32>
  }
}

// -----

module {
  // expected-error@+1 {{constants of '@f', expected at most 1048576 bytes but got 1048584 up to 'y': a larger one is a parameter that 'parameters.frozen' names}}
  func.func @f(%x: tensor<262144xi32> {model.input = "x", model.values = dense<1> : tensor<262144xi32>}, %y: tensor<1xi64> {model.input = "y", model.values = dense<1> : tensor<1xi64>}) -> (tensor<262144xi32> {model.output = "z"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<262144xi32>
  }
}

// -----

// Otherwise attention would read later tokens.
module {
  func.func @f(%x: tensor<1x4x2x8xf32> {model.input = "x"}) -> (tensor<1x4x2x8xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    // expected-error@+1 {{'model.attention' op unknown attribute, expected 'biased', 'causal', 'dropout', 'key', 'masked', 'packed', 'scale' or 'window' but got 'casual'}}
    %y, %lse = model.attention %x, %x, %x {casual, scale = 0.5 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
    return %y : tensor<1x4x2x8xf32>
  }
}

// -----

module {
  // expected-error@+1 {{'model.parameter' op unknown attribute, expected 'a', 'aliases', 'b', 'frozen', 'init', 'padding', 'state', 'sym_name' or 'type' but got 'frozn'}}
  model.parameter @w : tensor<4xf32> zeros {frozn}
}

// -----

module {
  // expected-error@+1 {{op 'model.block' is outside a function}}
  model.block "h" {
    model.yield
  }
}

// -----

module {
  // expected-error@+1 {{argument 1 of '@f' has the name 'lr', which is reserved for an input of the update}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}, %lr: tensor<4xf32> {model.input = "lr"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<eval>} {
    %s = model.reduce_sum %lr {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{argument 0 of '@f' has the name 'loss_scale', which is reserved for an input of the update}}
  func.func @f(%x: tensor<4xf32> {model.input = "loss_scale"}) -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{argument 1 of '@f' has the name 'step', which is reserved for an input of training: an evaluation has none}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}, %step: tensor<i64> {model.input = "step"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<eval>} {
    %s = model.reduce_sum %x {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{argument 1 of '@f' has the name 'seed', which is reserved for an input of training: an evaluation has none}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}, %seed: tensor<i64> {model.input = "seed"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<eval>} {
    %s = model.reduce_sum %x {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

module {
  // expected-error@+2 {{input 'factor' of '@f' has no dim of rows: 'tensor<f32>'}}
  // expected-note@+1 {{the first dim of an input is the rows of one rank's micro-batch; a constant has 'model.values', or is a parameter that 'parameters.frozen' names}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}, %factor: tensor<f32> {model.input = "factor"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    return %factor : tensor<f32>
  }
}

// -----

module {
  // expected-error@+2 {{input 'mask' of '@f' has another number of rows than input 'x', expected 4 but got 3}}
  // expected-note@+1 {{the first dim of an input}}
  func.func @f(%x: tensor<4x3xf32> {model.input = "x"}, %mask: tensor<3x3xf32> {model.input = "mask"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    %s = model.reduce_sum %x {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

module attributes {model.batch = 2 : i64} {
  // expected-error@+2 {{input 'x' of '@f' has another number of rows than 'model.batch', expected 2 but got 4}}
  // expected-note@+1 {{the first dim of an input}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<eval>} {
    %s = model.reduce_sum %x {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

module {
  // expected-error@+2 {{symbol 'init' is reserved for the entry point that computes the initial weights}}
  // expected-note@+1 {{rename the parameter}}
  model.parameter @init : tensor<4xf32> zeros
}

// -----

module {
  // expected-error@+2 {{symbol 'eval_step' is reserved for the entry point of evaluation}}
  // expected-note@+1 {{rename the parameter}}
  model.parameter @eval_step : tensor<4xf32> zeros
}

// -----

module {
  // expected-error@+2 {{symbol 'init' is reserved for the entry point that computes the initial weights}}
  // expected-note@+1 {{rename the function}}
  func.func @init(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    // expected-error@+2 {{'model.block' op has the name of the unit of the parameters in no block: 'root'}}
    // expected-note@+1 {{rename the block}}
    %y = model.block "root" -> tensor<4xf32> {
      model.yield %x : tensor<4xf32>
    }
    return %y : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{result 0 of the train entry point '@f', expected the name 'loss' but got 'los'}}
  func.func @f(%x: tensor<f32> {model.input = "x"}) -> (tensor<f32> {model.output = "los"}) attributes {model.entry = #model.entry<train>} {
    return %x : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{argument 1 of '@f' has the same name as another: 'x'}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}, %y: tensor<4xf32> {model.input = "x"})
      -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{argument 0 of '@f', expected a static tensor but got 'tensor<?xf32>'}}
  func.func @f(%x: tensor<?xf32> {model.input = "x"}) -> (tensor<?xf32> {model.output = "y"})
      attributes {model.entry = #model.entry<forward>} {
    return %x : tensor<?xf32>
  }
}

// -----

module {
  // expected-error@+1 {{results of the train entry point '@f', expected one loss of type 'tensor<f32>' but got '(tensor<4xf32>) -> tensor<4xf32>'}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  // expected-error@+1 {{argument 0 of '@f' has the name 'lr', which is reserved for an input of the update}}
  func.func @f(%x: tensor<f32> {model.input = "lr"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    return %x : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{argument 0 of '@f' has the name 'loss_scale', which is reserved for an input of the update}}
  func.func @f(%x: tensor<f32> {model.input = "loss_scale"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    return %x : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{input 'row' of '@f', expected 'tensor<i64>' but got 'tensor<f32>'}}
  func.func @f(%x: tensor<f32> {model.input = "row"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    return %x : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{results of the eval entry point '@f', expected one loss of type 'tensor<f32>'}}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "loss"})
      attributes {model.entry = #model.entry<eval>} {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  model.parameter @w : tensor<4xf32> zeros
  func.func @f() -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    // expected-error@+1 {{read of the optimizer state 'exp_avg' before the optimizer is applied}}
    %x = model.read @w state "exp_avg" : tensor<4xf32>
    return %x : tensor<4xf32>
  }
}

// -----

module {
  model.parameter @w : tensor<4xf32> zeros
  func.func @f() -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    %x = model.read @w : tensor<4xf32>
    // expected-error@+1 {{write of '@w', which is not declared as 'state'}}
    model.write @w, %x : tensor<4xf32>
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {model.recipe = {mesh.shard = 4 : i64, optimizer.betas = [0.9, 0.95]}} {
  model.parameter @w : tensor<4xf32> zeros
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    %w = model.read @w : tensor<4xf32>
    %p = model.multiply %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %s = model.reduce_sum %p {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{tensor has no elements: 'tensor<0x8xf32>'}}
  model.parameter @w : tensor<0x8xf32> zeros
}

// -----

module {
  // expected-error@+1 {{tensor, expected at most 256 TiB but got 'tensor<9999999999x9999999999xf32>'}}
  model.parameter @w : tensor<9999999999x9999999999xf32> zeros
}

// -----

module {
  // expected-error@+1 {{argument 0 of '@f', expected at most 256 TiB but got 'tensor<70368744177665xf32>'}}
  func.func @f(%x: tensor<70368744177665xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "y"})
      attributes {model.entry = #model.entry<forward>} {
    %y = model.reduce_sum %x {dims = array<i64: 0>} : (tensor<70368744177665xf32>) -> tensor<f32>
    return %y : tensor<f32>
  }
}

// -----

module {
  func.func @f(%x: tensor<2x9999999999xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "y"})
      attributes {model.entry = #model.entry<forward>} {
    // expected-error@+1 {{result, expected at most 256 TiB but got 'tensor<9999999999x9999999999xf32>'}}
    %p = model.matmul %x, %x {transpose_lhs} : (tensor<2x9999999999xf32>, tensor<2x9999999999xf32>) -> tensor<9999999999x9999999999xf32>
    %y = model.reduce_sum %p {dims = array<i64: 0, 1>} : (tensor<9999999999x9999999999xf32>) -> tensor<f32>
    return %y : tensor<f32>
  }
}
