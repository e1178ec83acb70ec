// RUN: sluice-opt %s -model-differentiate-function="function=f wrt=0,2" | FileCheck %s
// RUN: sluice-opt %s -model-differentiate-function="function=f" | FileCheck %s --check-prefix=ALL
// RUN: sluice-opt %s -model-differentiate-function="function=plain" | FileCheck %s --check-prefix=PLAIN
// RUN: not sluice-opt %s -model-differentiate-function="function=g" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not sluice-opt %s -model-differentiate-function="function=f wrt=3" 2>&1 | FileCheck %s --check-prefix=INTEGER
// Tests the derivative as a function: names, cotangents of float results, gradients that are zero, arguments without
// attributes.

// NONE: error: function 'g' has no body to differentiate
// INTEGER: error: argument 3 to differentiate by is not a float tensor

// CHECK-LABEL: func.func @f(
// CHECK: model.block "b"
// CHECK-LABEL: func.func @f_vjp(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {model.input = "x"}, %[[Y:.*]]: tensor<4xf32> {model.input = "y"}, %{{.*}}: tensor<4xf32> {model.input = "unused"}, %{{.*}}: tensor<2xi32> {model.input = "i"}, %[[DZ:.*]]: tensor<4xf32> {model.input = "cotangent.z"})
// CHECK-SAME: -> (tensor<4xf32> {model.output = "grad.x"}, tensor<4xf32> {model.output = "grad.unused"})
// CHECK-SAME: model.entry = #model.entry<forward>
// CHECK-NEXT: %[[DX:.*]] = model.multiply %[[DZ]], %[[Y]]
// CHECK-NEXT: %[[ZERO:.*]] = model.constant 0.0
// CHECK-NEXT: return %[[DX]], %[[ZERO]]
// ALL-LABEL: func.func @f_vjp(
// ALL-SAME: -> (tensor<4xf32> {model.output = "grad.x"}, tensor<4xf32> {model.output = "grad.y"}, tensor<4xf32> {model.output = "grad.unused"})
func.func @f(%x: tensor<4xf32> {model.input = "x"}, %y: tensor<4xf32> {model.input = "y"},
             %unused: tensor<4xf32> {model.input = "unused"}, %i: tensor<2xi32> {model.input = "i"})
    -> (tensor<4xf32> {model.output = "z"}) attributes {model.entry = #model.entry<forward>} {
  %b = model.block "b" -> tensor<4xf32> {
    %z = model.multiply %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    model.yield %z : tensor<4xf32>
  }
  return %b : tensor<4xf32>
}

// PLAIN-LABEL: func.func @plain_vjp(
// PLAIN-SAME: %{{[^:]*}}: tensor<4xf32>, %{{[^:]*}}: tensor<4xf32> {model.input = "cotangent.0"}) -> (tensor<4xf32> {model.output = "grad.0"})
func.func @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = model.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
