// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid chunked cross entropies. Labels are those of docs/spec/model.md.

// linear_cross_entropy_c1: a weight of rank 1
func.func @f(%x: tensor<6x4xf32>, %w: tensor<4xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{'model.linear_cross_entropy' op operand #1 has the wrong extents, expected [v, 4] but got [4]}}
  %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<6x4xf32>, tensor<4xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  return
}

// -----

// linear_cross_entropy_c1: a transposed weight
func.func @f(%x: tensor<6x4xf32>, %w: tensor<4x5xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{'model.linear_cross_entropy' op operand #1 has the wrong extents, expected [4, 4] but got [4, 5]}}
  %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<6x4xf32>, tensor<4x5xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  return
}

// -----

// linear_cross_entropy_c1: two element types
func.func @f(%x: tensor<6x4xf32>, %w: tensor<5x4xbf16>, %t: tensor<6xi32>) {
  // expected-error @below {{'model.linear_cross_entropy' op failed to verify that element type of weight is that of x}}
  %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<6x4xf32>, tensor<5x4xbf16>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  return
}

// -----

// linear_cross_entropy_c2: too few targets
func.func @f(%x: tensor<6x4xf32>, %w: tensor<5x4xf32>, %t: tensor<5xi32>) {
  // expected-error @below {{'model.linear_cross_entropy' op operand #2 has the wrong extents, expected [6] but got [5]}}
  %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<6x4xf32>, tensor<5x4xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<6xf32>)
  return
}

// -----

// linear_cross_entropy_c3: an unknown reduction
func.func @f(%x: tensor<6x4xf32>, %w: tensor<5x4xf32>, %t: tensor<6xi32>) {
  // expected-error @+2 {{expected one of [mean, sum] for a reduction of a loss, got: max}}
  // expected-error @+1 {{failed to parse Model_LossReductionAttr parameter 'value' which is to be a `::sluice::LossReduction`}}
  %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<max>, rows = 4 : i64} : (tensor<6x4xf32>, tensor<5x4xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  return
}

// -----

// linear_cross_entropy_c3: a smoothing above 1
func.func @f(%x: tensor<6x4xf32>, %w: tensor<5x4xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{custom op 'model.linear_cross_entropy' 'model.linear_cross_entropy' op attribute 'label_smoothing' failed to satisfy constraint: 64-bit float attribute whose value is 0 to 1}}
  %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<sum>, rows = 4 : i64, label_smoothing = 2.0} : (tensor<6x4xf32>, tensor<5x4xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  return
}

// -----

// linear_cross_entropy_c4: no rows at a time
func.func @f(%x: tensor<6x4xf32>, %w: tensor<5x4xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{'model.linear_cross_entropy' op attribute 'rows' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<mean>, rows = 0 : i64} : (tensor<6x4xf32>, tensor<5x4xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  return
}

// -----

// linear_cross_entropy_grad_c1: as the forward
func.func @f(%d: tensor<f32>, %x: tensor<6x4xf32>, %w: tensor<5x4xf32>, %t: tensor<6xi32>, %l: tensor<6xf32>) {
  // expected-error @below {{'model.linear_cross_entropy_grad' op attribute 'rows' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0:2 = model.linear_cross_entropy_grad %d, %x, %w, %t, %l {reduction = #model.reduction<mean>, rows = -1 : i64} : (tensor<f32>, tensor<6x4xf32>, tensor<5x4xf32>, tensor<6xi32>, tensor<6xf32>) -> (tensor<6x4xf32>, tensor<5x4xf32>)
  return
}

// -----

// linear_cross_entropy_grad_c2: a cotangent for each row
func.func @f(%d: tensor<6xf32>, %x: tensor<6x4xf32>, %w: tensor<5x4xf32>, %t: tensor<6xi32>, %l: tensor<6xf32>) {
  // expected-error @below {{'model.linear_cross_entropy_grad' op operand #0 must be scalar tensor of 32-bit float or 64-bit float values, but got 'tensor<6xf32>'}}
  %0:2 = model.linear_cross_entropy_grad %d, %x, %w, %t, %l {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<6xf32>, tensor<6x4xf32>, tensor<5x4xf32>, tensor<6xi32>, tensor<6xf32>) -> (tensor<6x4xf32>, tensor<5x4xf32>)
  return
}

// -----

// linear_cross_entropy_grad_c3: statistics of other rows
func.func @f(%d: tensor<f32>, %x: tensor<6x4xf32>, %w: tensor<5x4xf32>, %t: tensor<6xi32>, %l: tensor<5xf32>) {
  // expected-error @below {{'model.linear_cross_entropy_grad' op operand #4 has the wrong extents, expected [6] but got [5]}}
  %0:2 = model.linear_cross_entropy_grad %d, %x, %w, %t, %l {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<f32>, tensor<6x4xf32>, tensor<5x4xf32>, tensor<6xi32>, tensor<5xf32>) -> (tensor<6x4xf32>, tensor<5x4xf32>)
  return
}

// -----

// linear_cross_entropy_grad_c4: dx of another type
func.func @f(%d: tensor<f32>, %x: tensor<6x4xbf16>, %w: tensor<5x4xbf16>, %t: tensor<6xi32>, %l: tensor<6xf32>) {
  // expected-error @below {{'model.linear_cross_entropy_grad' op failed to verify that all of {x, dx} have same type}}
  %0:2 = model.linear_cross_entropy_grad %d, %x, %w, %t, %l {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<f32>, tensor<6x4xbf16>, tensor<5x4xbf16>, tensor<6xi32>, tensor<6xf32>) -> (tensor<6x4xf32>, tensor<5x4xf32>)
  return
}

// -----

// linear_cross_entropy_grad_c5: a narrower gradient of the weight
func.func @f(%d: tensor<f32>, %x: tensor<6x4xf32>, %w: tensor<5x4xf32>, %t: tensor<6xi32>, %l: tensor<6xf32>) {
  // expected-error @below {{'model.linear_cross_entropy_grad' op failed to verify that element type of dweight is that of weight or its statistics type}}
  %0:2 = model.linear_cross_entropy_grad %d, %x, %w, %t, %l {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<f32>, tensor<6x4xf32>, tensor<5x4xf32>, tensor<6xi32>, tensor<6xf32>) -> (tensor<6x4xf32>, tensor<5x4xbf16>)
  return
}

// -----

// linear_cross_entropy_c1: x without a dim
func.func @f(%x: tensor<f32>, %w: tensor<5x4xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{values of rank 1 or more, but got 'tensor<f32>'}}
  %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<f32>, tensor<5x4xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  return
}
