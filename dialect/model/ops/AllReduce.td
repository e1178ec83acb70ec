//===- AllReduce.td - a reduction over ranks that the model's author writes ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD
#define SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD

include "dialect/model/ModelDialect.td"

def Model_AllReduceOp : Model_Op<"all_reduce", [Model_InferTypes]> {
  let summary = "each element combined over all ranks that have other rows of the batch";
  let description = [{
    `reduction` is `sum` or `mean`, over the data-parallel ranks. Over one rank it is the identity. The units of the
    blocks in `unshard` are gathered while it is under way. The cotangent of the result is the operand's on each rank: no
    rank's loss is told of the others'.
  }];
  let arguments = (ins Model_FloatTensor:$operand, StrAttr:$reduction, OptionalAttr<StrArrayAttr>:$unshard);
  let results = (outs Model_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD
