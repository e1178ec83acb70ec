// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the errors of the parser and the verifier for invalid repetitions.

// expected-error @+2 {{expected all, first, not_first, last, not_last or repetitions such as [0, 2] but got 'never'}}
// expected-error @+1 {{failed to parse Spmd_WhenAttr parameter 'value' which is to be a `::sluice::When`}}
spmd.unit @h.0 [@h.0.w] {sync_in = #spmd.when<never>}

// -----

// expected-error @+1 {{missing repetitions between [ and ]}}
spmd.unit @h.0 [@h.0.w] {sync_in = #spmd.when<[]>}

// -----

// expected-error @+1 {{expected a repetition of at least 0 but got -1}}
spmd.unit @h.0 [@h.0.w] {sync_in = #spmd.when<[-1, 2]>}
