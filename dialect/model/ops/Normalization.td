//===- Normalization.td - norms ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_NORMALIZATION_TD
#define SLUICE_DIALECT_MODEL_OPS_NORMALIZATION_TD

include "dialect/model/ModelDialect.td"

def Model_LayerNormOp : Model_Op<"layer_norm", [DeclareOpInterfaceMethods<ScaleOrBiasOpInterface>, Model_InferExtents<"layer_norm", [Model_TypeOf<"x">.text, Model_StatisticsType<"x">.text, Model_StatisticsType<"x">.text]>, DeclareOpInterfaceMethods<DecomposeOpInterface>, Model_ElementsOf<"x", ["weight", "bias"]>]> {
  let summary = "layer norm over the last dim";
  let description = [{
    **Semantics.** Over the last dim: `mean`, biased variance, `rstd = 1 / sqrt(variance + epsilon)`, `y = (x - mean) * rstd * weight + bias`. `mean` and `rstd` are saved for the derivative.

    **Inputs.** `x [..., C]`, `weight [C]`, `bias [C]`: tensors of float. **Outputs.** `y`: type of x; `mean`, `rstd` `[...]`: statistics type.

    **Constraints.** (layer_norm_c1) x has at least one dim. (layer_norm_c2) `weight` and `bias` are `[C]` of x's element type.

    **Derivative.** `layer_norm_grad`. A cotangent of `mean` or `rstd` is an error.

    **Decomposition.** reduce_mean, subtract, multiply, reduce_mean, add, rsqrt, multiply, multiply, add.

    ```mlir
    %y, %mean, %rstd = model.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<4x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
    ```

    #### layer_norm_grad

    With `xn = (x - mean) rstd` and `g = dy weight`: `dx = rstd (g - mean(g) - xn mean(g xn)) (+ addend)`, `dweight = sum(dy xn)`, `dbias = sum(dy)` over rows, in a fixed order. Inactive.

    **Constraints.** (layer_norm_grad_c1) x has at least one dim; `dy` and `dx` are as x, and so is the optional `addend`. (layer_norm_grad_c2) `weight` is `[C]`. (layer_norm_grad_c3) `mean` and `rstd` are `[...]` in the statistics type. (layer_norm_grad_c4) `dweight` and `dbias` are `[C]` of weight's element type or in the statistics type.

    **Fusion.** In the backward, `add(r, dx)` with r older than the op becomes the addend r, where `dx` has no other use and both ops are in one outermost block: the gradient of a residual stream is one op.

    ```mlir
    %dx, %dw, %db = model.layer_norm_grad %dy, %x, %w, %mean, %rstd : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 1>:$x, Model_FloatTensor:$weight, Model_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs Model_FloatTensor:$y, Model_FloatTensor:$mean, Model_FloatTensor:$rstd);
}
def Model_LayerNormGradOp : Model_InactiveOp<"layer_norm_grad", [Model_TypesAgree<["dy", "x", "dx"]>, Model_ElementsOf<"x", ["addend"]>, Model_StatisticsOf<"x", ["mean", "rstd"]>,
                                                                Model_GradientsOf<"weight", ["dweight", "dbias"]>]> {
  let summary = "VJP of layer_norm: dx, dweight, dbias";
  let arguments = (ins Model_FloatTensor:$dy, Model_OfMinRank<Model_FloatTensor, 1>:$x, Model_FloatTensor:$weight, Model_FloatTensor:$mean, Model_FloatTensor:$rstd,
                       Optional<Model_FloatTensor>:$addend);
  let results = (outs Model_FloatTensor:$dx, Model_FloatTensor:$dweight, Model_FloatTensor:$dbias);
  let firstWidened = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_NORMALIZATION_TD
