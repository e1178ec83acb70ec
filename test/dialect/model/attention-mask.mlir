// RUN: sluice-opt %s | FileCheck %s
// RUN: sluice-opt %s -model-show-sharding-rules -model-show-cost | FileCheck %s --check-prefix=RULES
// RUN: sluice-opt %s -model-decompose | FileCheck %s --check-prefix=PARTS
// RUN: sluice-opt %s -model-differentiate-function=function=f | FileCheck %s --check-prefix=GRAD
// Tests attention under a mask and a bias: syntax, rules, cost, decomposition, derivative.

// CHECK-LABEL: func.func @f
// CHECK: model.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {biased, masked, scale = 5.000000e-01 : f64}
// RULES: model.attention {{.*}}model.cost = "flops=4560, bytes=2522"
// RULES-SAME: model.sharding_rule = "([i, m, kn, l], [i, j, k, l], [i, j, k, l], [i, 1, 1, j], [1, kn, m, j]) -> ([i, m, kn, l], [i, kn, m]) {i=2, j=5 replicated, k=2, l=8 replicated, m=3 replicated, n=2}"
// The bias is added before the mask hides scores, and a row without scores is divided by 1.
// PARTS-LABEL: func.func @f
// PARTS: %[[SCORES:.*]] = model.scale
// PARTS: %[[BIAS:.*]] = model.reshape %{{.*}} : (tensor<1x4x3x5xf32>) -> tensor<1x2x2x3x5xf32>
// PARTS: %[[SUM:.*]] = model.add %[[SCORES]], %[[BIAS]]
// PARTS: %[[MASK:.*]] = model.reshape %{{.*}} : (tensor<2x1x1x5xui8>) -> tensor<2x1x1x1x5xui8>
// PARTS: %[[HIDDEN:.*]] = model.select %[[MASK]], %[[SUM]]
// PARTS: %[[MAX:.*]] = model.reduce_max %[[HIDDEN]]
// PARTS: %[[FINITE:.*]] = model.maximum %[[MAX]]
// PARTS: %[[POWERS:.*]] = model.exp
// PARTS: %[[TOTAL:.*]] = model.reduce_sum %[[POWERS]]
// PARTS: %[[ANY:.*]] = model.compare %[[TOTAL]], %{{.*}} {predicate = #model.predicate<gt>}
// PARTS: %[[DIVISOR:.*]] = model.select %[[ANY]], %[[TOTAL]]
// PARTS: model.divide %[[POWERS]], %[[DIVISOR]]
// GRAD-LABEL: func.func @f_vjp
// GRAD: %[[OUT:.*]], %[[LSE:.*]] = model.attention %[[Q:.*]], %[[K:.*]], %[[V:.*]], %[[M:.*]], %[[B:.*]] {
// GRAD: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]], %[[DB:.*]] = model.attention_grad %{{.*}}, %[[Q]], %[[K]], %[[V]], %[[OUT]], %[[LSE]], %[[M]], %[[B]] {bias_grad, biased, masked
func.func @f(%q: tensor<2x3x4x8xf32> {model.input = "q"}, %k: tensor<2x5x2x8xf32> {model.input = "k"}, %m: tensor<2x1x1x5xui8> {model.input = "m"}, %b: tensor<1x4x3x5xf32> {model.input = "b"}) -> (tensor<2x3x4x8xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %0:2 = model.attention %q, %k, %k, %m, %b {biased, masked, scale = 0.5 : f64} : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x1x1x5xui8>, tensor<1x4x3x5xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return %0#0 : tensor<2x3x4x8xf32>
}

// CHECK-LABEL: func.func @grad
// CHECK: model.attention_grad %{{.*}} {bias_grad, biased, masked, scale = 5.000000e-01 : f64}
// RULES: model.attention_grad {{.*}}model.cost = "flops=15144, bytes=4042"
// RULES-SAME: model.sharding_rule = "([i, m, kn, l], [i, m, kn, l], [i, j, k, l], [i, j, k, l], [i, m, kn, l], [i, kn, m], [i, 1, 1, j], [1, kn, m, j]) -> ([i, m, kn, l], [i, j, k, l], [i, j, k, l], [1, kn, m, j]) {i=2, j=5 replicated, k=2, l=8 replicated, m=3 replicated, n=2} reduce=sum"
func.func @grad(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf32>, %l: tensor<2x4x3xf32>, %m: tensor<2x1x1x5xui8>, %b: tensor<1x4x3x5xf32>) {
  %0:4 = model.attention_grad %q, %q, %k, %k, %q, %l, %m, %b {bias_grad, biased, masked, scale = 0.5 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>, tensor<2x1x1x5xui8>, tensor<1x4x3x5xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<1x4x3x5xf32>)
  return
}
