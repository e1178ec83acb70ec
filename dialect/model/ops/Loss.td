//===- Loss.td - losses ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_LOSS_TD
#define SLUICE_DIALECT_MODEL_OPS_LOSS_TD

include "dialect/model/ModelDialect.td"

def Model_CrossEntropyOp : Model_Op<"cross_entropy", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>,
                                                    DeclareOpInterfaceMethods<CountedMeanOpInterface>]> {
  let summary = "cross entropy of logits and target indices";
  let description = [{
    `logits [..., V]`, `targets [...]`; the mean or sum (`reduction`) over targets other than `ignore_index`. With
    `label_smoothing` e the target's share is 1 - e, and e is shared by all classes. `loss` is an f32 scalar (f64 for f64),
    `lse [...]` the logarithm of each row's sum of exponentials.
  }];
  let arguments = (ins Model_FloatTensor:$logits, Model_IntegerTensor:$targets, StrAttr:$reduction,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index, OptionalAttr<F64Attr>:$label_smoothing);
  let results = (outs Model_FloatTensor:$loss, Model_FloatTensor:$lse);
  let extraClassDeclaration = [{
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildSplitForm(::mlir::OpBuilder &builder);
  }];
  let hasVerifier = 1;
}
def Model_CrossEntropyGradOp : Model_InactiveOp<"cross_entropy_grad", [Model_InferTypes]> {
  let summary = "VJP of cross_entropy with respect to the logits";
  let arguments = (ins Model_FloatTensor:$dloss, Model_FloatTensor:$logits, Model_IntegerTensor:$targets,
                       Model_FloatTensor:$lse, StrAttr:$reduction, DefaultValuedAttr<I64Attr, "-100">:$ignore_index, OptionalAttr<F64Attr>:$label_smoothing);
  let results = (outs Model_FloatTensor:$dlogits);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_LOSS_TD
