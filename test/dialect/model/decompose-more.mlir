// RUN: sluice-opt %s -model-decompose | FileCheck %s
// Tests the decomposition of composites into primitives: gates, norms, rotations and windows.

// CHECK-LABEL: func.func @silu
// CHECK-SAME: (%[[X:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.constant 1.000000e+00
// CHECK-NEXT: %[[V1:.*]] = model.negate %[[X]]
// CHECK-NEXT: %[[V2:.*]] = model.exp %[[V1]]
// CHECK-NEXT: %[[V3:.*]] = model.add %[[V2]], %[[V0]]
// CHECK-NEXT: %[[V4:.*]] = model.divide %[[X]], %[[V3]]
// CHECK-NEXT: return %[[V4]]
func.func @silu(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = model.silu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Widened first and rounded once.
// CHECK-LABEL: func.func @swiglu
// CHECK-SAME: (%[[GATE:.*]]: {{[^%]*}}, %[[UP:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.cast %[[GATE]]
// CHECK-NEXT: %[[V1:.*]] = model.constant 1.000000e+00
// CHECK-NEXT: %[[V2:.*]] = model.negate %[[V0]]
// CHECK-NEXT: %[[V3:.*]] = model.exp %[[V2]]
// CHECK-NEXT: %[[V4:.*]] = model.add %[[V3]], %[[V1]]
// CHECK-NEXT: %[[V5:.*]] = model.divide %[[V0]], %[[V4]]
// CHECK-NEXT: %[[V6:.*]] = model.cast %[[UP]]
// CHECK-NEXT: %[[V7:.*]] = model.multiply %[[V5]], %[[V6]]
// CHECK-NEXT: %[[V8:.*]] = model.cast %[[V7]]
// CHECK-NEXT: return %[[V8]]
func.func @swiglu(%gate: tensor<2x3xbf16>, %up: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %0 = model.swiglu %gate, %up : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<2x3xbf16>
  return %0 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME: (%[[X:.*]]: {{[^%]*}}, %[[W:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.multiply %[[X]], %[[X]]
// CHECK-NEXT: %[[V1:.*]] = model.reduce_mean %[[V0]] {dims = array<i64: 1>, keep}
// CHECK-NEXT: %[[V2:.*]] = model.constant 1.000000e-05
// CHECK-NEXT: %[[V3:.*]] = model.add %[[V1]], %[[V2]]
// CHECK-NEXT: %[[V4:.*]] = model.rsqrt %[[V3]]
// CHECK-NEXT: %[[V5:.*]] = model.multiply %[[X]], %[[V4]]
// CHECK-NEXT: %[[V6:.*]] = model.multiply %[[V5]], %[[W]]
// CHECK-NEXT: %[[V7:.*]] = model.reshape %[[V4]]
// CHECK-NEXT: return %[[V6]], %[[V7]]
func.func @rms_norm(%x: tensor<2x4xf32>, %w: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>) {
  %0:2 = model.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @logsumexp
// CHECK-SAME: (%[[X:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.reduce_max %[[X]] {dims = array<i64: 1>, keep}
// CHECK-NEXT: %[[V1:.*]] = model.subtract %[[X]], %[[V0]]
// CHECK-NEXT: %[[V2:.*]] = model.exp %[[V1]]
// CHECK-NEXT: %[[V3:.*]] = model.reduce_sum %[[V2]] {dims = array<i64: 1>, keep}
// CHECK-NEXT: %[[V4:.*]] = model.log %[[V3]]
// CHECK-NEXT: %[[V5:.*]] = model.add %[[V4]], %[[V0]]
// CHECK-NEXT: %[[V6:.*]] = model.reshape %[[V5]]
// CHECK-NEXT: return %[[V6]]
func.func @logsumexp(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = model.logsumexp %x : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @batch_norm
// CHECK-SAME: (%[[X:.*]]: {{[^%]*}}, %[[W:.*]]: {{[^%]*}}, %[[B:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.reduce_mean %[[X]] {dims = array<i64: 0, 1>}
// CHECK-NEXT: %[[V1:.*]] = model.subtract %[[X]], %[[V0]]
// CHECK-NEXT: %[[V2:.*]] = model.multiply %[[V1]], %[[V1]]
// CHECK-NEXT: %[[V3:.*]] = model.reduce_mean %[[V2]] {dims = array<i64: 0, 1>}
// CHECK-NEXT: %[[V4:.*]] = model.constant 1.000000e-05
// CHECK-NEXT: %[[V5:.*]] = model.add %[[V3]], %[[V4]]
// CHECK-NEXT: %[[V6:.*]] = model.rsqrt %[[V5]]
// CHECK-NEXT: %[[V7:.*]] = model.multiply %[[V1]], %[[V6]]
// CHECK-NEXT: %[[V8:.*]] = model.multiply %[[V7]], %[[W]]
// CHECK-NEXT: %[[V9:.*]] = model.add %[[V8]], %[[B]]
// CHECK-NEXT: return %[[V9]], %[[V0]], %[[V3]]
func.func @batch_norm(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = model.batch_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Angles are the position times a decreasing power of theta; the halves of a head are rotated.
// CHECK-LABEL: func.func @rope
// CHECK-SAME: (%[[X:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.iota 0
// CHECK-NEXT: %[[V1:.*]] = model.constant 2.000000e+00
// CHECK-NEXT: %[[V2:.*]] = model.add %[[V0]], %[[V1]]
// CHECK-NEXT: %[[V3:.*]] = model.iota 0
// CHECK-NEXT: %[[V4:.*]] = model.scale %[[V3]] {factor = -4.6051701859880918 : f64}
// CHECK-NEXT: %[[V5:.*]] = model.exp %[[V4]]
// CHECK-NEXT: %[[V6:.*]] = model.multiply %[[V2]], %[[V5]]
// CHECK-NEXT: %[[V7:.*]] = model.cos %[[V6]]
// CHECK-NEXT: %[[V8:.*]] = model.sin %[[V6]]
// CHECK-NEXT: %[[V9:.*]]:2 = model.split %[[X]] {dim = 3 : i64}
// CHECK-NEXT: %[[V10:.*]] = model.multiply %[[V9]]#1, %[[V8]]
// CHECK-NEXT: %[[V11:.*]] = model.multiply %[[V9]]#0, %[[V7]]
// CHECK-NEXT: %[[V12:.*]] = model.subtract %[[V11]], %[[V10]]
// CHECK-NEXT: %[[V13:.*]] = model.multiply %[[V9]]#0, %[[V8]]
// CHECK-NEXT: %[[V14:.*]] = model.multiply %[[V9]]#1, %[[V7]]
// CHECK-NEXT: %[[V15:.*]] = model.add %[[V14]], %[[V13]]
// CHECK-NEXT: %[[V16:.*]] = model.concat %[[V12]], %[[V15]] {dim = 3 : i64}
// CHECK-NEXT: return %[[V16]]
func.func @rope(%x: tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32> {
  %0 = model.rope %x {theta = 1.0e4 : f64, position = 2 : i64} : (tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32>
  return %0 : tensor<1x3x2x4xf32>
}

// CHECK-LABEL: func.func @rope_inverse
// CHECK-SAME: (%[[X:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.iota 0
// CHECK-NEXT: %[[V1:.*]] = model.constant 0.000000e+00
// CHECK-NEXT: %[[V2:.*]] = model.add %[[V0]], %[[V1]]
// CHECK-NEXT: %[[V3:.*]] = model.iota 0
// CHECK-NEXT: %[[V4:.*]] = model.scale %[[V3]] {factor = -4.6051701859880918 : f64}
// CHECK-NEXT: %[[V5:.*]] = model.exp %[[V4]]
// CHECK-NEXT: %[[V6:.*]] = model.scale %[[V5]] {factor = 2.500000e-01 : f64}
// CHECK-NEXT: %[[V7:.*]] = model.multiply %[[V2]], %[[V6]]
// CHECK-NEXT: %[[V8:.*]] = model.cos %[[V7]]
// CHECK-NEXT: %[[V9:.*]] = model.sin %[[V7]]
// CHECK-NEXT: %[[V10:.*]] = model.negate %[[V9]]
// CHECK-NEXT: %[[V11:.*]]:2 = model.split %[[X]] {dim = 3 : i64}
// CHECK-NEXT: %[[V12:.*]] = model.multiply %[[V11]]#1, %[[V10]]
// CHECK-NEXT: %[[V13:.*]] = model.multiply %[[V11]]#0, %[[V8]]
// CHECK-NEXT: %[[V14:.*]] = model.subtract %[[V13]], %[[V12]]
// CHECK-NEXT: %[[V15:.*]] = model.multiply %[[V11]]#0, %[[V10]]
// CHECK-NEXT: %[[V16:.*]] = model.multiply %[[V11]]#1, %[[V8]]
// CHECK-NEXT: %[[V17:.*]] = model.add %[[V16]], %[[V15]]
// CHECK-NEXT: %[[V18:.*]] = model.concat %[[V14]], %[[V17]] {dim = 3 : i64}
// CHECK-NEXT: return %[[V18]]
func.func @rope_inverse(%x: tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32> {
  %0 = model.rope %x {theta = 1.0e4 : f64, inverse, scaling = #model.scaling<linear>, factor = 4.0 : f64} : (tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32>
  return %0 : tensor<1x3x2x4xf32>
}

// Divisors of the frequencies: 2^32 is 1.
// CHECK-LABEL: func.func @rope_divisors
// CHECK: %[[F:.*]] = model.exp
// CHECK-NEXT: %[[V0:.*]] = model.constant 1.000000e+00
// CHECK-NEXT: %[[V1:.*]] = model.constant 5.000000e-01
// CHECK-NEXT: %[[V2:.*]] = model.concat %[[V0]], %[[V1]] {dim = 0 : i64}
// CHECK-NEXT: %[[V3:.*]] = model.multiply %[[F]], %[[V2]]
// CHECK-NEXT: model.multiply %{{.*}}, %[[V3]]
func.func @rope_divisors(%x: tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32> {
  %0 = model.rope %x {theta = 1.0e4 : f64, divisors = array<i64: 4294967296, 8589934592>} : (tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32>
  return %0 : tensor<1x3x2x4xf32>
}

// Two query heads of one key head; columns later than the row and before its window count as minus infinity.
// CHECK-LABEL: func.func @attention_window
// CHECK-SAME: (%[[Q:.*]]: {{[^%]*}}, %[[K:.*]]: {{[^%]*}}, %[[V:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.transpose %[[Q]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: %[[V1:.*]] = model.reshape %[[V0]]
// CHECK-NEXT: %[[V2:.*]] = model.transpose %[[K]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: %[[V3:.*]] = model.reshape %[[V2]]
// CHECK-NEXT: %[[V4:.*]] = model.transpose %[[V]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: %[[V5:.*]] = model.reshape %[[V4]]
// CHECK-NEXT: %[[V6:.*]] = model.matmul %[[V1]], %[[V3]] {transpose_rhs}
// CHECK-NEXT: %[[V7:.*]] = model.scale %[[V6]] {factor = 5.000000e-01 : f64}
// CHECK-NEXT: %[[V8:.*]] = model.iota 0
// CHECK-NEXT: %[[V9:.*]] = model.constant 0.000000e+00
// CHECK-NEXT: %[[V10:.*]] = model.add %[[V8]], %[[V9]]
// CHECK-NEXT: %[[V11:.*]] = model.iota 0
// CHECK-NEXT: %[[V12:.*]] = model.compare %[[V11]], %[[V10]] {predicate = #model.predicate<le>}
// CHECK-NEXT: %[[V13:.*]] = model.constant 0xFFF0000000000000
// CHECK-NEXT: %[[V14:.*]] = model.select %[[V12]], %[[V7]], %[[V13]]
// CHECK-NEXT: %[[V15:.*]] = model.constant 2.000000e+00
// CHECK-NEXT: %[[V16:.*]] = model.subtract %[[V10]], %[[V15]]
// CHECK-NEXT: %[[V17:.*]] = model.compare %[[V11]], %[[V16]] {predicate = #model.predicate<gt>}
// CHECK-NEXT: %[[V18:.*]] = model.select %[[V17]], %[[V14]], %[[V13]]
// CHECK-NEXT: %[[V19:.*]] = model.reduce_max %[[V18]] {dims = array<i64: 4>, keep}
// CHECK-NEXT: %[[V20:.*]] = model.subtract %[[V18]], %[[V19]]
// CHECK-NEXT: %[[V21:.*]] = model.exp %[[V20]]
// CHECK-NEXT: %[[V22:.*]] = model.reduce_sum %[[V21]] {dims = array<i64: 4>, keep}
// CHECK-NEXT: %[[V23:.*]] = model.divide %[[V21]], %[[V22]]
// CHECK-NEXT: %[[V24:.*]] = model.log %[[V22]]
// CHECK-NEXT: %[[V25:.*]] = model.add %[[V24]], %[[V19]]
// CHECK-NEXT: %[[V26:.*]] = model.matmul %[[V23]], %[[V5]]
// CHECK-NEXT: %[[V27:.*]] = model.reshape %[[V26]]
// CHECK-NEXT: %[[V28:.*]] = model.transpose %[[V27]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: %[[V29:.*]] = model.reshape %[[V25]]
// CHECK-NEXT: return %[[V28]], %[[V29]]
func.func @attention_window(%q: tensor<1x3x2x4xf32>, %k: tensor<1x3x1x4xf32>, %v: tensor<1x3x1x4xf32>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>) {
  %0:2 = model.attention %q, %k, %v {causal, scale = 0.5 : f64, window = 2 : i64} : (tensor<1x3x2x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>)
  return %0#0, %0#1 : tensor<1x3x2x4xf32>, tensor<1x2x3xf32>
}

// The product and the primitives of cross entropy: a decomposition's composites are decomposed as well.
// CHECK-LABEL: func.func @linear_cross_entropy
// CHECK-NEXT: %[[LOGITS:.*]] = model.matmul %{{.*}}, %{{.*}} {transpose_rhs}
// CHECK-NEXT: model.reduce_max %[[LOGITS]]
// CHECK-NOT: cross_entropy
// CHECK: return
func.func @linear_cross_entropy(%x: tensor<6x4xf32>, %w: tensor<5x4xf32>, %t: tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>) {
  %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<6x4xf32>, tensor<5x4xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  return %0#0, %0#1 : tensor<f32>, tensor<6xf32>
}

// The product, and gelu's primitives, or its derivative.
// CHECK-LABEL: func.func @matmul_gelu
// CHECK-NEXT: %[[PRE:.*]] = model.matmul %{{.*}}, %{{.*}} bias(%{{.*}}) {transpose_rhs}
// CHECK-NEXT: model.multiply %[[PRE]], %[[PRE]]
// CHECK-NOT: gelu
// CHECK: model.tanh
// CHECK: %[[Y:.*]] = model.multiply
// CHECK-NEXT: %[[DY:.*]] = model.matmul %{{.*}}, %{{.*}} {transpose_rhs}
// CHECK-NEXT: %[[DX:.*]] = model.gelu_grad %[[DY]], %[[PRE]] {approximate = #model.approximation<tanh>}
// CHECK-NEXT: return %[[PRE]], %[[Y]], %[[DX]]
func.func @matmul_gelu(%a: tensor<3x4xf32>, %w: tensor<5x4xf32>, %b: tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %0:2 = model.matmul_gelu %a, %w bias(%b) {transpose_rhs} : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>)
  %1 = model.matmul_gelu_grad %a, %w, %0#0 {transpose_rhs} : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0#0, %0#1, %1 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}
