// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid attention. Labels are those of docs/spec/model.md.

// attention_c1: three dims
func.func @f(%q: tensor<1x2x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) {
  // expected-error @below {{'model.attention' op operand #0 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 4, but got 'tensor<1x2x8xf32>'}}
  %0:2 = model.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<1x2x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c1: two element types
func.func @f(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf64>, %v: tensor<1x2x4x8xf32>) {
  // expected-error @below {{'model.attention' op failed to verify that all of {q, k, v} have same element type}}
  %0:2 = model.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf64>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c2: heads of a different size
func.func @f(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x6xf32>, %v: tensor<1x2x4x6xf32>) {
  // expected-error @below {{'model.attention' op result #0 has the wrong extents, expected [1, 2, 4, 6] but got [1, 2, 4, 8]}}
  %0:2 = model.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c2: v of a different shape than k
func.func @f(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x3x4x8xf32>) {
  // expected-error @below {{'model.attention' op operand #2 has the wrong extents, expected [1, 2, 4, 8] but got [1, 3, 4, 8]}}
  %0:2 = model.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x3x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c3: heads of q that heads of k do not divide
func.func @f(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>) {
  // expected-error @below {{'model.attention' op result #0 has the wrong extents, expected [1, 2, a multiple of 3, 8] but got [1, 2, 4, 8]}}
  %0:2 = model.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c4: a causal row without columns
func.func @f(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x4x8xf32>, %v: tensor<1x1x4x8xf32>) {
  // expected-error @below {{'model.attention' op columns of causal attention, expected at least 2 but got 1}}
  %0:2 = model.attention %q, %k, %v {causal, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c5: a window without causal
func.func @f(%q: tensor<1x2x4x8xf32>) {
  // expected-error @below {{'model.attention' op 'window' requires 'causal'}}
  %0:2 = model.attention %q, %q, %q {scale = 1.0 : f64, window = 2 : i64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c5: a window of 0 columns
func.func @f(%q: tensor<1x2x4x8xf32>) {
  // expected-error @below {{'model.attention' op attribute 'window' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0:2 = model.attention %q, %q, %q {causal, scale = 1.0 : f64, window = 0 : i64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_grad_c1: three dims
func.func @f(%d: tensor<1x2x4x8xf32>, %q: tensor<1x2x8xf32>, %k: tensor<1x2x4x8xf32>, %o: tensor<1x2x4x8xf32>, %l: tensor<1x4x2xf32>) {
  // expected-error @below {{'model.attention_grad' op operand #1 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values of rank 4, but got 'tensor<1x2x8xf32>'}}
  %0:3 = model.attention_grad %d, %q, %k, %k, %o, %l {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4x2xf32>) -> (tensor<1x2x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

// attention_grad_c2: a cotangent of a different shape
func.func @f(%d: tensor<1x2x4x7xf32>, %q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %o: tensor<1x2x4x8xf32>, %l: tensor<1x4x2xf32>) {
  // expected-error @below {{'model.attention_grad' op failed to verify that all of {q, out, dout} have same type}}
  %0:3 = model.attention_grad %d, %q, %k, %k, %o, %l {scale = 1.0 : f64} : (tensor<1x2x4x7xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4x2xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

// attention_grad_c3: rows before heads
func.func @f(%d: tensor<1x2x4x8xf32>, %q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %o: tensor<1x2x4x8xf32>, %l: tensor<1x2x4xf32>) {
  // expected-error @below {{'model.attention_grad' op operand #5 has the wrong extents, expected [1, 4, 2] but got [1, 2, 4]}}
  %0:3 = model.attention_grad %d, %q, %k, %k, %o, %l {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

// attention_grad_c3: a different element type
func.func @f(%d: tensor<1x2x4x8xf32>, %q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %o: tensor<1x2x4x8xf32>, %l: tensor<1x4x2xf64>) {
  // expected-error @below {{'model.attention_grad' op failed to verify that element type of lse is the statistics type of q}}
  %0:3 = model.attention_grad %d, %q, %k, %k, %o, %l {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4x2xf64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

// attention_c6: a bias that no attribute states
func.func @f(%q: tensor<1x2x4x8xf32>, %b: tensor<1x4x2x2xf32>) {
  // expected-error @below {{'model.attention' op operands of 'masked', 'biased', 'packed' and 'dropout', expected 0 but got 1}}
  %0:2 = model.attention %q, %q, %q, %b {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4x2x2xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c6: no mask
func.func @f(%q: tensor<1x2x4x8xf32>) {
  // expected-error @below {{'model.attention' op operands of 'masked', 'biased', 'packed' and 'dropout', expected 1 but got 0}}
  %0:2 = model.attention %q, %q, %q {masked, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c7: a bias of other heads
func.func @f(%q: tensor<1x2x4x8xf32>, %b: tensor<1x3x2x2xf32>) {
  // expected-error @below {{'model.attention' op operand #3 has the wrong extents, expected [1 or 1, 4 or 1, 2 or 1, 2] but got [1, 3, 2, 2]}}
  %0:2 = model.attention %q, %q, %q, %b {biased, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x3x2x2xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c7: a mask of one column
func.func @f(%q: tensor<1x2x4x8xf32>, %b: tensor<1x1x2x1xui8>) {
  // expected-error @below {{'model.attention' op operand #3 has the wrong extents, expected [1 or 1, 4 or 1, 2 or 1, 2] but got [1, 1, 2, 1]}}
  %0:2 = model.attention %q, %q, %q, %b {masked, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x2x1xui8>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c8: a mask of numbers
func.func @f(%q: tensor<1x2x4x8xf32>, %b: tensor<1x1x2x2xf32>) {
  // expected-error @below {{'model.attention' op mask has the wrong element type, expected ui8 but got 'f32'}}
  %0:2 = model.attention %q, %q, %q, %b {masked, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x2x2xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c8: a bias of another type
func.func @f(%q: tensor<1x2x4x8xf32>, %b: tensor<1x1x2x2xf64>) {
  // expected-error @below {{'model.attention' op bias has the wrong element type, expected that of q or its statistics type but got 'f64'}}
  %0:2 = model.attention %q, %q, %q, %b {biased, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x2x2xf64>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_grad_c4: the gradient of no bias
func.func @f(%q: tensor<1x2x4x8xf32>, %l: tensor<1x4x2xf32>) {
  // expected-error @below {{'model.attention_grad' op 'bias_grad' requires 'biased'}}
  %0:3 = model.attention_grad %q, %q, %q, %q, %q, %l {bias_grad, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4x2xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

// attention_grad_c1: two biases
func.func @f(%q: tensor<1x2x4x8xf32>, %l: tensor<1x4x2xf32>, %b: tensor<1x1x2x2xf32>) {
  // expected-error @below {{'model.attention_grad' op operands of 'masked', 'biased', 'packed' and 'dropout', expected 1 but got 2}}
  %0:3 = model.attention_grad %q, %q, %q, %q, %q, %l, %b, %b {biased, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

// attention_c9: a seed that is a mask
func.func @f(%q: tensor<1x2x4x8xf32>, %s: tensor<1x4x2x2xui8>, %t: tensor<i64>) {
  // expected-error @below {{'model.attention' op seed, step and row are i64 scalars, not of element type 'ui8'}}
  %0:2 = model.attention %q, %q, %q, %s, %t, %t {dropout = 0.5 : f64, key = 0 : i64, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4x2x2xui8>, tensor<i64>, tensor<i64>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c10: dropout of every probability
func.func @f(%q: tensor<1x2x4x8xf32>, %t: tensor<i64>) {
  // expected-error @below {{'model.attention' op attribute 'dropout' failed to satisfy constraint: 64-bit float attribute whose value is above 0 and less than 1}}
  %0:2 = model.attention %q, %q, %q, %t, %t, %t {dropout = 1.0 : f64, key = 0 : i64, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c10: dropout without a key
func.func @f(%q: tensor<1x2x4x8xf32>, %t: tensor<i64>) {
  // expected-error @below {{'model.attention' op 'dropout' requires 'key', and 'key' requires 'dropout'}}
  %0:2 = model.attention %q, %q, %q, %t, %t, %t {dropout = 0.5 : f64, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c6: documents that no attribute states
func.func @f(%q: tensor<1x2x4x8xf32>, %d: tensor<1x2xi32>) {
  // expected-error @below {{'model.attention' op operands of 'masked', 'biased', 'packed' and 'dropout', expected 0 but got 1}}
  %0:2 = model.attention %q, %q, %q, %d {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2xi32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c11: documents and a mask
func.func @f(%q: tensor<1x2x4x8xf32>, %m: tensor<1x1x2x2xui8>, %d: tensor<1x2xi32>) {
  // expected-error @below {{'model.attention' op 'packed' cannot be combined with 'masked' or 'biased'}}
  %0:2 = model.attention %q, %q, %q, %m, %d {masked, packed, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x2x2xui8>, tensor<1x2xi32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c11: more keys than queries
func.func @f(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x4x8xf32>, %d: tensor<1x2xi32>) {
  // expected-error @below {{'model.attention' op columns of packed attention, expected 2 but got 3}}
  %0:2 = model.attention %q, %k, %k, %d {packed, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x3x4x8xf32>, tensor<1x3x4x8xf32>, tensor<1x2xi32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c12: documents that are a mask
func.func @f(%q: tensor<1x2x4x8xf32>, %m: tensor<1x1x2x2xui8>) {
  // expected-error @below {{'model.attention' op operand #3 has the wrong extents, expected [1, 1] but got [1, 1, 2, 2]}}
  %0:2 = model.attention %q, %q, %q, %m {packed, scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x2x2xui8>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention_c12: documents of one row for two
func.func @f(%q: tensor<2x2x4x8xf32>, %d: tensor<1x2xi32>) {
  // expected-error @below {{'model.attention' op operand #3 has the wrong extents, expected [2, t] but got [1, 2]}}
  %0:2 = model.attention %q, %q, %q, %d {packed, scale = 1.0 : f64} : (tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<1x2xi32>) -> (tensor<2x2x4x8xf32>, tensor<2x4x2xf32>)
  return
}
