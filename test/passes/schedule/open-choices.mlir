// Values that sluice-compile replaces by choices are no settings of the passes.
// RUN: sluice-opt %s -split-input-file -verify-diagnostics -spmd-hoist-gathers -spmd-sink-waits
// expected-error @unknown {{recipe: 'schedule.forward_prefetch' = "auto" requires the choices of sluice-compile, which replace it}}
module attributes {model.recipe = {schedule.forward_prefetch = "auto", schedule.backward_prefetch = "auto"}} {}

// -----

// expected-error @unknown {{recipe: 'schedule.reduce_buffers' = "auto" requires the choices of sluice-compile, which replace it}}
module attributes {model.recipe = {schedule.reduce_buffers = "auto"}} {}
