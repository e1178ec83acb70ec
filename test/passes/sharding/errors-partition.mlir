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
