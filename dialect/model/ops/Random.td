//===- Random.td - what a step draws ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_RANDOM_TD
#define SLUICE_DIALECT_MODEL_OPS_RANDOM_TD

include "dialect/model/ModelDialect.td"

def Model_DropoutOp : Model_Op<"dropout", [Model_InferTypes, DeclareOpInterfaceMethods<EvaluationOpInterface>]> {
  let summary = "elements set to zero by chance, the others scaled up";
  let description = [{
    An element is kept, times 1 / (1 - rate), where its uniform number is at least `rate`, else 0. The number is a function of
    seed, step, `key` and the element's index in the step (Philox 4x32-10): `row` times the elements of a row, plus the index
    in `x`, dim 0 of which are rows. So a mask depends on neither ranks nor recompute nor micro-batches, and is stored
    nowhere: the derivative draws it again. Outside training it is the identity.
  }];
  let arguments = (ins Model_FloatTensor:$x, StaticShapeTensorOf<[I64]>:$seed, StaticShapeTensorOf<[I64]>:$step,
                       StaticShapeTensorOf<[I64]>:$row, F64Attr:$rate, I64Attr:$key);
  let results = (outs Model_FloatTensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_RANDOM_TD
