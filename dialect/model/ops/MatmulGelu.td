//===- MatmulGelu.td - matrix products with a gelu behind them ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_MATMULGELU_TD
#define SLUICE_DIALECT_MODEL_OPS_MATMULGELU_TD

include "dialect/model/ModelDialect.td"

def Model_MatmulGeluOp : Model_Op<"matmul_gelu", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "a matrix product and the gelu of it, in the tanh form";
  let description = [{
    `pre = op(lhs) op(rhs) (+ bias)` as of `matmul`, `y = gelu(pre)`. What a training step makes of a product that a gelu
    reads where its derivative needs both.
  }];
  let arguments = (ins Model_FloatTensor:$lhs, Model_FloatTensor:$rhs, Optional<Model_FloatTensor>:$bias,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Model_FloatTensor:$pre, Model_FloatTensor:$y);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` `(` $bias^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildSplitForm(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}
def Model_MatmulGeluGradOp
    : Model_InactiveOp<"matmul_gelu_grad", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "a matrix product times the slope of gelu, in the tanh form, at pre";
  let description = [{`gelu_grad(op(lhs) op(rhs), pre)`: the derivative of a gelu whose cotangent is a product.}];
  let arguments = (ins Model_FloatTensor:$lhs, Model_FloatTensor:$rhs, Model_FloatTensor:$pre, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs);
  let results = (outs Model_FloatTensor:$dpre);
  let extraClassDeclaration = [{
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildSplitForm(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_MATMULGELU_TD
