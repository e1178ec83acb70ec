//===- Matmul.td - matrix products ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_MATMUL_TD
#define SLUICE_DIALECT_MODEL_OPS_MATMUL_TD

include "dialect/model/ModelDialect.td"

def Model_MatmulOp : Model_Op<"matmul", [AttrSizedOperandSegments, Model_InferTypes]> {
  let summary = "matrix product of the last two dims, with optional bias and residual";
  let description = [{
    `op(lhs)[..., m, k] op(rhs)[..., k, n] (+ bias[n]) (+ residual[..., m, n])`; leading dims broadcast. The result has the
    operands' element type, or `output` where given (bf16 operands, f32 result).
  }];
  let arguments = (ins Model_FloatTensor:$lhs, Model_FloatTensor:$rhs, Optional<Model_FloatTensor>:$bias,
                       Optional<Model_FloatTensor>:$residual, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
                       OptionalAttr<TypeAttr>:$output);
  let results = (outs Model_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, CArg<"bool", "false">:$transposeLhs,
                                 CArg<"bool", "false">:$transposeRhs)>];
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` `(` $bias^ `)`)? (`residual` `(` $residual^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildSplitForm(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_MATMUL_TD
