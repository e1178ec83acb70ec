// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid creation ops. Labels are those of docs/spec/model.md.

// iota_c1: a dim that the result does not have
func.func @f() {
  // expected-error @below {{'model.iota' op dim is out of range, expected at least 0 and less than 2 but got 2}}
  %0 = model.iota 2 : tensor<2x3xi64>
  return
}

// -----

// random_normal_c1: only one index
func.func @f(%s: tensor<i64>) {
  // expected-error @below {{'model.random_normal' op zeros are not a range, expected first <= last but got [4]}}
  %0 = model.random_normal %s {key = 0 : i64, mean = 0.0 : f64, stddev = 1.0 : f64, zeros = array<i64: 4>} : (tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// random_uniform_c1: a range whose end is before its begin
func.func @f(%s: tensor<i64>) {
  // expected-error @below {{'model.random_uniform' op zeros are not a range, expected first <= last but got [4, 2]}}
  %0 = model.random_uniform %s {key = 0 : i64, low = 0.0 : f64, high = 1.0 : f64, zeros = array<i64: 4, 2>} : (tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// random_normal_c2: a step without a row
func.func @f(%s: tensor<i64>) {
  // expected-error @below {{'model.random_normal' op operands after the seed, expected 0 or 2 but got 1}}
  %0 = model.random_normal %s, %s {key = 0 : i64, mean = 0.0 : f64, stddev = 1.0 : f64} : (tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// random_normal_c3: a key of more than 32 bits
func.func @f(%s: tensor<i64>) {
  // expected-error @below {{'model.random_normal' op numbers of a step have rank 1 or more, and a 'key' of 0 to 4294967295}}
  %0 = model.random_normal %s, %s, %s {key = 4294967296 : i64, mean = 0.0 : f64, stddev = 1.0 : f64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// random_uniform_c1: no rows
func.func @f(%s: tensor<i64>) {
  // expected-error @below {{'model.random_uniform' op numbers of a step have rank 1 or more, and a 'key' of 0 to 4294967295}}
  %0 = model.random_uniform %s, %s, %s {key = 0 : i64, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<f32>
  return
}
