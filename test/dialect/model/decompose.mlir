// RUN: sluice-opt %s -model-decompose | FileCheck %s
// Tests the decomposition of every composite into primitives.

// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>, %[[W:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[MEAN:.*]] = model.reduce_mean %[[X]] {dims = array<i64: 1>, keep}
// CHECK-NEXT: %[[CENTRED:.*]] = model.subtract %[[X]], %[[MEAN]]
// CHECK-NEXT: %[[SQUARE:.*]] = model.multiply %[[CENTRED]], %[[CENTRED]]
// CHECK-NEXT: %[[VARIANCE:.*]] = model.reduce_mean %[[SQUARE]] {dims = array<i64: 1>, keep}
// CHECK-NEXT: %[[EPSILON:.*]] = model.constant 1.000000e-05 : tensor<f32>
// CHECK-NEXT: %[[SUM:.*]] = model.add %[[VARIANCE]], %[[EPSILON]]
// CHECK-NEXT: %[[RSTD:.*]] = model.rsqrt %[[SUM]]
// CHECK-NEXT: %[[NORMAL:.*]] = model.multiply %[[CENTRED]], %[[RSTD]]
// CHECK-NEXT: %[[SCALED:.*]] = model.multiply %[[NORMAL]], %[[W]]
// CHECK-NEXT: %[[Y:.*]] = model.add %[[SCALED]], %[[B]]
// CHECK-NEXT: %[[M:.*]] = model.reshape %[[MEAN]] : (tensor<2x1xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[R:.*]] = model.reshape %[[RSTD]] : (tensor<2x1xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %[[Y]], %[[M]], %[[R]]
func.func @layer_norm(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0:3 = model.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>
}

