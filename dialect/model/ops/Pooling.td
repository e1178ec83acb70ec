//===- Pooling.td - maxima and means of windows over two dims ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_POOLING_TD
#define SLUICE_DIALECT_MODEL_OPS_POOLING_TD

include "dialect/model/ModelDialect.td"

/// `x [N, H, W, C]` to `[N, H', W', C]` with `H' = (H + 2 padding - kernel) / stride + 1`, rounded down.
def Model_MaxPool2dOp : Model_Op<"max_pool2d", [Model_InferTypes]> {
  let summary = "the maximum of each window over height and width, channels last";
  let description = [{
    **Semantics.** The largest element, or the mean, of each window of `kernel` elements, with stride `stride`, over the input padded by `padding`. The padding is never the maximum. The mean's
    divisor is the window's size, under `without_padding` the number of its elements that are not padding.

    **Constraints.** (pool2d_c1) x has four dims. (pool2d_c2) the lists are two numbers each, of at least 1, 1, 0. (pool2d_c3) the padding is at most half the kernel. (pool2d_c4) the window is no
    larger than the padded input.

    **Derivative.** `max_pool2d_grad` from dy and x: of equal maxima the first in row order takes dy. `avg_pool2d_grad` from dy. Both add in the order of the windows and are inactive.
    (max_pool2d_grad_c1, avg_pool2d_grad_c1) dy has the pooled shape.

    ```mlir
    %y = model.max_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
    ```

    ```mlir
    %y = model.avg_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, without_padding} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
    ```

    ```mlir
    %dx = model.avg_pool2d_grad %dy {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x4x5x4xf32>) -> tensor<2x7x9x4xf32>
    ```

    ```mlir
    %dx = model.max_pool2d_grad %dy, %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x4x5x4xf32>, tensor<2x7x9x4xf32>) -> tensor<2x7x9x4xf32>
    ```
  }];
  let arguments = (ins Model_OfRank<Model_FloatTensor, 4>:$x, Model_PositivePair:$kernel, Model_PositivePair:$stride,
                       Model_NonNegativePair:$padding);
  let results = (outs Model_FloatTensor:$y);
  let hasOwnVerifier = 1;
}
def Model_MaxPool2dGradOp : Model_InactiveOp<"max_pool2d_grad", [Model_ResultsLike<["x"]>, Model_ElementsOf<"x", ["dy"]>]> {
  let summary = "VJP of max_pool2d";
  let arguments = (ins Model_FloatTensor:$dy, Model_OfRank<Model_FloatTensor, 4>:$x, Model_PositivePair:$kernel, Model_PositivePair:$stride,
                       Model_NonNegativePair:$padding);
  let results = (outs Model_OfRank<Model_FloatTensor, 4>:$dx);
  let hasOwnVerifier = 1;
}
def Model_AvgPool2dOp : Model_Op<"avg_pool2d", [Model_InferTypes]> {
  let summary = "the mean of each window over height and width, channels last";
  let description = [{
    See `model.max_pool2d`.
  }];
  let arguments = (ins Model_OfRank<Model_FloatTensor, 4>:$x, Model_PositivePair:$kernel, Model_PositivePair:$stride,
                       Model_NonNegativePair:$padding, UnitAttr:$without_padding);
  let results = (outs Model_FloatTensor:$y);
  let hasOwnVerifier = 1;
}
def Model_AvgPool2dGradOp : Model_InactiveOp<"avg_pool2d_grad", [Model_ElementsOf<"dx", ["dy"]>]> {
  let summary = "VJP of avg_pool2d";
  let arguments = (ins Model_FloatTensor:$dy, Model_PositivePair:$kernel, Model_PositivePair:$stride,
                       Model_NonNegativePair:$padding, UnitAttr:$without_padding);
  let results = (outs Model_OfRank<Model_FloatTensor, 4>:$dx);
  let hasOwnVerifier = 1;
}
def Model_AdaptiveAvgPool2dOp : Model_Op<"adaptive_avg_pool2d", [Model_InferTypes]> {
  let summary = "means of a given number of windows per image, channels last";
  let description = [{
    **Semantics.** The means of `output` windows: window i of n over H elements is `[i H / n, (i + 1) H / n)`, its begin rounded down and its end up.

    **Constraints.** (adaptive_avg_pool2d_c1) x has four dims and `output` two numbers. (adaptive_avg_pool2d_c2) all are at least 1.

    **Derivative.** `adaptive_avg_pool2d_grad` from dy. Inactive. (adaptive_avg_pool2d_grad_c1) dy and dx have the same images and channels.

    ```mlir
    %y = model.adaptive_avg_pool2d %x {output = array<i64: 1, 1>} : (tensor<2x7x9x4xf32>) -> tensor<2x1x1x4xf32>
    ```

    ```mlir
    %dx = model.adaptive_avg_pool2d_grad %dy : (tensor<2x2x3x4xf32>) -> tensor<2x7x9x4xf32>
    ```
  }];
  let arguments = (ins Model_OfRank<Model_FloatTensor, 4>:$x, Model_PositivePair:$output);
  let results = (outs Model_FloatTensor:$y);
  let hasOwnVerifier = 1;
  let kernel = "";
}
def Model_AdaptiveAvgPool2dGradOp : Model_InactiveOp<"adaptive_avg_pool2d_grad", [Model_ElementsOf<"dx", ["dy"]>]> {
  let summary = "VJP of adaptive_avg_pool2d";
  let arguments = (ins Model_OfRank<Model_FloatTensor, 4>:$dy);
  let results = (outs Model_OfRank<Model_FloatTensor, 4>:$dx);
  let kernel = "";
}

#endif // SLUICE_DIALECT_MODEL_OPS_POOLING_TD
