// RUN: sluice-opt %s -split-input-file -model-differentiate-function=function=f | FileCheck %s
// Tests the derivative that each op builds: functions, indices, gates and images.

// sin
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.cos %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.multiply %[[DY]], %[[V0]] {model.block = ""}
// CHECK-NEXT: return %[[V1]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.sin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// stop_gradient: the other factor alone has a gradient by the product
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK: %[[V0:.*]] = model.stop_gradient %[[IN0]]
// CHECK-NEXT: %[[V1:.*]] = model.multiply %[[DY]], %[[V0]] {model.block = ""}
// CHECK-NEXT: return %[[V1]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %s = model.stop_gradient %x : tensor<2x3xf32>
  %y = model.multiply %x, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// cos
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.sin %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.negate %[[V0]] {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.multiply %[[DY]], %[[V1]] {model.block = ""}
// CHECK-NEXT: return %[[V2]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.cos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// sigmoid
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.sigmoid %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.multiply %[[V0]], %[[V0]] {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.subtract %[[V0]], %[[V1]] {model.block = ""}
// CHECK-NEXT: %[[V3:.*]] = model.multiply %[[DY]], %[[V2]] {model.block = ""}
// CHECK-NEXT: return %[[V3]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// softplus
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.sigmoid %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.multiply %[[DY]], %[[V0]] {model.block = ""}
// CHECK-NEXT: return %[[V1]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.softplus %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// power
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.power %[[IN0]] {exponent = 2.000000e+00 : f64, model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.scale %[[V0]] {factor = 3.000000e+00 : f64, model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.multiply %[[DY]], %[[V1]] {model.block = ""}
// CHECK-NEXT: return %[[V2]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.power %x {exponent = 3.0 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// transpose: the inverse permutation
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.transpose %[[DY]] {model.block = "", permutation = array<i64: 1, 2, 0>}
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<2x3x4xf32> {model.input = "x"}) -> (tensor<4x2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  return %y : tensor<4x2x3xf32>
}

// -----

// reduce_max: to the positions of the maximum
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.reduce_max %[[IN0]] {dims = array<i64: 1>, model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.constant 0.000000e+00 {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.constant 1.000000e+00 {model.block = ""}
// CHECK-NEXT: %[[V3:.*]] = model.reshape %[[V0]] {model.block = ""}
// CHECK-NEXT: %[[V4:.*]] = model.broadcast %[[V3]] {model.block = ""}
// CHECK-NEXT: %[[V5:.*]] = model.compare %[[IN0]], %[[V4]] {model.block = "", predicate = #model.predicate<eq>}
// CHECK-NEXT: %[[V6:.*]] = model.select %[[V5]], %[[V2]], %[[V1]] {model.block = ""}
// CHECK-NEXT: %[[V7:.*]] = model.reduce_sum %[[V6]] {dims = array<i64: 1>, model.block = ""}
// CHECK-NEXT: %[[V8:.*]] = model.divide %[[DY]], %[[V7]] {model.block = ""}
// CHECK-NEXT: %[[V9:.*]] = model.reshape %[[V8]] {model.block = ""}
// CHECK-NEXT: %[[V10:.*]] = model.broadcast %[[V9]] {model.block = ""}
// CHECK-NEXT: %[[V11:.*]] = model.select %[[V5]], %[[V10]], %[[V1]] {model.block = ""}
// CHECK-NEXT: return %[[V11]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.reduce_max %x {dims = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// logsumexp
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.logsumexp %[[IN0]] {model.block = ""}
// CHECK-NEXT: %[[V1:.*]] = model.reshape %[[V0]] {model.block = ""}
// CHECK-NEXT: %[[V2:.*]] = model.broadcast %[[V1]] {model.block = ""}
// CHECK-NEXT: %[[V3:.*]] = model.subtract %[[IN0]], %[[V2]] {model.block = ""}
// CHECK-NEXT: %[[V4:.*]] = model.exp %[[V3]] {model.block = ""}
// CHECK-NEXT: %[[V5:.*]] = model.reshape %[[DY]] {model.block = ""}
// CHECK-NEXT: %[[V6:.*]] = model.broadcast %[[V5]] {model.block = ""}
// CHECK-NEXT: %[[V7:.*]] = model.multiply %[[V4]], %[[V6]] {model.block = ""}
// CHECK-NEXT: return %[[V7]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.logsumexp %x : (tensor<2x3xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// gather
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.scatter_add %[[DY]], %[[IN1]] {model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%table: tensor<5x3xf32> {model.input = "table"}, %index: tensor<4xi32> {model.input = "index"}) -> (tensor<4x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.gather %table, %index : (tensor<5x3xf32>, tensor<4xi32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// scatter_add
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.gather %[[DY]], %[[IN1]] {model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%rows: tensor<4x3xf32> {model.input = "rows"}, %index: tensor<4xi32> {model.input = "index"}) -> (tensor<5x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.scatter_add %rows, %index : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}

// -----

// take_along
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.add_along %[[DY]], %[[IN1]] {dim = 1 : i64, model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<3x5xf32> {model.input = "x"}, %index: tensor<3x2xi64> {model.input = "index"}) -> (tensor<3x2xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.take_along %x, %index {dim = 1 : i64} : (tensor<3x5xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// add_along
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.take_along %[[DY]], %[[IN1]] {dim = 1 : i64, model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<3x2xf32> {model.input = "x"}, %index: tensor<3x2xi64> {model.input = "index"}) -> (tensor<3x5xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.add_along %x, %index {dim = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xi64>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// silu
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.silu_grad %[[DY]], %[[IN0]] {model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.silu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// swiglu
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]], %[[V1:.*]] = model.swiglu_grad %[[DY]], %[[IN0]], %[[IN1]] {model.block = ""}
// CHECK-NEXT: return %[[V0]], %[[V1]]
func.func @f(%gate: tensor<2x3xf32> {model.input = "gate"}, %up: tensor<2x3xf32> {model.input = "up"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.swiglu %gate, %up : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// rms_norm
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]], %[[V1:.*]] = model.rms_norm %[[IN0]], %[[IN1]] {epsilon = 1.000000e-05 : f64, model.block = ""}
// CHECK-NEXT: %[[V2:.*]], %[[V3:.*]] = model.rms_norm_grad %[[DY]], %[[IN0]], %[[IN1]], %[[V1]] {model.block = ""}
// CHECK-NEXT: return %[[V2]], %[[V3]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}, %w: tensor<3xf32> {model.input = "w"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y:2 = model.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
  return %y#0 : tensor<2x3xf32>
}

// -----

// rope: the inverse rotation
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.rope %[[DY]] {divisors = array<i64: 1, 2, 3, 4>, inverse, model.block = "", position = 5 : i64, theta = 1.000000e+04 : f64}
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<2x3x4x8xf32> {model.input = "x"}) -> (tensor<2x3x4x8xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.rope %x {theta = 1.0e4 : f64, position = 5 : i64, divisors = array<i64: 1, 2, 3, 4>} : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  return %y : tensor<2x3x4x8xf32>
}

// -----

// batch_norm
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[IN2:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]], %[[V1:.*]], %[[V2:.*]] = model.batch_norm %[[IN0]], %[[IN1]], %[[IN2]] {epsilon = 1.000000e-05 : f64, model.block = ""}
// CHECK-NEXT: %[[V3:.*]], %[[V4:.*]], %[[V5:.*]] = model.batch_norm_grad %[[DY]], %[[IN0]], %[[IN1]], %[[V1]], %[[V2]] {epsilon = 1.000000e-05 : f64, model.block = ""}
// CHECK-NEXT: return %[[V3]], %[[V4]], %[[V5]]
func.func @f(%x: tensor<2x7x9x4xf32> {model.input = "x"}, %w: tensor<4xf32> {model.input = "w"}, %b: tensor<4xf32> {model.input = "b"}) -> (tensor<2x7x9x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y:3 = model.batch_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %y#0 : tensor<2x7x9x4xf32>
}

// -----

// conv2d: the bias of an output channel is added at all its positions
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[IN2:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.conv2d_input_grad %[[DY]], %[[IN1]] {dilation = array<i64: 1, 1>, groups = 2 : i64, model.block = "", padding = array<i64: 1, 1>, stride = array<i64: 1, 1>}
// CHECK-NEXT: %[[V1:.*]] = model.conv2d_weight_grad %[[DY]], %[[IN0]] {dilation = array<i64: 1, 1>, groups = 2 : i64, model.block = "", padding = array<i64: 1, 1>, stride = array<i64: 1, 1>}
// CHECK-NEXT: %[[V2:.*]] = model.reduce_sum %[[DY]] {dims = array<i64: 0, 1, 2>, model.block = ""}
// CHECK-NEXT: return %[[V0]], %[[V1]], %[[V2]]
func.func @f(%x: tensor<2x7x9x4xf32> {model.input = "x"}, %w: tensor<6x2x3x3xf32> {model.input = "w"}, %b: tensor<6xf32> {model.input = "b"}) -> (tensor<2x7x9x6xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.conv2d %x, %w, %b {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x7x9x4xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x7x9x6xf32>
  return %y : tensor<2x7x9x6xf32>
}

// -----

// conv2d_input_grad: the transposed convolution is linear in both operands
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[IN1:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.conv2d %[[DY]], %[[IN1]] {dilation = array<i64: 1, 1>, groups = 2 : i64, model.block = "", padding = array<i64: 1, 1>, stride = array<i64: 2, 1>}
// CHECK-NEXT: %[[V1:.*]] = model.conv2d_weight_grad %[[IN0]], %[[DY]] {dilation = array<i64: 1, 1>, groups = 2 : i64, model.block = "", padding = array<i64: 1, 1>, stride = array<i64: 2, 1>}
// CHECK-NEXT: return %[[V0]], %[[V1]]
func.func @f(%y: tensor<2x4x9x6xf32> {model.input = "y"}, %w: tensor<6x2x3x3xf32> {model.input = "w"}) -> (tensor<2x7x9x4xf32> {model.output = "x"}) attributes {model.entry = #model.entry<forward>} {
  %x = model.conv2d_input_grad %y, %w {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x6xf32>, tensor<6x2x3x3xf32>) -> tensor<2x7x9x4xf32>
  return %x : tensor<2x7x9x4xf32>
}

// -----

// max_pool2d
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.max_pool2d_grad %[[DY]], %[[IN0]] {kernel = array<i64: 3, 3>, model.block = "", padding = array<i64: 1, 1>, stride = array<i64: 2, 2>}
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<2x7x9x4xf32> {model.input = "x"}) -> (tensor<2x4x5x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.max_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
  return %y : tensor<2x4x5x4xf32>
}

// -----

// avg_pool2d
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.avg_pool2d_grad %[[DY]] {kernel = array<i64: 3, 3>, model.block = "", padding = array<i64: 1, 1>, stride = array<i64: 2, 2>, without_padding}
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<2x7x9x4xf32> {model.input = "x"}) -> (tensor<2x4x5x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.avg_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, without_padding} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
  return %y : tensor<2x4x5x4xf32>
}

// -----

// adaptive_avg_pool2d
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.adaptive_avg_pool2d_grad %[[DY]] {model.block = ""}
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<2x7x9x4xf32> {model.input = "x"}) -> (tensor<2x2x3x4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.adaptive_avg_pool2d %x {output = array<i64: 2, 3>} : (tensor<2x7x9x4xf32>) -> tensor<2x2x3x4xf32>
  return %y : tensor<2x2x3x4xf32>
}

// -----

// linear_cross_entropy
// CHECK-LABEL: func.func @f_vjp
// CHECK: %[[LOSS:.*]], %[[LSE:.*]] = model.linear_cross_entropy %arg0, %arg1, %{{.*}} {
// CHECK: %[[DX:.*]], %[[DW:.*]] = model.linear_cross_entropy_grad %{{.*}}, %arg0, %arg1, %{{.*}}, %[[LSE]] {{{.*}}reduction = #model.reduction<mean>, rows = 4 : i64}
// CHECK: return %[[DX]], %[[DW]]
func.func @f(%x: tensor<6x4xf32> {model.input = "x"}, %w: tensor<5x4xf32> {model.input = "w"}, %t: tensor<6xi32> {model.input = "t"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<forward>} {
  %loss, %lse = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<6x4xf32>, tensor<5x4xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  return %loss : tensor<f32>
}

// -----

// all_reduce: each rank keeps its cotangent
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: return %[[DY]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.all_reduce %x {reduction = #model.reduction<sum>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// all_gather: the sum over ranks of the cotangents of the rank's rows
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.reduce_scatter %[[DY]] {model.block = ""} : (tensor<8x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<8x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.all_gather %x : (tensor<2x3xf32>) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}

// -----

// reduce_scatter: the cotangents of all ranks
// CHECK-LABEL: func.func @f_vjp
// CHECK-SAME: (%[[IN0:.*]]: {{[^%]*}}, %[[DY:.*]]: {{[^%]*}})
// CHECK-NEXT: %[[V0:.*]] = model.all_gather %[[DY]] {model.block = ""} : (tensor<2x3xf32>) -> tensor<8x3xf32>
// CHECK-NEXT: return %[[V0]]
func.func @f(%x: tensor<8x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.reduce_scatter %x : (tensor<8x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
