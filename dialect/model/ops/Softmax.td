//===- Softmax.td - softmax ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_SOFTMAX_TD
#define SLUICE_DIALECT_MODEL_OPS_SOFTMAX_TD

include "dialect/model/ModelDialect.td"

def Model_SoftmaxOp : Model_Op<"softmax", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "softmax over the last dim";
  let arguments = (ins Model_FloatTensor:$x);
  let results = (outs Model_FloatTensor:$y);
  let hasVerifier = 1;
}
def Model_SoftmaxGradOp : Model_InactiveOp<"softmax_grad", [Model_InferTypes]> {
  let summary = "VJP of softmax";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$y);
  let results = (outs Model_FloatTensor:$dx);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_SOFTMAX_TD
