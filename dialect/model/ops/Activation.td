//===- Activation.td - activations ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ACTIVATION_TD
#define SLUICE_DIALECT_MODEL_OPS_ACTIVATION_TD

include "dialect/model/ModelDialect.td"

def Model_GeluOp : Model_Op<"gelu", [Model_ResultsLike<["x"]>, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "GELU, by erf or by tanh";
  let description = [{
    **Semantics.** `approximate = #model.approximation<none>`: `x (1 + erf(x / sqrt 2)) / 2`. `#model.approximation<tanh>`: `x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2`.

    **Constraints.** (gelu_c1) `approximate` is `none` or `tanh`.

    **Derivative.** `gelu_grad` from dy and x. Inactive. (gelu_grad_c1) `dy` is as x. (gelu_grad_c2) as gelu_c1.

    ```mlir
    %y = model.gelu %x {approximate = #model.approximation<tanh>} : tensor<4x64xf32>
    ```

    ```mlir
    %dx = model.gelu_grad %dy, %x {approximate = #model.approximation<none>} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    ```
  }];
  let assemblyFormat = Model_UnaryFormat<"x", "y">.text;
  let arguments = (ins Model_FloatTensor:$x, Model_GeluApproximationAttr:$approximate);
  let results = (outs Model_FloatTensor:$y);
  let flopsPerElement = "getApproximate() == GeluApproximation::tanh ? 9 : 5";
}
def Model_GeluGradOp : Model_InactiveOp<"gelu_grad", [Model_ResultsLike<["x"]>, Model_TypesAgree<["dy", "x"]>]> {
  let summary = "VJP of gelu";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$x, Model_GeluApproximationAttr:$approximate);
  let results = (outs Model_FloatTensor:$dx);
  let flopsPerElement = "getApproximate() == GeluApproximation::tanh ? 18 : 11";
}
def Model_SiluOp : Model_Op<"silu", [Model_ResultsLike<["x"]>, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "x / (1 + exp(-x))";
  let description = [{
    **Semantics.** `x / (1 + exp(-x))`.

    **Derivative.** `silu_grad` from dy and x. Inactive. (silu_grad_c1) `dy` is as x.

    ```mlir
    %y = model.silu %x : tensor<4x64xf32>
    ```

    ```mlir
    %dx = model.silu_grad %dy, %x : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    ```
  }];
  let assemblyFormat = Model_UnaryFormat<"x", "y">.text;
  let arguments = (ins Model_FloatTensor:$x);
  let results = (outs Model_FloatTensor:$y);
  // Negate, exp, add, divide.
  let flopsPerElement = "4";
}
def Model_SiluGradOp : Model_InactiveOp<"silu_grad", [Model_ResultsLike<["x"]>, Model_TypesAgree<["dy", "x"]>]> {
  let summary = "VJP of silu";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$x);
  let results = (outs Model_FloatTensor:$dx);
  // The slope s (1 + x (1 - s)) with s = 1 / (1 + exp(-x)): four for s, three more; and the product with dy.
  let flopsPerElement = "8";
}
def Model_SwigluOp : Model_Op<"swiglu", [Model_ResultsLike<["gate"]>, DeclareOpInterfaceMethods<DecomposeOpInterface>, Model_TypesAgree<["gate", "up"]>]> {
  let summary = "silu(gate) * up";
  let description = [{
    **Semantics.** `silu(gate) * up`. A silu of one use and its product with another value of its type fuse to it.

    **Constraints.** (swiglu_c1) `up` is as `gate`.

    **Derivative.** `swiglu_grad` from dy, gate, up: `dgate = dy up silu'(gate)`, `dup = dy silu(gate)`. Inactive. (swiglu_grad_c1) `up` is as `gate`. (swiglu_grad_c2) `dy` is as `gate`.

    ```mlir
    %y = model.swiglu %gate, %up : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
    ```

    ```mlir
    %dgate, %dup = model.swiglu_grad %dy, %gate, %up : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>)
    ```
  }];
  let arguments = (ins Model_FloatTensor:$gate, Model_FloatTensor:$up);
  let results = (outs Model_FloatTensor:$y);
  let flopsPerElement = "5";
}
def Model_SwigluGradOp : Model_InactiveOp<"swiglu_grad", [Model_ResultsLike<["gate", "gate"]>, Model_TypesAgree<["dy", "gate", "up"]>]> {
  let summary = "VJP of swiglu: dgate, dup";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$gate, Model_FloatTensor:$up);
  let results = (outs Model_FloatTensor:$dgate, Model_FloatTensor:$dup);
  let flopsPerElement = "11";
}

#endif // SLUICE_DIALECT_MODEL_OPS_ACTIVATION_TD
