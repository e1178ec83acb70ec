//===- AllReduce.td - model.all_reduce, an all-reduce written by the author -------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD
#define SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD

include "dialect/model/ModelDialect.td"

def Model_AllReduceOp : Model_Op<"all_reduce", [Model_ResultsLike<["operand"]>]> {
  let summary = "the sum or mean of each element over the data-parallel ranks";
  let description = [{
    **Semantics.** The sum or mean of each element over the data-parallel ranks (axes `replicate` and `shard`), each of which has different rows of the batch. It belongs to no unit, is issued at its position, and compute waits for it
    at the first read of its value. On one rank it is the identity. The units of the blocks in `unshard` are gathered during the all-reduce, unless they are gathered before it.

    **Inputs.** `operand`: tensor of float. **Attributes.** `reduction`: `sum` or `mean`; `unshard` (optional): names of blocks. **Outputs.** `result`: the type of the operand.

    **Constraints.** (all_reduce_c1) `reduction` is `sum` or `mean`.

    **Derivative.** `doperand = dy` on each rank: the derivatives of other ranks' losses are not included. It is like an in-place all_reduce of a tensor in an eager framework,
    which automatic differentiation does not record.

    ```mlir
    %sum = model.all_reduce %x {reduction = #model.reduction<sum>, unshard = ["mlps.0"]} : tensor<2x8xf32>
    ```
  }];
  let assemblyFormat = Model_UnaryFormat<"operand", "result">.text;
  let arguments = (ins Model_FloatTensor:$operand, Model_LossReductionAttr:$reduction, OptionalAttr<StrArrayAttr>:$unshard);
  let results = (outs Model_FloatTensor:$result);
  let flopsPerElement = "1";
  let kernel = "copy";
}

#endif // SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD
