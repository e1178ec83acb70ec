// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid losses. Labels are those of docs/spec/model.md.

// cross_entropy_c1: logits without dims
func.func @f(%l: tensor<f32>, %t: tensor<i32>) {
  // expected-error @below {{values of rank 1 or more, but got 'tensor<f32>'}}
  %0:2 = model.cross_entropy %l, %t {reduction = #model.reduction<mean>} : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// cross_entropy_c2: targets of a different shape
func.func @f(%l: tensor<2x3x5xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{'model.cross_entropy' op operand #1 has the wrong extents, expected [2, 3] but got [6]}}
  %0:2 = model.cross_entropy %l, %t {reduction = #model.reduction<mean>} : (tensor<2x3x5xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<2x3xf32>)
  return
}

// -----

// cross_entropy_c3: an unknown reduction
func.func @f(%l: tensor<2x5xf32>, %t: tensor<2xi32>) {
  // expected-error @+2 {{expected one of [mean, sum] for a reduction of a loss, got: none}}
  // expected-error @+1 {{failed to parse Model_LossReductionAttr parameter 'value' which is to be a `::sluice::LossReduction`}}
  %0:2 = model.cross_entropy %l, %t {reduction = #model.reduction<none>} : (tensor<2x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
  return
}

// -----

// cross_entropy_c4: a smoothing above 1
func.func @f(%l: tensor<2x5xf32>, %t: tensor<2xi32>) {
  // expected-error @below {{custom op 'model.cross_entropy' 'model.cross_entropy' op attribute 'label_smoothing' failed to satisfy constraint: 64-bit float attribute whose value is 0 to 1}}
  %0:2 = model.cross_entropy %l, %t {reduction = #model.reduction<mean>, label_smoothing = 1.5 : f64} : (tensor<2x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
  return
}

// -----

// cross_entropy_grad_c1: targets of a different shape
func.func @f(%d: tensor<f32>, %l: tensor<2x5xf32>, %t: tensor<3xi32>, %e: tensor<2xf32>) {
  // expected-error @below {{'model.cross_entropy_grad' op operand #2 has the wrong extents, expected [2] but got [3]}}
  %0 = model.cross_entropy_grad %d, %l, %t, %e {reduction = #model.reduction<mean>} : (tensor<f32>, tensor<2x5xf32>, tensor<3xi32>, tensor<2xf32>) -> tensor<2x5xf32>
  return
}

// -----

// cross_entropy_grad_c2: a cotangent for each row
func.func @f(%d: tensor<2xf32>, %l: tensor<2x5xf32>, %t: tensor<2xi32>, %e: tensor<2xf32>) {
  // expected-error @below {{'model.cross_entropy_grad' op operand #0 has the wrong extents, expected one element but got [2]}}
  %0 = model.cross_entropy_grad %d, %l, %t, %e {reduction = #model.reduction<mean>} : (tensor<2xf32>, tensor<2x5xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2x5xf32>
  return
}

// -----

// cross_entropy_grad_c3: statistics of a different element type
func.func @f(%d: tensor<f32>, %l: tensor<2x5xbf16>, %t: tensor<2xi32>, %e: tensor<2xbf16>) {
  // expected-error @below {{'model.cross_entropy_grad' op failed to verify that element type of dloss, lse is the statistics type of logits}}
  %0 = model.cross_entropy_grad %d, %l, %t, %e {reduction = #model.reduction<mean>} : (tensor<f32>, tensor<2x5xbf16>, tensor<2xi32>, tensor<2xbf16>) -> tensor<2x5xbf16>
  return
}
