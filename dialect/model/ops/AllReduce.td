//===- AllReduce.td - model.all_reduce, a collective of the model -------------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD
#define SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD

include "dialect/model/ModelDialect.td"

def Model_AllReduceOp : Model_Op<"all_reduce", [Model_InferTypes]> {
  let summary = "each element combined over all ranks that have other rows of the batch";
  let description = [{
    **Semantics.** Each element's sum or mean over the data-parallel ranks (axes `replicate` and `shard`), each of which has other rows of the batch: a collective of the model. It belongs to no unit, is issued at its position, and is waited for at the first
    read of its value. On one rank it is the identity. Units of the blocks in `unshard` are gathered at the same time, if they are gathered after it at all.

    **Inputs.** `operand`: tensor of float. **Attributes.** `reduction`: `sum` or `mean`; `unshard` (optional): names of blocks. **Outputs.** `result`: the type of the operand.

    **Constraints.** (all_reduce_c1) `reduction` is `sum` or `mean`.

    **Derivative.** `doperand = dy` on each rank: the derivatives of other ranks' losses are not included. It is like an in-place all_reduce of a tensor in an eager framework,
    which automatic differentiation does not record.

    ```mlir
    %sum = model.all_reduce %x {reduction = #model.reduction<sum>, unshard = ["mlps.0"]} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins Model_FloatTensor:$operand, Model_LossReductionAttr:$reduction, OptionalAttr<StrArrayAttr>:$unshard);
  let results = (outs Model_FloatTensor:$result);
}

#endif // SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD
