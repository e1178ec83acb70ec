//===- RmsNorm.td - the norm by the root of the mean square ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_RMSNORM_TD
#define SLUICE_DIALECT_MODEL_OPS_RMSNORM_TD

include "dialect/model/ModelDialect.td"

def Model_RmsNormOp : Model_Op<"rms_norm", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "norm by the root of the mean square, over the last dim";
  let description = [{
    `y = x * rstd * weight`; `rstd = 1 / sqrt(mean(x^2) + epsilon)` is f32 (f64 for f64) and saved for the derivative.
  }];
  let arguments = (ins Model_FloatTensor:$x, Model_FloatTensor:$weight, F64Attr:$epsilon);
  let results = (outs Model_FloatTensor:$y, Model_FloatTensor:$rstd);
  let hasVerifier = 1;
}
def Model_RmsNormGradOp : Model_InactiveOp<"rms_norm_grad", [Model_InferTypes]> {
  let summary = "VJP of rms_norm: dx, dweight";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$x, Model_FloatTensor:$weight, Model_FloatTensor:$rstd);
  let results = (outs Model_FloatTensor:$dx, Model_FloatTensor:$dweight);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_RMSNORM_TD
