// RUN: sluice-opt %s -split-input-file -verify-diagnostics -model-verify-output
// Tests the errors of model-verify-output.

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<forward>} {
  // expected-error@+1 {{op 'model.block' has no sharding rule, cost or kernel}}
  %b = model.block "h.0" -> tensor<4xf32> {
    model.yield %x : tensor<4xf32>
  }
  return %b : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<forward>} {
  // expected-error@+1 {{missing 'model.block' on op 'model.exp'}}
  %y = model.exp %x {model.phase = #model.phase<forward>, model.ids = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<forward>} {
  // expected-error@+1 {{missing 'model.phase' on op 'model.exp'}}
  %y = model.exp %x {model.block = "", model.ids = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<forward>} {
  // expected-error@+1 {{'model.phase', expected forward, loss, backward or update but got "later"}}
  %y = model.exp %x {model.block = "", model.phase = "later", model.ids = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<forward>} {
  // expected-error@+1 {{op 'model.exp' requires a number in 'model.ids' for each result}}
  %y = model.exp %x {model.block = "", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<forward>} {
  %y = model.exp %x {model.block = "", model.phase = #model.phase<backward>, model.ids = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{op of phase 'forward' after a later phase}}
  %z = model.exp %y {model.block = "", model.phase = #model.phase<forward>, model.ids = array<i64: 2>} : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// expected-error@+1 {{train entry point '@f' has no update}}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<train>} {
  %y = model.exp %x {model.block = "", model.phase = #model.phase<forward>, model.ids = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

module {
  model.parameter @w : tensor<4xf32> ones
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<train>} {
    %y = model.gradient @w, %x {model.block = "", model.phase = #model.phase<backward>, model.ids = array<i64: 1>} : tensor<4xf32>
    // expected-error@+1 {{second gradient of '@w'}}
    %z = model.gradient @w, %x {model.block = "", model.phase = #model.phase<backward>, model.ids = array<i64: 2>} : tensor<4xf32>
    return %z : tensor<4xf32>
  }
}

// -----

module {
  model.parameter @w : tensor<4xf32> ones
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<train>} {
    model.write @w, %x {model.block = "", model.phase = #model.phase<update>, model.ids = array<i64>} : tensor<4xf32>
    // expected-error@+1 {{second write of '@w'}}
    model.write @w, %x {model.block = "", model.phase = #model.phase<update>, model.ids = array<i64>} : tensor<4xf32>
    return %x : tensor<4xf32>
  }
}

// -----

module {
  model.parameter @w : tensor<4xf32> ones
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = "", model.phase = #model.phase<forward>, model.ids = array<i64: 1>} : tensor<4xf32>
    model.write @w, %w {model.block = "", model.phase = #model.phase<update>, model.ids = array<i64>} : tensor<4xf32>
    return %w : tensor<4xf32>
  }
}
