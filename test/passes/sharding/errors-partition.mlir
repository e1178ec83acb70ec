// RUN: sluice-opt %s -spmd-partition -split-input-file -verify-diagnostics
// Tests the errors of partitioning.

// A module without the mesh and the units of spmd-assign-units.
// expected-error @below {{module has no spmd.mesh}}
// expected-note @below {{spmd-assign-units creates it}}
module {
  func.func @f() attributes {model.entry = #model.entry<forward>} {
    return
  }
}

// -----

// A function with the name of the entry point that computes the initial weights.
module {
  spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
  // expected-error @below {{symbol 'init' is reserved for the entry point that computes the initial weights}}
  func.func @init() attributes {model.entry = #model.entry<forward>} {
    return
  }
}

// -----

// A state that is read in the forward.
module {
  spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
  spmd.unit @root [@w]
  model.parameter @w : tensor<4xf32> zeros {unit = "root"}
  func.func @f() attributes {model.entry = #model.entry<forward>} {
    // expected-error @below {{'model.read' op reads the optimizer state 'exp_avg' outside of the update}}
    %0 = model.read @w state "exp_avg" {model.block = ""} : tensor<4xf32>
    return
  }
}

// -----

// A gradient that no op computes.
module {
  spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
  spmd.unit @root [@w]
  model.parameter @w : tensor<4xf32> zeros {unit = "root"}
  func.func @f() attributes {model.entry = #model.entry<forward>} {
    %0 = model.read @w {model.block = ""} : tensor<4xf32>
    // expected-error @below {{'model.gradient' op the gradient is a parameter, not the result of a compute op}}
    %1 = model.gradient @w, %0 {model.block = "", model.phase = #model.phase<backward>} : tensor<4xf32>
    return
  }
}

// -----

// A gather of two ranks on a mesh of four.
module {
  spmd.mesh @mesh <replicate = 2, shard = 2, tensor = 1>
  func.func @f(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<4x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    // expected-error @below {{'model.all_gather' op data-parallel ranks of the type, expected 4 (mesh.replicate times mesh.shard) but got 2}}
    // expected-note @below {{give the result 8 rows, 2 of each rank, or compile for 2 data-parallel ranks}}
    %0 = model.all_gather %x {model.block = ""} : (tensor<2x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

// A reduction of the rows of four ranks on one.
module {
  spmd.mesh @mesh <replicate = 1, shard = 1, tensor = 2>
  func.func @f(%x: tensor<8x4xf32> {model.input = "x"}) -> (tensor<2x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    // expected-error @below {{'model.reduce_scatter' op data-parallel ranks of the type, expected 1 (mesh.replicate times mesh.shard) but got 4}}
    // expected-note @below {{give the operand 2 rows, 2 of each rank, or compile for 4 data-parallel ranks}}
    %0 = model.reduce_scatter %x {model.block = ""} : (tensor<8x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
}
