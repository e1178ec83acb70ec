// RUN: sluice-opt %s -canonicalize | FileCheck %s
// Tests the folders of ops, and cases that do not fold.

// CHECK-LABEL: func.func @same_type
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]]
func.func @same_type(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = model.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = model.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = model.broadcast %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = model.scale %x {factor = 1.0 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// A chain of reshapes folds to the last one, and to the operand if that has the same type.
// CHECK-LABEL: func.func @reshapes
// CHECK-SAME: (%[[X:.*]]: tensor<2x6xf32>)
// CHECK-NEXT: %[[Y:.*]] = model.reshape %[[X]] : (tensor<2x6xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: return %[[Y]], %[[X]]
func.func @reshapes(%x: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<2x6xf32>) {
  %0 = model.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %1 = model.reshape %0 : (tensor<12xf32>) -> tensor<3x4xf32>
  %2 = model.reshape %1 : (tensor<3x4xf32>) -> tensor<2x6xf32>
  return %1, %2 : tensor<3x4xf32>, tensor<2x6xf32>
}

// Rounding to a narrower type and back is not the identity.
// CHECK-LABEL: func.func @rounding
// CHECK: model.cast
// CHECK: model.cast
func.func @rounding(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = model.cast %x : (tensor<2xf32>) -> tensor<2xbf16>
  %1 = model.cast %0 : (tensor<2xbf16>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// An unused read is erased; a write is not.
model.parameter @w : tensor<2xf32> zeros
// CHECK-LABEL: func.func @reads
// CHECK-NOT: model.read
// CHECK: model.write @w
func.func @reads(%x: tensor<2xf32>) {
  %0 = model.read @w : tensor<2xf32>
  model.write @w, %x : tensor<2xf32>
  return
}

// Recomputed ops are not merged with the forward.
// CHECK-LABEL: func.func @recompute
// CHECK: model.tanh
// CHECK: model.recompute
// CHECK: model.tanh
func.func @recompute(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = model.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = model.recompute "h.0" -> tensor<2xf32> {
    %2 = model.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
    model.yield %2 : tensor<2xf32>
  }
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// Nothing is dropped at rate 0.
// CHECK-LABEL: func.func @keeps
// CHECK-NEXT: return %arg0
func.func @keeps(%x: tensor<2xf32>, %s: tensor<i64>) -> tensor<2xf32> {
  %0 = model.dropout %x, %s, %s, %s {key = 0 : i64, rate = 0.0 : f64} : (tensor<2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
