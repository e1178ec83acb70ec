//===- LinearLoss.td - the output projection and its loss, in chunks of rows ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_LINEARLOSS_TD
#define SLUICE_DIALECT_MODEL_OPS_LINEARLOSS_TD

include "dialect/model/ModelDialect.td"

def Model_LinearCrossEntropyOp
    : Model_Op<"linear_cross_entropy", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>,
                                        DeclareOpInterfaceMethods<CountedMeanOpInterface>]> {
  let summary = "cross entropy of x weight^T against class indices, whose logits are made a chunk of rows at a time";
  let description = [{
    **Semantics.** `cross_entropy` of the logits `x weight^T`, of which only `rows` rows exist at a time, in the kernel's workspace. What the recipe's `loss.chunk_rows` makes of a cross entropy and
    the product that gives its logits, where nothing else reads either.

    **Inputs.** `x [..., C]`, `weight [V, C]`: tensors of float; `targets [...]`: integer. **Outputs.** `loss`: scalar, `lse [...]`: both of the statistics type.

    **Constraints.** (linear_cross_entropy_c1) x has at least one dim, the weight two, of which the last is x's, and its element type. (linear_cross_entropy_c2) `targets` is `[...]`.
    (linear_cross_entropy_c3) `reduction` and `label_smoothing` are as those of cross_entropy. (linear_cross_entropy_c4) `rows` is at least 1.

    **Derivative.** `linear_cross_entropy_grad`. A cotangent of `lse` is an error.

    **Decomposition.** matmul, and that of cross_entropy.

    ```mlir
    %loss, %lse = model.linear_cross_entropy %x, %w, %targets {reduction = #model.reduction<mean>, rows = 16 : i64} : (tensor<4x8x64xf32>, tensor<256x64xf32>, tensor<4x8xi32>) -> (tensor<f32>, tensor<4x8xf32>)
    ```

    #### linear_cross_entropy_grad

    Makes the logits of each chunk again; with `d` their gradient as cross_entropy_grad has it, `dx = d weight`, `dweight = d^T x`. `dweight` is added up in its own type, chunk by chunk, in order. Inactive.

    **Constraints.** (linear_cross_entropy_grad_c1) as linear_cross_entropy_c1 to linear_cross_entropy_c4. (linear_cross_entropy_grad_c2) `dloss` is a scalar of the statistics type.
    (linear_cross_entropy_grad_c3) `lse` is `[...]` in the statistics type.

    ```mlir
    %dx, %dw = model.linear_cross_entropy_grad %dloss, %x, %w, %targets, %lse {reduction = #model.reduction<mean>, rows = 16 : i64} : (tensor<f32>, tensor<4x8x64xf32>, tensor<256x64xf32>, tensor<4x8xi32>, tensor<4x8xf32>) -> (tensor<4x8x64xf32>, tensor<256x64xf32>)
    ```
  }];
  let arguments = (ins Model_FloatTensor:$x, Model_FloatTensor:$weight, Model_IntegerTensor:$targets, ConfinedAttr<I64Attr, [IntPositive]>:$rows,
                       Model_LossReductionAttr:$reduction, DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<F64Attr>:$label_smoothing);
  let results = (outs Model_Scalar:$loss, Model_FloatTensor:$lse);
  let extraClassDeclaration = [{
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildShardableForm(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}
def Model_LinearCrossEntropyGradOp : Model_InactiveOp<"linear_cross_entropy_grad", [Model_InferTypes]> {
  let summary = "VJP of linear_cross_entropy: dx, dweight";
  let arguments = (ins Model_Scalar:$dloss, Model_FloatTensor:$x, Model_FloatTensor:$weight,
                       Model_IntegerTensor:$targets, Model_FloatTensor:$lse, ConfinedAttr<I64Attr, [IntPositive]>:$rows, Model_LossReductionAttr:$reduction,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index, OptionalAttr<F64Attr>:$label_smoothing);
  let results = (outs Model_FloatTensor:$dx, Model_FloatTensor:$dweight);
  let extraClassDeclaration = [{
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildShardableForm(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_LINEARLOSS_TD
