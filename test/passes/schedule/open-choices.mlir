// Values that sluice-compile replaces by choices are no settings of the passes.
// RUN: sluice-opt %s -split-input-file -verify-diagnostics -spmd-hoist-gathers
// expected-error @unknown {{recipe: 'schedule.forward_prefetch' = "auto" requires the choices of sluice-compile, which replace it}}
module attributes {model.recipe = {schedule.forward_prefetch = "auto", schedule.backward_prefetch = "auto"}} {}
