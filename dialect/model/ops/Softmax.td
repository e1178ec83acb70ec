//===- Softmax.td - softmax ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_SOFTMAX_TD
#define SLUICE_DIALECT_MODEL_OPS_SOFTMAX_TD

include "dialect/model/ModelDialect.td"

def Model_SoftmaxOp : Model_Op<"softmax", [Model_ResultsLike<["x"]>, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "softmax over the last dim";
  let description = [{
    **Semantics.** Over the last dim: `exp(x - max x) / sum exp(x - max x)`.

    **Constraints.** (softmax_c1) x has at least one dim.

    **Derivative.** `softmax_grad`: `dx = y (dy - sum(dy y))`. Inactive. (softmax_grad_c1) y has at least one dim. (softmax_grad_c2) `dy` is as y.

    ```mlir
    %y = model.softmax %x : tensor<4x64xf32>
    ```

    ```mlir
    %dx = model.softmax_grad %dy, %y : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    ```
  }];
  let assemblyFormat = Model_UnaryFormat<"x", "y">.text;
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 1>:$x);
  let results = (outs Model_FloatTensor:$y);
  // Maximum, subtract, exp, sum, divide.
  let flopsPerElement = "5";
}
def Model_SoftmaxGradOp : Model_InactiveOp<"softmax_grad", [Model_ResultsLike<["y"]>, Model_TypesAgree<["dy", "y"]>]> {
  let summary = "VJP of softmax";
  let arguments = (ins Model_FloatTensor:$dy, Model_OfMinRank<Model_FloatTensor, 1>:$y);
  let results = (outs Model_FloatTensor:$dx);
  // Multiply and sum, subtract, multiply.
  let flopsPerElement = "4";
}

#endif // SLUICE_DIALECT_MODEL_OPS_SOFTMAX_TD
