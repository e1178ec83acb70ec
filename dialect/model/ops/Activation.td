//===- Activation.td - activations ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ACTIVATION_TD
#define SLUICE_DIALECT_MODEL_OPS_ACTIVATION_TD

include "dialect/model/ModelDialect.td"

def Model_GeluOp : Model_Op<"gelu", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "GELU, by erf or by tanh";
  let description = [{`approximate` is `none` (erf) or `tanh`.}];
  let arguments = (ins Model_FloatTensor:$x, StrAttr:$approximate);
  let results = (outs Model_FloatTensor:$y);
  let hasVerifier = 1;
}
def Model_GeluGradOp : Model_InactiveOp<"gelu_grad", [Model_InferTypes]> {
  let summary = "VJP of gelu";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$x, StrAttr:$approximate);
  let results = (outs Model_FloatTensor:$dx);
  let hasVerifier = 1;
}
def Model_SiluOp : Model_Op<"silu", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "x / (1 + exp(-x))";
  let arguments = (ins Model_FloatTensor:$x);
  let results = (outs Model_FloatTensor:$y);
}
def Model_SiluGradOp : Model_InactiveOp<"silu_grad", [Model_InferTypes]> {
  let summary = "VJP of silu";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$x);
  let results = (outs Model_FloatTensor:$dx);
  let hasVerifier = 1;
}
def Model_SwigluOp : Model_Op<"swiglu", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "silu(gate) * up";
  let arguments = (ins Model_FloatTensor:$gate, Model_FloatTensor:$up);
  let results = (outs Model_FloatTensor:$y);
  let hasVerifier = 1;
}
def Model_SwigluGradOp : Model_InactiveOp<"swiglu_grad", [Model_InferTypes]> {
  let summary = "VJP of swiglu: dgate, dup";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$gate, Model_FloatTensor:$up);
  let results = (outs Model_FloatTensor:$dgate, Model_FloatTensor:$dup);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_ACTIVATION_TD
