//===- RmsNorm.td - RMS norm ----------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_RMSNORM_TD
#define SLUICE_DIALECT_MODEL_OPS_RMSNORM_TD

include "dialect/model/ModelDialect.td"

def Model_RmsNormOp : Model_Op<"rms_norm", [DeclareOpInterfaceMethods<ScaleOrBiasOpInterface>, Model_InferExtents<"rms_norm", [Model_TypeOf<"x">.text, Model_StatisticsType<"x">.text]>, DeclareOpInterfaceMethods<DecomposeOpInterface>, Model_ElementsOf<"x", ["weight"]>]> {
  let summary = "norm by the root of the mean square, over the last dim";
  let description = [{
    **Semantics.** Over the last dim: `rstd = 1 / sqrt(mean(x^2) + epsilon)`, `y = x * rstd * weight`. `rstd` is saved for the derivative.

    **Inputs.** `x [..., C]`, `weight [C]`: tensors of float. **Outputs.** `y`: type of x; `rstd [...]`: statistics type.

    **Constraints.** (rms_norm_c1) x has at least one dim. (rms_norm_c2) `weight` is `[C]` of x's element type.

    **Derivative.** `rms_norm_grad`. A cotangent of `rstd` is an error.

    ```mlir
    %y, %rstd = model.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<4x64xf32>, tensor<64xf32>) -> (tensor<4x64xf32>, tensor<4xf32>)
    ```

    #### rms_norm_grad

    With `xn = x rstd` and `g = dy weight`: `dx = rstd (g - xn mean(g xn)) (+ addend)`, `dweight = sum(dy xn)` over rows, in a fixed order. Inactive.

    **Constraints.** (rms_norm_grad_c1) x has at least one dim; `dy` and `dx` are as x, and so is the optional `addend`. (rms_norm_grad_c2) `weight` is `[C]` of x's element type. (rms_norm_grad_c3) `rstd` is `[...]` in the statistics type. (rms_norm_grad_c4) `dweight` is `[C]` of weight's element type or in the statistics type.

    **Fusion.** As layer_norm_grad.

    ```mlir
    %dx, %dw = model.rms_norm_grad %dy, %x, %w, %rstd : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 1>:$x, Model_FloatTensor:$weight, F64Attr:$epsilon);
  let results = (outs Model_FloatTensor:$y, Model_FloatTensor:$rstd);
}
def Model_RmsNormGradOp : Model_InactiveOp<"rms_norm_grad", [Model_TypesAgree<["dy", "x", "dx"]>, Model_ElementsOf<"x", ["weight", "addend"]>, Model_StatisticsOf<"x", ["rstd"]>,
                                                            Model_GradientsOf<"weight", ["dweight"]>]> {
  let summary = "VJP of rms_norm: dx, dweight";
  let arguments = (ins Model_FloatTensor:$dy, Model_OfMinRank<Model_FloatTensor, 1>:$x, Model_FloatTensor:$weight, Model_FloatTensor:$rstd,
                       Optional<Model_FloatTensor>:$addend);
  let results = (outs Model_FloatTensor:$dx, Model_FloatTensor:$dweight);
  let firstWidened = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_RMSNORM_TD
