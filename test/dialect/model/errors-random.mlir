// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests what the verifiers say of wrong draws. Labels are those of docs/spec/model.md.

// dropout_c1: nothing would be left
func.func @f(%x: tensor<2x3xf32>, %s: tensor<i64>) {
  // expected-error @below {{'model.dropout' op rate is out of range, expected at least 0 and less than 1 but got 1}}
  %0 = model.dropout %x, %s, %s, %s {key = 0 : i64, rate = 1.0 : f64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// dropout_c2: a key that does not fit
func.func @f(%x: tensor<2x3xf32>, %s: tensor<i64>) {
  // expected-error @below {{'model.dropout' op key is out of range, expected 0 to 4294967295 but got -1}}
  %0 = model.dropout %x, %s, %s, %s {key = -1 : i64, rate = 0.5 : f64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// dropout_c3: a seed for each row
func.func @f(%x: tensor<2x3xf32>, %s: tensor<i64>, %t: tensor<2xi64>) {
  // expected-error @below {{'model.dropout' op seed has the wrong shape, expected scalar but got 2}}
  %0 = model.dropout %x, %t, %s, %s {key = 0 : i64, rate = 0.5 : f64} : (tensor<2x3xf32>, tensor<2xi64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}
