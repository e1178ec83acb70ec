//===- Reduction.td - reductions over dims ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_REDUCTION_TD
#define SLUICE_DIALECT_MODEL_OPS_REDUCTION_TD

include "dialect/model/ModelDialect.td"

class Model_ReduceOp<string mnemonic, string text, string element = "elementOf(adaptor.getOperand())">
    : Model_Op<mnemonic, [Model_InferBy<"return inferReduction(adaptor.getOperand(), adaptor.getDims(), adaptor.getKeep(), "
                                        # element # ", types);">]> {
  let summary = text;
  let description = [{See `model.reduce_sum`.}];
  let arguments = (ins Model_FloatTensor:$operand, DenseI64ArrayAttr:$dims, UnitAttr:$keep);
  let results = (outs Model_FloatTensor:$result);
  let hasOwnVerifier = 1;
}
def Model_ReduceSumOp : Model_ReduceOp<"reduce_sum", "sum over dims",
                                       "adaptor.getOutput() ? *adaptor.getOutput() : elementOf(adaptor.getOperand())"> {
  let description = [{
    **Semantics.** The sum, the mean or the maximum over `dims`. The dims are removed, or have extent 1 with `keep`. Sums of bf16 and f16 are added up in f32 and rounded once.

    **Inputs.** `operand`: tensor of float. **Outputs.** `result`: follows; the element type of a sum is `output` if given, else the operand's.

    **Constraints.** (reduce_c1) `dims` are strictly increasing dims of the operand.

    **Derivative.** sum: dy repeated. mean: `dy / count` repeated. max: dy divided among the elements that are equal to the maximum.

    ```mlir
    %y = model.reduce_sum %x {dims = array<i64: 0>, keep} : (tensor<4x8xf32>) -> tensor<1x8xf32>
    ```

    ```mlir
    %y = model.reduce_mean %x {dims = array<i64: 2>, keep} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
    ```

    ```mlir
    %y = model.reduce_max %x {dims = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Model_FloatTensor:$operand, DenseI64ArrayAttr:$dims, UnitAttr:$keep,
                       OptionalAttr<TypeAttrOf<Model_Float>>:$output);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::DenseI64ArrayAttr":$dims, "::mlir::UnitAttr":$keep), [{
    build($_builder, $_state, operand, dims, keep, /*output=*/::mlir::TypeAttr());
  }]>];
  let widensResults = 1;
}
def Model_ReduceMeanOp : Model_ReduceOp<"reduce_mean", "mean over dims"> {
  let kernel = "";
  // The mean of parts of different sizes is not the mean.
  let rule = "nonlinearRule";
}
def Model_ReduceMaxOp : Model_ReduceOp<"reduce_max", "maximum over dims; ties share the cotangent">;

def Model_LogSumExpOp : Model_Op<"logsumexp", [Model_InferExtents<"logsumexp", [Model_ElementType<"x">.text]>, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "logarithm of the sum of exponentials over the last dim, which is removed";
  let description = [{
    **Semantics.** `max x + log sum exp(x - max x)` over the last dim, which is removed.

    **Constraints.** (logsumexp_c1) x has at least one dim.

    **Derivative.** `dy exp(x - y)`.

    **Decomposition.** reduce_max, subtract, exp, reduce_sum, log, add.

    ```mlir
    %y = model.logsumexp %x : (tensor<3x5xf32>) -> tensor<3xf32>
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 1>:$x);
  let results = (outs Model_FloatTensor:$y);
}

#endif // SLUICE_DIALECT_MODEL_OPS_REDUCTION_TD
