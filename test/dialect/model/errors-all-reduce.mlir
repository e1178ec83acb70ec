// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests what the verifiers say of wrong reductions over ranks. Labels are those of docs/spec/model.md.

// all_reduce_c1: a maximum of ranks
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @below {{'model.all_reduce' op unknown reduction, expected 'mean' or 'sum' but got 'max'}}
  %0 = model.all_reduce %x {reduction = "max"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
