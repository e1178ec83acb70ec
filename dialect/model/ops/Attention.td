//===- Attention.td - attention ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ATTENTION_TD
#define SLUICE_DIALECT_MODEL_OPS_ATTENTION_TD

include "dialect/model/ModelDialect.td"

def Model_AttentionOp : Model_Op<"attention", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "scaled dot-product attention";
  let description = [{
    `q [B, T, H, D]`, `k` and `v` `[B, S, G, D]` with G dividing H. `out [B, T, H, D]`; `lse [B, H, T]` (f32, f64 for f64)
    is the logarithm of each row's sum of exponentials, saved for the derivative in place of the probabilities.
    `causal`: row t sees columns up to t + S - T, under `window` the last `window` of them.
  }];
  let arguments = (ins Model_FloatTensor:$q, Model_FloatTensor:$k, Model_FloatTensor:$v, F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<I64Attr>:$window);
  let results = (outs Model_FloatTensor:$out, Model_FloatTensor:$lse);
  let extraClassDeclaration = [{
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildSplitForm(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}
def Model_AttentionGradOp : Model_InactiveOp<"attention_grad", [Model_InferTypes]> {
  let summary = "VJP of attention: dq, dk, dv";
  let arguments = (ins Model_FloatTensor:$dout, Model_FloatTensor:$q, Model_FloatTensor:$k, Model_FloatTensor:$v,
                       Model_FloatTensor:$out, Model_FloatTensor:$lse, F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<I64Attr>:$window);
  let results = (outs Model_FloatTensor:$dq, Model_FloatTensor:$dk, Model_FloatTensor:$dv);
  let extraClassDeclaration = [{
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildSplitForm(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_ATTENTION_TD
