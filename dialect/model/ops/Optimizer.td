//===- Optimizer.td - optimizer updates ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_OPTIMIZER_TD
#define SLUICE_DIALECT_MODEL_OPS_OPTIMIZER_TD

include "dialect/model/ModelDialect.td"

/// The update of any number of parameters. `values` has for each of them the parameter, its gradient and its states, one
/// parameter after the other; `updated` the new parameter and states, which reuse the memory of the old ones. If `guard`
/// is 0 they keep their values.
class Model_UpdateOp<string mnemonic, string text, dag settings, list<string> more = []>
    : Model_StepOp<mnemonic, [MergeOpInterface,
                              DeclareOpInterfaceMethods<OptimizerOpInterface, more>]> {
  let summary = text;
  let arguments = !con((ins Variadic<Model_FloatTensor>:$values, Model_Scalar:$lr, Model_IntegerScalar:$step,
                        Model_Scalar:$coefficient, Model_BoolScalar:$guard), settings);
  let results = (outs Variadic<Model_FloatTensor>:$updated);
  let extraClassDeclaration = [{
    /// lr, step, coefficient and guard.
    unsigned getSharedOperandCount() { return 4; }
  }];
  let hasOwnVerifier = 1;
}
def Model_SgdOp : Model_UpdateOp<"sgd", "SGD with momentum, nesterov, weight decay (torch.optim.SGD)",
                                 (ins F64Attr:$momentum, F64Attr:$weight_decay, BoolAttr:$nesterov), ["findConflict"]> {
  let description = [{
    **Semantics.** `torch.optim.SGD` with dampening 0: `g = coefficient gradient + weight_decay p`; with momentum `m = momentum m + g` (m starts at 0) and `g = m`, or `g + momentum m` under `nesterov`; `p = p - lr g`.

    **Inputs.** `values` (parameter, gradient and, with momentum, momentum_buffer of each), `lr`, `step`, `coefficient`, `guard`. **Outputs.** `updated` (parameter and, with momentum, momentum_buffer of each).

    **Constraints.** (sgd_c1) `nesterov` requires momentum.

    ```mlir
    %p2, %m2 = model.sgd %p, %g, %m, %lr, %step, %c, %ok {momentum = 0.9 : f64, weight_decay = 0.0 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>)
    ```

    ```mlir
    %new:2 = model.sgd %p, %gp, %q, %gq, %lr, %step, %c, %ok {momentum = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<2x3xf32>)
    ```
  }];
}
defvar Model_AdamSettings = (ins F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
def Model_AdamOp : Model_UpdateOp<"adam", "Adam, weight decay added to the gradient (torch.optim.Adam)", Model_AdamSettings> {
  let description = [{
    **Semantics.** `torch.optim.Adam` and `AdamW`. adam: `g = coefficient gradient + weight_decay p`. adamw: `g = coefficient gradient` and first `p = p - lr weight_decay p`. Both: `m = beta1 m + (1 - beta1) g`,
    `v = beta2 v + (1 - beta2) g g`, `p = p - lr / (1 - beta1^step) m / (sqrt(v) / sqrt(1 - beta2^step) + epsilon)`.

    **Inputs.** `values` (parameter, gradient, exp_avg (m), exp_avg_sq (v) of each), `lr`, `step`, `coefficient`, `guard`. **Outputs.** `updated` (parameter, exp_avg, exp_avg_sq of each).

    ```mlir
    %p2, %m2, %v2 = model.adamw %p, %g, %m, %v, %lr, %step, %c, %ok {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```

    ```mlir
    %p1, %m1, %v1 = model.adam %p, %g, %m, %v, %lr, %step, %coefficient, %guard {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
}
def Model_AdamwOp : Model_UpdateOp<"adamw", "Adam with decoupled weight decay (torch.optim.AdamW)", Model_AdamSettings> {
  let description = [{See `model.adam`.}];
}

#endif // SLUICE_DIALECT_MODEL_OPS_OPTIMIZER_TD
