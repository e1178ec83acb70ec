//===- Normalization.td - norms ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_NORMALIZATION_TD
#define SLUICE_DIALECT_MODEL_OPS_NORMALIZATION_TD

include "dialect/model/ModelDialect.td"

def Model_LayerNormOp : Model_Op<"layer_norm", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "layer norm over the last dim";
  let description = [{
    `y = (x - mean) * rstd * weight + bias`; mean and `rstd = 1 / sqrt(var + epsilon)` (biased variance) are f32 (f64 for
    f64) and saved for the derivative.
  }];
  let arguments = (ins Model_FloatTensor:$x, Model_FloatTensor:$weight, Model_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs Model_FloatTensor:$y, Model_FloatTensor:$mean, Model_FloatTensor:$rstd);
  let hasVerifier = 1;
}
def Model_LayerNormGradOp : Model_InactiveOp<"layer_norm_grad", [Model_InferTypes]> {
  let summary = "VJP of layer_norm: dx, dweight, dbias";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$x, Model_FloatTensor:$weight, Model_FloatTensor:$mean, Model_FloatTensor:$rstd);
  let results = (outs Model_FloatTensor:$dx, Model_FloatTensor:$dweight, Model_FloatTensor:$dbias);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_NORMALIZATION_TD
