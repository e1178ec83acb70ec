// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests what the verifiers say of wrong tensors out of nothing. Labels are those of docs/spec/model.md.

// iota_c1: a dim that the result does not have
func.func @f() {
  // expected-error @below {{'model.iota' op dim is out of range, expected at least 0 and less than 2 but got 2}}
  %0 = model.iota 2 : tensor<2x3xi64>
  return
}
