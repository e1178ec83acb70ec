// RUN: sluice-opt %s -plan-lower -split-input-file -verify-diagnostics

spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
// expected-error @+1 {{argument 0 is not a parameter, state or input}}
func.func @f(%x: tensor<4xf32>) attributes {model.entry = #model.entry<forward>} {
  return
}

// -----

spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
func.func @f(%w: tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}, {}]>> {spmd.parameter = @w}) attributes {model.entry = #model.entry<forward>} {
  return
}
// expected-error @+1 {{argument 0, expected 'tensor<2x4xf32>' as in other entry points but got}}
func.func @g(%w: tensor<4x4xf32> {spmd.parameter = @w}) attributes {model.entry = #model.entry<forward>} {
  return
}

// -----

module @outer {
  func.func @f(%x: tensor<4xf32> {spmd.input = "x"}) attributes {model.entry = #model.entry<forward>} {
    spmd.section "main" repeat 1 {
      // expected-error @+1 {{cannot be lowered, expected an op with a kernel, a view or a collective}}
      func.call @g() : () -> ()
    }
    return
  }
  func.func private @g()
}
