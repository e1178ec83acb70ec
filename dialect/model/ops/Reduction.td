//===- Reduction.td - reductions over dims ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_REDUCTION_TD
#define SLUICE_DIALECT_MODEL_OPS_REDUCTION_TD

include "dialect/model/ModelDialect.td"

class Model_ReduceOp<string mnemonic, string text> : Model_Op<mnemonic, [Model_InferTypes]> {
  let summary = text;
  let description = [{Over `dims`; they vanish, or stay with extent 1 under `keep`.}];
  let arguments = (ins Model_FloatTensor:$operand, DenseI64ArrayAttr:$dims, UnitAttr:$keep);
  let results = (outs Model_FloatTensor:$result);
  let hasVerifier = 1;
}
def Model_ReduceSumOp : Model_ReduceOp<"reduce_sum", "sum over dims">;
def Model_ReduceMeanOp : Model_ReduceOp<"reduce_mean", "mean over dims">;
def Model_ReduceMaxOp : Model_ReduceOp<"reduce_max", "maximum over dims; ties share the cotangent">;

def Model_LogSumExpOp : Model_Op<"logsumexp", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "logarithm of the sum of exponentials over the last dim, which vanishes";
  let arguments = (ins Model_FloatTensor:$x);
  let results = (outs Model_FloatTensor:$y);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_REDUCTION_TD
