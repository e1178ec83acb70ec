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
