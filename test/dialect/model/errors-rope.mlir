// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid rotary positions. Labels are those of docs/spec/model.md.

// rope_c1: three dims
func.func @f(%x: tensor<2x3x8xf32>) {
  // expected-error @below {{'model.rope' op operand #0 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 4, but got 'tensor<2x3x8xf32>'}}
  %0 = model.rope %x {theta = 1.0e4 : f64} : (tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

// rope_c2: an odd head
func.func @f(%x: tensor<1x2x3x5xf32>) {
  // expected-error @below {{'model.rope' op head size, expected an even number above 0 but got 5}}
  %0 = model.rope %x {theta = 1.0e4 : f64} : (tensor<1x2x3x5xf32>) -> tensor<1x2x3x5xf32>
  return
}

// -----

// rope_c3: no theta
func.func @f(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'model.rope' op attribute 'theta' failed to satisfy constraint: 64-bit float attribute whose value is a finite number above 0}}
  %0 = model.rope %x {theta = 0.0 : f64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

// rope_c3: a position before the first
func.func @f(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'model.rope' op attribute 'position' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = model.rope %x {theta = 1.0e4 : f64, position = -1 : i64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

// rope_c4: an unknown scaling
func.func @f(%x: tensor<1x2x3x4xf32>) {
  // expected-error @+2 {{expected one of [default, linear, llama3] for a scaling of rotary frequencies, got: dynamic}}
  // expected-error @+1 {{failed to parse Model_RopeScalingAttr parameter 'value' which is to be a `::sluice::RopeScaling`}}
  %0 = model.rope %x {theta = 1.0e4 : f64, scaling = #model.scaling<dynamic>} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

// rope_c5: limits in the wrong order
func.func @f(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'model.rope' op high is out of range, expected more than low}}
  %0 = model.rope %x {theta = 1.0e4 : f64, scaling = #model.scaling<llama3>, low = 4.0 : f64, high = 1.0 : f64} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

// rope_c6: too few divisors
func.func @f(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'model.rope' op divisors, expected 2 of them but got 1}}
  %0 = model.rope %x {theta = 1.0e4 : f64, divisors = array<i64: 1>} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

// rope_c6: a divisor of zero
func.func @f(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'model.rope' op divisors, expected numbers above 0 but got 0}}
  %0 = model.rope %x {theta = 1.0e4 : f64, divisors = array<i64: 1, 0>} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

// rope_c7: documents that no attribute states
func.func @f(%x: tensor<1x2x3x4xf32>, %d: tensor<1x2xi32>) {
  // expected-error @below {{'model.rope' op 'packed' requires documents, and documents require 'packed'}}
  %0 = model.rope %x, %d {theta = 1.0e4 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2xi32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

// rope_c8: documents of other rows
func.func @f(%x: tensor<1x2x3x4xf32>, %d: tensor<1x3xi32>) {
  // expected-error @below {{'model.rope' op operand #1 has the wrong extents, expected [1, 2] but got [1, 3]}}
  %0 = model.rope %x, %d {packed, theta = 1.0e4 : f64} : (tensor<1x2x3x4xf32>, tensor<1x3xi32>) -> tensor<1x2x3x4xf32>
  return
}
