// RUN: sluice-opt %s -split-input-file -model-differentiate-function=function=f | FileCheck %s
// Tests the derivative that each op builds.

// add
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.reduce_sum %[[DY]] {dims = array<i64: 0>, model.block = ""}
// CHECK-NEXT: return %[[DY]], %[[V0]]
func.func @f(%a: tensor<2x3xf32> {model.input = "a"}, %b: tensor<3xf32> {model.input = "b"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// subtract
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.negate %[[DY]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.reduce_sum %[[V0]] {dims = array<i64: 0>, model.block = ""}
// CHECK-NEXT: return %[[DY]], %[[V1]]
func.func @f(%a: tensor<2x3xf32> {model.input = "a"}, %b: tensor<3xf32> {model.input = "b"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.subtract %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// multiply
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.multiply %[[DY]], %[[IN1]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.multiply %[[DY]], %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.reduce_sum %[[V1]] {dims = array<i64: 0>, model.block = ""}
// CHECK-NEXT: return %[[V0]], %[[V2]]
func.func @f(%a: tensor<2x3xf32> {model.input = "a"}, %b: tensor<3xf32> {model.input = "b"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.multiply %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// divide
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.divide %[[IN0]], %[[IN1]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.divide %[[DY]], %[[IN1]] {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.multiply %[[V1]], %[[V0]] {model.block = ""}
// CHECK-NEXT: %[[V3:.*]] = model.negate %[[V2]] {model.block = ""}
// CHECK-NEXT: %[[V4:.*]] = model.reduce_sum %[[V3]] {dims = array<i64: 0>, model.block = ""}
// CHECK-NEXT: return %[[V1]], %[[V4]]
func.func @f(%a: tensor<2x3xf32> {model.input = "a"}, %b: tensor<3xf32> {model.input = "b"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.divide %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// maximum
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.constant 0.000000e+00 {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.scale %[[DY]] {factor = 5.000000e-01
// CHECK-NEXT: %[[V2:.*]] = model.compare %[[IN0]], %[[IN1]] {model.block = "", predicate = #model.predicate<eq>}
// CHECK-NEXT: %[[V3:.*]] = model.select %[[V2]], %[[V1]], %[[V0]] {model.block = ""}
// CHECK-NEXT: %[[V4:.*]] = model.compare %[[IN0]], %[[IN1]] {model.block = "", predicate = #model.predicate<gt>}
// CHECK-NEXT: %[[V5:.*]] = model.select %[[V4]], %[[DY]], %[[V3]] {model.block = ""}
// CHECK-NEXT: %[[V6:.*]] = model.compare %[[IN1]], %[[IN0]] {model.block = "", predicate = #model.predicate<gt>}
// CHECK-NEXT: %[[V7:.*]] = model.select %[[V6]], %[[DY]], %[[V3]] {model.block = ""}
// CHECK-NEXT: %[[V8:.*]] = model.reduce_sum %[[V7]] {dims = array<i64: 0>, model.block = ""}
// CHECK-NEXT: return %[[V5]], %[[V8]]
func.func @f(%a: tensor<2x3xf32> {model.input = "a"}, %b: tensor<3xf32> {model.input = "b"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.maximum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// negate
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.negate %[[DY]] {model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%a: tensor<3xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.negate %a : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// exp
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.exp %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.multiply %[[DY]], %[[V0]] {model.block = ""}
// CHECK-NEXT: return %[[V1]]
func.func @f(%a: tensor<3xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.exp %a : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// log
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.divide %[[DY]], %[[IN0]] {model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%a: tensor<3xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.log %a : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// tanh
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.tanh %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.multiply %[[V0]], %[[V0]] {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.multiply %[[DY]], %[[V1]] {model.block = ""}
// CHECK-NEXT: %[[V3:.*]] = model.subtract %[[DY]], %[[V2]] {model.block = ""}
// CHECK-NEXT: return %[[V3]]
func.func @f(%a: tensor<3xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.tanh %a : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// erf
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.multiply %[[IN0]], %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.negate %[[V0]] {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.exp %[[V1]] {model.block = ""}
// CHECK-NEXT: %[[V3:.*]] = model.scale %[[V2]] {factor = 1.1283791670955126
// CHECK-NEXT: %[[V4:.*]] = model.multiply %[[DY]], %[[V3]] {model.block = ""}
// CHECK-NEXT: return %[[V4]]
func.func @f(%a: tensor<3xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.erf %a : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// sqrt
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.sqrt %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.scale %[[DY]] {factor = 5.000000e-01
// CHECK-NEXT: %[[V2:.*]] = model.divide %[[V1]], %[[V0]] {model.block = ""}
// CHECK-NEXT: return %[[V2]]
func.func @f(%a: tensor<3xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.sqrt %a : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// rsqrt
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.rsqrt %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.multiply %[[DY]], %[[V0]] {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.scale %[[V1]] {factor = -5.000000e-01
// CHECK-NEXT: %[[V3:.*]] = model.divide %[[V2]], %[[IN0]] {model.block = ""}
// CHECK-NEXT: return %[[V3]]
func.func @f(%a: tensor<3xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.rsqrt %a : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// relu
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.relu %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.relu_grad %[[DY]], %[[V0]] {model.block = ""}
// CHECK-NEXT: return %[[V1]]
func.func @f(%a: tensor<3xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.relu %a : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// scale
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.scale %[[DY]] {factor = 2.500000e-01
// CHECK-NEXT: return %[[V0]]
func.func @f(%a: tensor<3xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.scale %a {factor = 0.25 : f64} : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// cast
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.cast %[[DY]] {model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%a: tensor<3xf32> {model.input = "a"}) -> (tensor<3xbf16> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.cast %a : (tensor<3xf32>) -> tensor<3xbf16>
  return %y : tensor<3xbf16>
}

// -----

// slice
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.pad %[[DY]] {high = array<i64: 2>, low = array<i64: 1>, model.block = "", step = array<i64: 2>, value = 0.000000e+00
// CHECK-NEXT: return %[[V0]]
func.func @f(%a: tensor<8xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.slice %a {start = array<i64: 1>, limit = array<i64: 6>, step = array<i64: 2>} : (tensor<8xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// split, with a result that no op reads
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.constant 0.000000e+00 {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.concat %[[DY]], %[[V0]] {dim = 0
// CHECK-NEXT: return %[[V1]]
func.func @f(%a: tensor<6xf32> {model.input = "a"}) -> (tensor<3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y, %z = model.split %a {dim = 0 : i64} : (tensor<6xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %y : tensor<3xf32>
}

// -----

// reduce_mean
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.scale %[[DY]] {factor = 0.33333333333333331
// CHECK-NEXT: %[[V1:.*]] = model.reshape %[[V0]] {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.broadcast %[[V1]] {model.block = ""}
// CHECK-NEXT: return %[[V2]]
func.func @f(%a: tensor<2x3xf32> {model.input = "a"}) -> (tensor<2xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.reduce_mean %a {dims = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// matmul with bias and residual: the weight takes one product over all rows
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[IN2:.*]]: {{[^%]*}}, %[[IN3:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.matmul %[[DY]], %[[IN1]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.reshape %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.reshape %[[DY]] {model.block = ""}
// CHECK-NEXT: %[[V3:.*]] = model.matmul %[[V2]], %[[V1]] {model.block = "", transpose_lhs}
// CHECK-NEXT: %[[V4:.*]] = model.reduce_sum %[[DY]] {dims = array<i64: 0, 1>, model.block = ""}
// CHECK-NEXT: return %[[V0]], %[[V3]], %[[V4]], %[[DY]]
func.func @f(%a: tensor<2x3x4xf32> {model.input = "a"}, %w: tensor<5x4xf32> {model.input = "w"}, %b: tensor<5xf32> {model.input = "b"}, %r: tensor<2x3x5xf32> {model.input = "r"}) -> (tensor<2x3x5xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.matmul %a, %w bias(%b) residual(%r) {transpose_rhs} : (tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %y : tensor<2x3x5xf32>
}

// -----

// matmul_gelu: the cotangents of pre and of y
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[IN2:.*]]: {{[^%]*}}, %[[DPRE:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[PRE:.*]], %{{.*}} = model.matmul_gelu %[[IN0]], %[[IN1]] bias(%[[IN2]])
// CHECK-NEXT: %[[V0:.*]] = model.gelu_grad %[[DY]], %[[PRE]] {approximate = #model.approximation<tanh>, model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.add %[[DPRE]], %[[V0]]
// CHECK-NEXT: %[[V2:.*]] = model.matmul %[[V1]], %[[IN1]] {model.block = "", transpose_rhs}
// CHECK-NEXT: %[[V3:.*]] = model.matmul %[[IN0]], %[[V1]] {model.block = "", transpose_lhs}
// CHECK-NEXT: %[[V4:.*]] = model.reduce_sum %[[V1]] {dims = array<i64: 0>, model.block = ""}
// CHECK-NEXT: return %[[V2]], %[[V3]], %[[V4]]
func.func @f(%a: tensor<3x4xf32> {model.input = "a"}, %w: tensor<4x5xf32> {model.input = "w"}, %b: tensor<5xf32> {model.input = "b"}) -> (tensor<3x5xf32> {model.output = "pre"}, tensor<3x5xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %0:2 = model.matmul_gelu %a, %w bias(%b) : (tensor<3x4xf32>, tensor<4x5xf32>, tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>)
  return %0#0, %0#1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// matmul of batches
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.matmul %[[DY]], %[[IN1]] {model.block = "", transpose_rhs}
// CHECK-NEXT: %[[V1:.*]] = model.matmul %[[IN0]], %[[DY]] {model.block = "", transpose_lhs}
// CHECK-NEXT: %[[V2:.*]] = model.reduce_sum %[[V1]] {dims = array<i64: 0>, model.block = ""}
// CHECK-NEXT: %[[V3:.*]] = model.reshape %[[V2]] {model.block = ""}
// CHECK-NEXT: return %[[V0]], %[[V3]]
func.func @f(%a: tensor<2x3x4xf32> {model.input = "a"}, %w: tensor<1x4x5xf32> {model.input = "w"}) -> (tensor<2x3x5xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.matmul %a, %w : (tensor<2x3x4xf32>, tensor<1x4x5xf32>) -> tensor<2x3x5xf32>
  return %y : tensor<2x3x5xf32>
}

// -----

// layer_norm
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[IN2:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]], %[[V1:.*]], %[[V2:.*]] = model.layer_norm %[[IN0]], %[[IN1]], %[[IN2]] {epsilon = 1.000000e-05
// CHECK-NEXT: %[[V3:.*]], %[[V4:.*]], %[[V5:.*]] = model.layer_norm_grad %[[DY]], %[[IN0]], %[[IN1]], %[[V1]], %[[V2]] {model.block = ""}
// CHECK-NEXT: return %[[V3]], %[[V4]], %[[V5]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}, %w: tensor<3xf32> {model.input = "w"}, %b: tensor<3xf32> {model.input = "b"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y, %m, %s = model.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return %y : tensor<2x3xf32>
}

// -----

// softmax
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.softmax %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.softmax_grad %[[DY]], %[[V0]] {model.block = ""}
// CHECK-NEXT: return %[[V1]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.softmax %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// gelu
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.gelu_grad %[[DY]], %[[IN0]] {approximate = #model.approximation<tanh>, model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.gelu %x {approximate = #model.approximation<tanh>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// attention
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[IN2:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]], %[[V1:.*]] = model.attention %[[IN0]], %[[IN1]], %[[IN2]] {causal, model.block = "", scale = 5.000000e-01
// CHECK-NEXT: %[[V2:.*]], %[[V3:.*]], %[[V4:.*]] = model.attention_grad %[[DY]], %[[IN0]], %[[IN1]], %[[IN2]], %[[V0]], %[[V1]] {causal, model.block = "", scale = 5.000000e-01
// CHECK-NEXT: return %[[V2]], %[[V3]], %[[V4]]
func.func @f(%q: tensor<1x3x2x4xf32> {model.input = "q"}, %k: tensor<1x3x2x4xf32> {model.input = "k"}, %v: tensor<1x3x2x4xf32> {model.input = "v"}) -> (tensor<1x3x2x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y, %l = model.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>) -> (tensor<1x3x2x4xf32>, tensor<1x2x3xf32>)
  return %y : tensor<1x3x2x4xf32>
}

// -----

// embedding with a padding row
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.embedding_grad %[[DY]], %[[IN1]] {model.block = "", padding = 4 : i64}
// CHECK-NEXT: return %[[V0]]
func.func @f(%t: tensor<9x4xf32> {model.input = "t"}, %i: tensor<3xi32> {model.input = "i"}) -> (tensor<3x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.embedding %t, %i {padding = 4 : i64} : (tensor<9x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

// embedding
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.embedding_grad %[[DY]], %[[IN1]] {model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%t: tensor<9x4xf32> {model.input = "t"}, %i: tensor<3xi32> {model.input = "i"}) -> (tensor<3x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.embedding %t, %i : (tensor<9x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

// cross_entropy
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]], %[[V1:.*]] = model.cross_entropy %[[IN0]], %[[IN1]] {model.block = "", reduction = #model.reduction<mean>}
// CHECK-NEXT: %[[V2:.*]] = model.cross_entropy_grad %[[DY]], %[[IN0]], %[[IN1]], %[[V1]] {model.block = "", reduction = #model.reduction<mean>}
// CHECK-NEXT: return %[[V2]]
func.func @f(%l: tensor<4x5xf32> {model.input = "l"}, %t: tensor<4xi32> {model.input = "t"}) -> (tensor<f32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y, %e = model.cross_entropy %l, %t {reduction = #model.reduction<mean>} : (tensor<4x5xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return %y : tensor<f32>
}

// -----

// dropout: the mask is computed again
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[SEED:.*]]: {{[^%]*}}, %[[STEP:.*]]: {{[^%]*}}, %[[ROW:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.dropout %[[DY]], %[[SEED]], %[[STEP]], %[[ROW]] {key = 3 : i64, model.block = "", rate = 1.000000e-01 : f64}
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<4x5xf32> {model.input = "x"}, %seed: tensor<i64> {model.input = "seed"}, %step: tensor<i64> {model.input = "step"}, %row: tensor<i64> {model.input = "row"}) -> (tensor<4x5xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.dropout %x, %seed, %step, %row {key = 3 : i64, rate = 0.1 : f64} : (tensor<4x5xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}
