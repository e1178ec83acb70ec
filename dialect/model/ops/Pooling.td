//===- Pooling.td - maxima and means of windows over two dims ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_POOLING_TD
#define SLUICE_DIALECT_MODEL_OPS_POOLING_TD

include "dialect/model/ModelDialect.td"

/// `x [N, H, W, C]` to `[N, H', W', C]` with `H' = (H + 2 padding - kernel) / stride + 1`, rounded down.
def Model_MaxPool2dOp : Model_Op<"max_pool2d", [Model_InferTypes]> {
  let summary = "the maximum of each window over height and width, channels last";
  let description = [{What is padded never wins. Of equal maxima the first in row order gets the cotangent.}];
  let arguments = (ins Model_FloatTensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding);
  let results = (outs Model_FloatTensor:$y);
  let hasVerifier = 1;
}
def Model_MaxPool2dGradOp : Model_InactiveOp<"max_pool2d_grad", [Model_InferTypes]> {
  let summary = "VJP of max_pool2d";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding);
  let results = (outs Model_FloatTensor:$dx);
  let hasVerifier = 1;
}
def Model_AvgPool2dOp : Model_Op<"avg_pool2d", [Model_InferTypes]> {
  let summary = "the mean of each window over height and width, channels last";
  let description = [{The divisor is the window's size; under `without_padding` the number of elements that are no padding.}];
  let arguments = (ins Model_FloatTensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding, UnitAttr:$without_padding);
  let results = (outs Model_FloatTensor:$y);
  let hasVerifier = 1;
}
def Model_AvgPool2dGradOp : Model_InactiveOp<"avg_pool2d_grad", []> {
  let summary = "VJP of avg_pool2d";
  let arguments = (ins Model_FloatTensor:$dy, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding, UnitAttr:$without_padding);
  let results = (outs Model_FloatTensor:$dx);
  let hasVerifier = 1;
}
def Model_AdaptiveAvgPool2dOp : Model_Op<"adaptive_avg_pool2d", [Model_InferTypes]> {
  let summary = "means of as many windows as the result has places, channels last";
  let description = [{
    `x [N, H, W, C]` to `[N, output..., C]`: window i of n over H elements is `[i H / n, (i + 1) H / n)`, its begin rounded
    down and its end up.
  }];
  let arguments = (ins Model_FloatTensor:$x, DenseI64ArrayAttr:$output);
  let results = (outs Model_FloatTensor:$y);
  let hasVerifier = 1;
}
def Model_AdaptiveAvgPool2dGradOp : Model_InactiveOp<"adaptive_avg_pool2d_grad", []> {
  let summary = "VJP of adaptive_avg_pool2d";
  let arguments = (ins Model_FloatTensor:$dy);
  let results = (outs Model_FloatTensor:$dx);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_POOLING_TD
