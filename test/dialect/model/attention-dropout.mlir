// RUN: sluice-opt %s | FileCheck %s
// RUN: sluice-opt %s -model-show-sharding-rules -model-show-cost | FileCheck %s --check-prefix=RULES
// RUN: sluice-opt %s -model-decompose | FileCheck %s --check-prefix=PARTS
// RUN: sluice-opt %s -model-differentiate-function=function=f | FileCheck %s --check-prefix=GRAD
// Tests attention with dropout: syntax, rules, cost, decomposition, derivative. Positions give the indices of the mask.

// CHECK-LABEL: func.func @f
// CHECK: model.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {causal, dropout = 1.000000e-01 : f64, key = 3 : i64, scale = 5.000000e-01 : f64}
// RULES: model.attention {{.*}}model.cost = "flops=5664, bytes=2296"
// RULES-SAME: model.sharding_rule = "([i, m, kn, l], [i, j, k, l], [i, j, k, l], [], [], []) -> ([i, m, kn, l], [i, kn, m]) {i=2 positioned, j=5 replicated, k=2 positioned, l=8 replicated, m=3 replicated, n=2 replicated positioned}"
// PARTS-LABEL: func.func @f
// PARTS: %[[P:.*]] = model.divide
// PARTS: %[[KEPT:.*]] = model.dropout %[[P]], %{{.*}}, %{{.*}}, %{{.*}} {key = 3 : i64, rate = 1.000000e-01 : f64} : (tensor<2x2x2x3x5xf32>
// PARTS: model.matmul %[[KEPT]]
// GRAD-LABEL: func.func @f_vjp
// GRAD: %[[OUT:.*]], %[[LSE:.*]] = model.attention %[[Q:.*]], %[[K:.*]], %[[V:.*]], %[[SEED:.*]], %[[STEP:.*]], %[[ROW:.*]] {
// GRAD: model.attention_grad %{{.*}}, %[[Q]], %[[K]], %[[V]], %[[OUT]], %[[LSE]], %[[SEED]], %[[STEP]], %[[ROW]] {causal, dropout = 1.000000e-01 : f64, key = 3 : i64
func.func @f(%q: tensor<2x3x4x8xf32> {model.input = "q"}, %k: tensor<2x5x2x8xf32> {model.input = "k"}, %seed: tensor<i64> {model.input = "seed"}, %step: tensor<i64> {model.input = "step"}, %row: tensor<i64> {model.input = "row"}) -> (tensor<2x3x4x8xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %0:2 = model.attention %q, %k, %k, %seed, %step, %row {causal, dropout = 0.1 : f64, key = 3 : i64, scale = 0.5 : f64} : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return %0#0 : tensor<2x3x4x8xf32>
}
