//===- LinearLoss.td - the output projection and its loss, in chunks of rows ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_LINEARLOSS_TD
#define SLUICE_DIALECT_MODEL_OPS_LINEARLOSS_TD

include "dialect/model/ModelDialect.td"

def Model_LinearCrossEntropyOp
    : Model_Op<"linear_cross_entropy", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>,
                                        DeclareOpInterfaceMethods<CountedMeanOpInterface>]> {
  let summary = "cross entropy of x weight^T against class indices, whose logits are made a chunk of rows at a time";
  let description = [{
    `x [..., C]`, `weight [V, C]`, `targets [...]` to a scalar loss and `lse [...]`, as `cross_entropy` of the product. Only
    `rows` rows of logits exist at a time, in the kernel's workspace; the derivative makes them again.
  }];
  let arguments = (ins Model_FloatTensor:$x, Model_FloatTensor:$weight, Model_IntegerTensor:$targets, I64Attr:$rows,
                       StrAttr:$reduction, DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<F64Attr>:$label_smoothing);
  let results = (outs Model_Scalar:$loss, Model_FloatTensor:$lse);
  let extraClassDeclaration = [{
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildSplitForm(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}
def Model_LinearCrossEntropyGradOp : Model_InactiveOp<"linear_cross_entropy_grad", [Model_InferTypes]> {
  let summary = "VJP of linear_cross_entropy: dx, dweight";
  let arguments = (ins Model_Scalar:$dloss, Model_FloatTensor:$x, Model_FloatTensor:$weight,
                       Model_IntegerTensor:$targets, Model_FloatTensor:$lse, I64Attr:$rows, StrAttr:$reduction,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index, OptionalAttr<F64Attr>:$label_smoothing);
  let results = (outs Model_FloatTensor:$dx, Model_FloatTensor:$dweight);
  let extraClassDeclaration = [{
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildSplitForm(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_LINEARLOSS_TD
