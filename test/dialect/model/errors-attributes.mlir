// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the parser's errors for unknown words of an enum.

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+2 {{expected one of [forward, loss, backward, update, init] for a phase, got: sideways}}
  // expected-error @+1 {{failed to parse Model_PhaseAttr parameter 'value' which is to be a `::sluice::Phase`}}
  %0 = model.exp %x {model.phase = #model.phase<sideways>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// expected-error @+2 {{expected one of [train, eval, forward, init] for an entry-point kind, got: test}}
// expected-error @+1 {{failed to parse Model_EntryKindAttr parameter 'value' which is to be a `::sluice::EntryKind`}}
func.func @f() attributes {model.entry = #model.entry<test>} {
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{'model.saved', expected a list of pairs of integers of at least 0}}
  %0 = model.exp %x {model.saved = array<i64: 8, 4, 8>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}
