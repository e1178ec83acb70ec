// Values that sluice-compile replaces by choices are no settings of the passes.
// RUN: sluice-opt %s -split-input-file -verify-diagnostics -spmd-assign-units
// expected-error @unknown {{recipe: 'sharding.units' = "auto" requires the choices of sluice-compile, which replace it}}
module attributes {model.recipe = {sharding.units = "auto"}} {}

// -----

// expected-error @unknown {{recipe: 'sharding.reshard_after_backward' = "auto" requires the choices of sluice-compile, which replace it}}
module attributes {model.recipe = {sharding.reshard_after_backward = "auto"}} {}
