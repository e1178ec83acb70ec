//===- Convolution.td - convolutions over two dims ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_CONVOLUTION_TD
#define SLUICE_DIALECT_MODEL_OPS_CONVOLUTION_TD

include "dialect/model/ModelDialect.td"

def Model_Conv2dOp : Model_Op<"conv2d", [DeclareOpInterfaceMethods<ScaleOrBiasOpInterface>, Model_ElementsOf<"x", ["weight", "bias"]>, Model_InferTypes]> {
  let summary = "convolution over height and width, channels last";
  let description = [{
    **Semantics.** `y[n, i, j, o] = bias[o] + sum over c, h, w of x[n, i stride + h dilation - padding, j stride + w dilation - padding, c] weight[o, c, h, w]`, where x is 0 outside. With
    `groups`, inputs and outputs are divided into as many equal ranges of channels, and each range of outputs reads one range of inputs.

    **Inputs.** `x [N, H, W, C]`, `weight [O, C / groups, h, w]`, optionally `bias [O]`. **Outputs.** `y [N, H', W', O]`, `H' = (H + 2 padding - dilation (h - 1) - 1) / stride + 1`, rounded down.

    **Constraints.** (conv2d_c1) x and the weight have four dims. (conv2d_c2) `stride`, `padding`, `dilation` are two numbers each, of at least 1, 0, 1. (conv2d_c3) `groups` divides C and O, and
    the weight has C / groups input channels. (conv2d_c4) the dilated window is no larger than the padded input. (conv2d_c5) `bias` is `[O]`; element types agree.

    **Derivative.** `conv2d_input_grad` from dy and the weight, `conv2d_weight_grad` from dy and x, reduce_sum of dy for the bias. Both have the constraints of the forward
    (conv2d_input_grad_c1, conv2d_weight_grad_c1). `conv2d_weight_grad` is inactive. `conv2d_input_grad` is also the transposed convolution; its derivative for a cotangent of dx is `conv2d` of the
    cotangent and the weight, and `conv2d_weight_grad` from dy and the cotangent.

    ```mlir
    %y = model.conv2d %x, %w, %b {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x7x9x4xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x4x9x6xf32>
    ```

    ```mlir
    %dx = model.conv2d_input_grad %dy, %w {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x6xf32>, tensor<6x2x3x3xf32>) -> tensor<2x7x9x4xf32>
    ```

    ```mlir
    %dw = model.conv2d_weight_grad %dy, %x {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x6xf32>, tensor<2x7x9x4xf32>) -> tensor<6x2x3x3xf32>
    ```
  }];
  let arguments = (ins Model_OfRank<Model_FloatTensor, 4>:$x, Model_OfRank<Model_FloatTensor, 4>:$weight, Optional<Model_FloatTensor>:$bias,
                       Model_PositivePair:$stride, Model_NonNegativePair:$padding, Model_PositivePair:$dilation,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$groups);
  let rule = "";
  let results = (outs Model_FloatTensor:$y);
  let hasOwnVerifier = 1;
}
def Model_Conv2dInputGradOp : Model_Op<"conv2d_input_grad", [Model_ElementsOf<"dy", ["weight", "dx"]>]> {
  let summary = "VJP of conv2d with respect to x: the transposed convolution";
  let arguments = (ins Model_FloatTensor:$dy, Model_OfRank<Model_FloatTensor, 4>:$weight, Model_PositivePair:$stride,
                       Model_NonNegativePair:$padding, Model_PositivePair:$dilation, DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$groups);
  let rule = "";
  let results = (outs Model_OfRank<Model_FloatTensor, 4>:$dx);
  let hasOwnVerifier = 1;
}
def Model_Conv2dWeightGradOp : Model_InactiveOp<"conv2d_weight_grad", [Model_ElementsOf<"dy", ["x", "dweight"]>]> {
  let summary = "VJP of conv2d with respect to the weight";
  let arguments = (ins Model_FloatTensor:$dy, Model_OfRank<Model_FloatTensor, 4>:$x, Model_PositivePair:$stride,
                       Model_NonNegativePair:$padding, Model_PositivePair:$dilation, DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$groups);
  let rule = "";
  let results = (outs Model_OfRank<Model_FloatTensor, 4>:$dweight);
  let hasOwnVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_CONVOLUTION_TD
