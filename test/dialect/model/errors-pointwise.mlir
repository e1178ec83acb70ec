// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid elementwise ops. Labels are those of docs/spec/model.md.

// binary_c1: shapes that do not broadcast
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'model.add' op operand #1 has the wrong extents, expected [2 or 1, 3 or 1] but got [2]}}
  %0 = model.add %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// binary_c2: two element types
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @below {{multiply: operands differ in element type, expected 'f32' but got 'f64'}}
  // expected-error @below {{'model.multiply' op failed to infer returned types}}
  %0 = model.multiply %a, %b : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

// the result type follows from the operands
func.func @f(%a: tensor<2xf32>) {
  // expected-error @below {{'model.exp' op inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<2xf64>'}}
  // expected-error @below {{'model.exp' op failed to infer returned types}}
  %0 = model.exp %a : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

// compare_c1: an unknown predicate
func.func @f(%a: tensor<2xf32>) {
  // expected-error @+2 {{expected one of [eq, ne, lt, le, gt, ge] for a predicate, got: near}}
  // expected-error @+1 {{failed to parse Model_ComparePredicateAttr parameter 'value' which is to be a `::sluice::ComparePredicate`}}
  %0 = model.compare %a, %a {predicate = #model.predicate<near>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xui8>
  return
}

// -----

// compare_c2: two element types
func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>) {
  // expected-error @below {{'model.compare' op failed to verify that all of {lhs, rhs} have same element type}}
  %0 = model.compare %a, %b {predicate = #model.predicate<lt>} : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xui8>
  return
}

// -----

// select_c1: two element types
func.func @f(%c: tensor<2xui8>, %a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @below {{'model.select' op failed to verify that all of {onTrue, onFalse} have same element type}}
  %0 = model.select %c, %a, %b : (tensor<2xui8>, tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

// select_c2: shapes that do not broadcast
func.func @f(%c: tensor<3xui8>, %a: tensor<2xf32>) {
  // expected-error @below {{'model.select' op operand #0 has the wrong extents, expected [2 or 1] but got [3]}}
  %0 = model.select %c, %a, %a : (tensor<3xui8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// cast_c1: a different shape
func.func @f(%a: tensor<2xf32>) {
  // expected-error @below {{'model.cast' op failed to verify that all of {operand, result} have same shape}}
  %0 = model.cast %a : (tensor<2xf32>) -> tensor<3xf64>
  return
}
