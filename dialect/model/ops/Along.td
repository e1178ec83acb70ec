//===- Along.td - elements by an index along one dim ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ALONG_TD
#define SLUICE_DIALECT_MODEL_OPS_ALONG_TD

include "dialect/model/ModelDialect.td"

def Model_ArgmaxOp : Model_InactiveOp<"argmax", [Model_InferTypes]> {
  let summary = "the index of the first maximum along one dim, which vanishes";
  let description = [{A NaN is the maximum. Inactive: piecewise constant.}];
  let arguments = (ins Model_FloatTensor:$operand, I64Attr:$dim);
  let results = (outs StaticShapeTensorOf<[I64]>:$result);
  let hasVerifier = 1;
}
def Model_TakeAlongOp : Model_Op<"take_along", [Model_InferTypes]> {
  let summary = "elements of a tensor by an index along one dim (torch.gather)";
  let description = [{
    `result[.., i, ..] = operand[.., indices[.., i, ..], ..]`. In other dims the indices are no longer than the operand.
  }];
  let arguments = (ins Model_FloatTensor:$operand, Model_IntegerTensor:$indices, I64Attr:$dim);
  let results = (outs Model_FloatTensor:$result);
  let hasVerifier = 1;
}
def Model_AddAlongOp : Model_Op<"add_along", []> {
  let summary = "zeros with elements added by an index along one dim, in row-major order: the derivative of take_along";
  let arguments = (ins Model_FloatTensor:$updates, Model_IntegerTensor:$indices, I64Attr:$dim);
  let results = (outs Model_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_ALONG_TD
