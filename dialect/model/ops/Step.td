//===- Step.td - scalars of a step: norms, clipping, the guard ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_STEP_TD
#define SLUICE_DIALECT_MODEL_OPS_STEP_TD

include "dialect/model/ModelDialect.td"

def Model_PowerSumOp : Model_StepOp<"power_sum", []> {
  let summary = "the sum of |g|^p over all elements of all operands; their maximum for p = infinity";
  let description = [{On shards the result is partial: the sharding rule says how to combine it (sum, or max).}];
  let arguments = (ins Variadic<Model_FloatTensor>:$gradients, F64Attr:$p);
  let results = (outs Model_Scalar:$result);
  let hasVerifier = 1;
}
def Model_NormRootOp : Model_StepOp<"norm_root", []> {
  let summary = "s^(1/p); s itself for p = infinity";
  let arguments = (ins Model_Scalar:$sum, F64Attr:$p);
  let results = (outs Model_Scalar:$norm);
  let hasVerifier = 1;
}
def Model_ClipCoefficientOp : Model_StepOp<"clip_coefficient", []> {
  let summary = "min(1, max_norm / (norm + 1e-6))";
  let arguments = (ins Model_Scalar:$norm, F64Attr:$max_norm);
  let results = (outs Model_Scalar:$coefficient);
  let hasVerifier = 1;
}
def Model_AllFiniteOp : Model_StepOp<"all_finite", []> {
  let summary = "the guard: 1 where all scalars are finite";
  let arguments = (ins Variadic<Model_Scalar>:$scalars);
  let results = (outs Model_BoolTensor:$guard);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_STEP_TD
