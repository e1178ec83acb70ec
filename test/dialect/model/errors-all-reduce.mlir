// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid reductions over ranks. Labels are those of docs/spec/model.md.

// all_reduce_c1: a maximum over ranks
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{expected one of [mean, sum] for a reduction of a loss, got: max}}
  // expected-error @+1 {{failed to parse Model_LossReductionAttr parameter 'value' which is to be a `::sluice::LossReduction`}}
  %0 = model.all_reduce %x {reduction = #model.reduction<max>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
