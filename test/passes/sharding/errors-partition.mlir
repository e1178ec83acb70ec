// RUN: sluice-opt %s -spmd-partition -split-input-file -verify-diagnostics
// Tests what partitioning refuses.

// Nothing says where parameters live.
// expected-error @below {{mesh, expected one of spmd-assign-units but got none}}
module {
  func.func @f() attributes {model.entry = #model.entry<forward>} {
    return
  }
}

// -----

// The name of the entry that makes the weights is taken.
// expected-error @below {{symbol 'init', expected it free for the entry point that makes the weights but got one}}
module {
  spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
  func.func @init() attributes {model.entry = #model.entry<forward>} {
    return
  }
}
