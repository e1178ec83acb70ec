//===- LinearLoss.td - chunked cross entropy ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_LINEARLOSS_TD
#define SLUICE_DIALECT_MODEL_OPS_LINEARLOSS_TD

include "dialect/model/ModelDialect.td"

def Model_LinearCrossEntropyOp
    : Model_Op<"linear_cross_entropy", [Model_InferExtents<"linear_cross_entropy", [Model_StatisticsType<"x">.text, Model_StatisticsType<"x">.text]>, DeclareOpInterfaceMethods<DecomposeOpInterface>,
                                        DeclareOpInterfaceMethods<CountedMeanOpInterface>, Model_ElementsOf<"x", ["weight"]>]> {
  let summary = "chunked cross entropy: the logits x weight^T exist for some rows at a time";
  let description = [{
    **Semantics.** `cross_entropy` of the logits `x weight^T`. The kernel computes the logits of `rows` rows at a time, in its workspace. With `loss.chunk_rows`, the compiler
    replaces a cross entropy and the product that computes its logits by this op, if no other op reads the logits.

    **Inputs.** `x [..., C]`, `weight [V, C]`: tensors of float; `targets [...]`: integer. **Outputs.** `loss`: scalar, `lse [...]`: both of the statistics type.

    **Constraints.** (linear_cross_entropy_c1) x has at least one dim, the weight two, of which the last is x's, and its element type. (linear_cross_entropy_c2) `targets` is `[...]`.
    (linear_cross_entropy_c3) `reduction` and `label_smoothing` are as those of cross_entropy. (linear_cross_entropy_c4) `rows` is at least 1.

    **Derivative.** `linear_cross_entropy_grad`. A cotangent of `lse` is an error.

    **Decomposition.** matmul, and that of cross_entropy.

    ```mlir
    %loss, %lse = model.linear_cross_entropy %x, %w, %targets {reduction = #model.reduction<mean>, rows = 16 : i64} : (tensor<4x8x64xf32>, tensor<256x64xf32>, tensor<4x8xi32>) -> (tensor<f32>, tensor<4x8xf32>)
    ```

    #### linear_cross_entropy_grad

    Computes the logits of each chunk again. With `d`, their gradient as in cross_entropy_grad: `dx = d weight`, `dweight = d^T x`. `dweight` is accumulated in its element type, chunk by chunk, in order: in f32 where it is reduced in f32. Inactive.

    **Constraints.** (linear_cross_entropy_grad_c1) as linear_cross_entropy_c1 to linear_cross_entropy_c4. (linear_cross_entropy_grad_c2) `dloss` is a scalar of the statistics type.
    (linear_cross_entropy_grad_c3) `lse` is `[...]` in the statistics type. (linear_cross_entropy_grad_c4) `dx` is as x. (linear_cross_entropy_grad_c5) `dweight` is `[V, C]` of weight's element type or in the statistics type.

    ```mlir
    %dx, %dw = model.linear_cross_entropy_grad %dloss, %x, %w, %targets, %lse {reduction = #model.reduction<mean>, rows = 16 : i64} : (tensor<f32>, tensor<4x8x64xf32>, tensor<256x64xf32>, tensor<4x8xi32>, tensor<4x8xf32>) -> (tensor<4x8x64xf32>, tensor<256x64xf32>)
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 1>:$x, Model_FloatTensor:$weight, Model_IntegerTensor:$targets, ConfinedAttr<I64Attr, [IntPositive]>:$rows,
                       Model_LossReductionAttr:$reduction, DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<Model_Fraction>:$label_smoothing);
  let results = (outs Model_Scalar:$loss, Model_FloatTensor:$lse);
  let hasShardableForm = 1;
}
def Model_LinearCrossEntropyGradOp : Model_InactiveOp<"linear_cross_entropy_grad", [Model_TypesAgree<["x", "dx"]>, Model_ElementsOf<"x", ["weight"]>,
                                                                                      Model_StatisticsOf<"x", ["dloss", "lse"]>, Model_GradientsOf<"weight", ["dweight"]>]> {
  let summary = "VJP of linear_cross_entropy: dx, dweight";
  let arguments = (ins Model_Scalar:$dloss, Model_OfMinRank<Model_FloatTensor, 1>:$x, Model_FloatTensor:$weight,
                       Model_IntegerTensor:$targets, Model_FloatTensor:$lse, ConfinedAttr<I64Attr, [IntPositive]>:$rows, Model_LossReductionAttr:$reduction,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index, OptionalAttr<Model_Fraction>:$label_smoothing);
  let results = (outs Model_FloatTensor:$dx, Model_FloatTensor:$dweight);
  let hasShardableForm = 1;
  let firstWidened = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_LINEARLOSS_TD
