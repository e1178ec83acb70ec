//===- Convolution.td - convolutions over two dims ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_CONVOLUTION_TD
#define SLUICE_DIALECT_MODEL_OPS_CONVOLUTION_TD

include "dialect/model/ModelDialect.td"

def Model_Conv2dOp : Model_Op<"conv2d", [Model_InferTypes]> {
  let summary = "convolution over height and width, channels last";
  let description = [{
    `x [N, H, W, C]`, `weight [O, C / groups, h, w]` as torch keeps it, `bias [O]`, to `[N, H', W', O]` with
    `H' = (H + 2 padding - dilation (h - 1) - 1) / stride + 1`, rounded down. Lists are of height and width.
  }];
  let arguments = (ins Model_FloatTensor:$x, Model_FloatTensor:$weight, Optional<Model_FloatTensor>:$bias,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation,
                       DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Model_FloatTensor:$y);
  let hasVerifier = 1;
}
class Model_Conv2dGradOp<string mnemonic> : Model_InactiveOp<mnemonic, []> {
  let hasVerifier = 1;
}
def Model_Conv2dInputGradOp : Model_Conv2dGradOp<"conv2d_input_grad"> {
  let summary = "VJP of conv2d with respect to x";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$weight, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation, DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Model_FloatTensor:$dx);
}
def Model_Conv2dWeightGradOp : Model_Conv2dGradOp<"conv2d_weight_grad"> {
  let summary = "VJP of conv2d with respect to the weight";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$x, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation, DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Model_FloatTensor:$dweight);
}

#endif // SLUICE_DIALECT_MODEL_OPS_CONVOLUTION_TD
