// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid random numbers. Labels are those of docs/spec/model.md.

// dropout_c1: a rate that drops every element
func.func @f(%x: tensor<2x3xf32>, %s: tensor<i64>) {
  // expected-error @below {{'model.dropout' op attribute 'rate' failed to satisfy constraint: 64-bit float attribute whose value is 0 to less than 1}}
  %0 = model.dropout %x, %s, %s, %s {key = 0 : i64, rate = 1.0 : f64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// dropout_c2: a key of more than 32 bits
func.func @f(%x: tensor<2x3xf32>, %s: tensor<i64>) {
  // expected-error @below {{'model.dropout' op attribute 'key' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative whose maximum value is 4294967295}}
  %0 = model.dropout %x, %s, %s, %s {key = -1 : i64, rate = 0.5 : f64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// dropout_c3: a seed for each row
func.func @f(%x: tensor<2x3xf32>, %s: tensor<i64>, %t: tensor<2xi64>) {
  // expected-error @below {{'model.dropout' op operand #1 must be scalar tensor of 64-bit signless integer values, but got 'tensor<2xi64>'}}
  %0 = model.dropout %x, %t, %s, %s {key = 0 : i64, rate = 0.5 : f64} : (tensor<2x3xf32>, tensor<2xi64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}