// Narrow floats are widened first and rounded once, at the end.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: %[[X:.*]] = model.cast %{{.*}} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[MAX:.*]] = model.reduce_max %[[X]] {dims = array<i64: 1>, keep}
// CHECK-NEXT: %[[SHIFTED:.*]] = model.subtract %[[X]], %[[MAX]]
// CHECK-NEXT: %[[WEIGHTS:.*]] = model.exp %[[SHIFTED]]
// CHECK-NEXT: %[[SUM:.*]] = model.reduce_sum %[[WEIGHTS]] {dims = array<i64: 1>, keep}
// CHECK-NEXT: %[[Y:.*]] = model.divide %[[WEIGHTS]], %[[SUM]]
// CHECK-NEXT: %[[ROUNDED:.*]] = model.cast %[[Y]] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// CHECK-NEXT: return %[[ROUNDED]]
func.func @softmax(%x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  %0 = model.softmax %x : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @gelu
// CHECK-NEXT: %[[INNER:.*]] = model.scale %[[X:.*]] {factor = 0.70710678118654746 : f64}
// CHECK-NEXT: %[[ERF:.*]] = model.erf %[[INNER]]
// CHECK-NEXT: %[[ONE:.*]] = model.constant 1.000000e+00
// CHECK-NEXT: %[[SUM:.*]] = model.add %[[ERF]], %[[ONE]]
// CHECK-NEXT: %[[HALF:.*]] = model.scale %[[X]] {factor = 5.000000e-01 : f64}
// CHECK-NEXT: model.multiply %[[HALF]], %[[SUM]]
// CHECK-NEXT: model.multiply
// CHECK-NEXT: model.multiply
// CHECK-NEXT: model.scale %{{.*}} {factor = 4.471500e-02 : f64}
// CHECK-NEXT: model.add
// CHECK-NEXT: model.scale %{{.*}} {factor = 0.7978845608028{{[0-9]*}} : f64}
// CHECK-NEXT: model.tanh
// CHECK-NEXT: model.constant
// CHECK-NEXT: model.add
// CHECK-NEXT: model.scale
// CHECK-NEXT: model.multiply
// CHECK-NEXT: return
func.func @gelu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = model.gelu %x {approximate = #model.approximation<none>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = model.gelu %x {approximate = #model.approximation<tanh>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Heads of q in groups that share a head of k and v; three rows read the last three of five columns and all columns before.
// CHECK-LABEL: func.func @attention
// CHECK-NOT: model.attention
// CHECK: %[[Q:.*]] = model.reshape %{{.*}} : (tensor<1x4x3x8xf32>) -> tensor<1x2x2x3x8xf32>
// CHECK: %[[K:.*]] = model.reshape %{{.*}} : (tensor<1x2x5x8xf32>) -> tensor<1x2x1x5x8xf32>
// CHECK: %[[V:.*]] = model.reshape %{{.*}} : (tensor<1x2x5x8xf32>) -> tensor<1x2x1x5x8xf32>
// CHECK-NEXT: %[[PRODUCT:.*]] = model.matmul %[[Q]], %[[K]] {transpose_rhs}
// CHECK-NEXT: %[[SCORES:.*]] = model.scale %[[PRODUCT]] {factor = 2.500000e-01 : f64}
// CHECK-NEXT: %[[ROWS:.*]] = model.iota 0 : tensor<3x1xi64>
// CHECK-NEXT: %[[OFFSET:.*]] = model.constant 2.000000e+00 : tensor<i64>
// CHECK-NEXT: %[[LAST:.*]] = model.add %[[ROWS]], %[[OFFSET]]
// CHECK-NEXT: %[[COLUMNS:.*]] = model.iota 0 : tensor<5xi64>
// CHECK-NEXT: %[[SEEN:.*]] = model.compare %[[COLUMNS]], %[[LAST]] {predicate = #model.predicate<le>}
// CHECK-NEXT: %[[NOTHING:.*]] = model.constant 0xFFF0000000000000 : tensor<f32>
// CHECK-NEXT: %[[MASKED:.*]] = model.select %[[SEEN]], %[[SCORES]], %[[NOTHING]]
// CHECK: %[[P:.*]] = model.divide
// CHECK: %[[LSE:.*]] = model.add
// CHECK-NEXT: %[[MIXED:.*]] = model.matmul %[[P]], %[[V]]
// CHECK: %[[OUT:.*]] = model.transpose %{{.*}} {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: %[[ROWLSE:.*]] = model.reshape %[[LSE]]
// CHECK-NEXT: return %[[OUT]], %[[ROWLSE]]
func.func @attention(%q: tensor<1x3x4x8xf32>, %k: tensor<1x5x2x8xf32>, %v: tensor<1x5x2x8xf32>) -> (tensor<1x3x4x8xf32>, tensor<1x4x3xf32>) {
  %0:2 = model.attention %q, %k, %v {causal, scale = 0.25 : f64} : (tensor<1x3x4x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> (tensor<1x3x4x8xf32>, tensor<1x4x3xf32>)
  return %0#0, %0#1 : tensor<1x3x4x8xf32>, tensor<1x4x3xf32>
}

// CHECK-LABEL: func.func @embedding
// CHECK-NEXT: model.gather %{{.*}}, %{{.*}} : (tensor<9x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: return
func.func @embedding(%t: tensor<9x4xf32>, %i: tensor<2x3xi32>) -> tensor<2x3x4xf32> {
  %0 = model.embedding %t, %i : (tensor<9x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// The mean counts the targets that are not ignored.
// CHECK-LABEL: func.func @cross_entropy
// CHECK-SAME: (%[[LOGITS:.*]]: tensor<2x5xf32>, %[[TARGETS:.*]]: tensor<2xi32>)
// CHECK: %[[SUM:.*]] = model.reduce_sum
// CHECK-NEXT: %[[LOG:.*]] = model.log %[[SUM]]
// CHECK-NEXT: %[[KEPT:.*]] = model.add %[[LOG]]
// CHECK-NEXT: %[[LSE:.*]] = model.reshape %[[KEPT]]
// CHECK: %[[COLUMNS:.*]] = model.iota 0 : tensor<5xi32>
// CHECK: %[[HIT:.*]] = model.compare %{{.*}}, %[[COLUMNS]] {predicate = #model.predicate<eq>}
// CHECK-NEXT: %[[CHOSEN:.*]] = model.select %[[HIT]], %[[LOGITS]]
// CHECK: %[[IGNORED:.*]] = model.constant -1.000000e+02 : tensor<i32>
// CHECK-NEXT: %[[COUNTS:.*]] = model.compare %[[TARGETS]], %[[IGNORED]] {predicate = #model.predicate<ne>}
// CHECK: %[[LOSS:.*]] = model.divide
// CHECK-NEXT: return %[[LOSS]], %[[LSE]]
func.func @cross_entropy(%l: tensor<2x5xf32>, %t: tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>) {
  %0:2 = model.cross_entropy %l, %t {reduction = #model.reduction<mean>} : (tensor<2x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<f32>, tensor<2xf32>
}
