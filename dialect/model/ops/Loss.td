//===- Loss.td - losses ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_LOSS_TD
#define SLUICE_DIALECT_MODEL_OPS_LOSS_TD

include "dialect/model/ModelDialect.td"

def Model_CrossEntropyOp : Model_Op<"cross_entropy", [Model_InferExtents<"cross_entropy", [Model_StatisticsType<"logits">.text, Model_StatisticsType<"logits">.text]>, DeclareOpInterfaceMethods<DecomposeOpInterface>,
                                                    DeclareOpInterfaceMethods<CountedMeanOpInterface>]> {
  let summary = "cross entropy of logits and target indices";
  let description = [{
    **Semantics.** `lse` is the logarithm of each row's sum of `exp(logits)`; the loss of a row is `lse - logits[target]`. `loss` is the mean (`reduction = #model.reduction<mean>`) or sum (`sum`) over the rows whose target is
    not `ignore_index` (default -100). The mean over no rows is NaN. With `label_smoothing` e (default 0) the loss of a row is `lse - (1 - e) logits[target] - e mean(logits)`.

    **Inputs.** `logits [..., V]`: float; `targets [...]`: integer. **Outputs.** `loss`: scalar, `lse [...]`: both of the statistics type.

    **Constraints.** (cross_entropy_c1) the logits have at least one dim. (cross_entropy_c2) `targets` is `[...]`. (cross_entropy_c3) `reduction` is `mean` or `sum`. (cross_entropy_c4) `label_smoothing` is 0 to 1.

    **Derivative.** `cross_entropy_grad`. A cotangent of `lse` is an error.

    **Decomposition.** reduce_max, subtract, exp, reduce_sum, log, add for `lse`; iota, compare, select, reduce_sum for `logits[target]`; compare, select, reduce_sum, divide for the mean.

    ```mlir
    %loss, %lse = model.cross_entropy %logits, %targets {reduction = #model.reduction<mean>} : (tensor<4x8x256xf32>, tensor<4x8xi32>) -> (tensor<f32>, tensor<4x8xf32>)
    ```

    #### cross_entropy_grad

    `dlogits = (exp(logits - lse) - (1 - e) [column = target] - e / V) dloss`, divided by the count under `mean`; 0 in rows that are ignored. Inactive.

    **Constraints.** (cross_entropy_grad_c1) as cross_entropy_c1 to cross_entropy_c4. (cross_entropy_grad_c2) `dloss` is a scalar of the statistics type. (cross_entropy_grad_c3) `lse` is `[...]` in the statistics type.

    ```mlir
    %dlogits = model.cross_entropy_grad %dloss, %logits, %targets, %lse {reduction = #model.reduction<sum>, ignore_index = 0 : i64} : (tensor<f32>, tensor<2x3x4xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 1>:$logits, Model_IntegerTensor:$targets, Model_LossReductionAttr:$reduction,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index, OptionalAttr<Model_Fraction>:$label_smoothing);
  let results = (outs Model_FloatTensor:$loss, Model_FloatTensor:$lse);
  let hasShardableForm = 1;
}
def Model_CrossEntropyGradOp : Model_InactiveOp<"cross_entropy_grad", [Model_ResultsLike<["logits"]>, Model_StatisticsOf<"logits", ["dloss", "lse"]>]> {
  let summary = "VJP of cross_entropy with respect to the logits";
  let arguments = (ins Model_FloatTensor:$dloss, Model_OfMinRank<Model_FloatTensor, 1>:$logits, Model_IntegerTensor:$targets,
                       Model_FloatTensor:$lse, Model_LossReductionAttr:$reduction, DefaultValuedAttr<I64Attr, "-100">:$ignore_index, OptionalAttr<Model_Fraction>:$label_smoothing);
  let results = (outs Model_FloatTensor:$dlogits);
}

#endif // SLUICE_DIALECT_MODEL_OPS_LOSS_TD
