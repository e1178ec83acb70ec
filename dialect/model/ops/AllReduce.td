//===- AllReduce.td - a reduction over ranks that the model's author writes ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD
#define SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD

include "dialect/model/ModelDialect.td"

def Model_AllReduceOp : Model_Op<"all_reduce", [Model_InferTypes]> {
  let summary = "each element combined over all ranks that have other rows of the batch";
  let description = [{
    **Semantics.** Each element's sum or mean over the data-parallel ranks (axes `replicate` and `shard`), each of which has other rows of the batch: what the model's author writes. It is a collective of no unit, issued where it stands and waited for where its
    value is first read. Over one rank it is the identity. Units of the blocks that `unshard` names are gathered while it is under way, if they have to be gathered behind it at all.

    **Inputs.** `operand`: tensor of float. **Attributes.** `reduction`: `sum` or `mean`; `unshard` (optional): names of blocks. **Outputs.** `result`: the type of the operand.

    **Constraints.** (all_reduce_c1) `reduction` is `sum` or `mean`.

    **Derivative.** `doperand = dy` on each rank: what other ranks' losses make of the result does not come back. That is a reduction beside automatic differentiation, as of a
    tensor in place in an eager framework.

    ```mlir
    %sum = model.all_reduce %x {reduction = #model.reduction<sum>, unshard = ["mlps.0"]} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins Model_FloatTensor:$operand, Model_LossReductionAttr:$reduction, OptionalAttr<StrArrayAttr>:$unshard);
  let results = (outs Model_FloatTensor:$result);
}

#endif // SLUICE_DIALECT_MODEL_OPS_ALLREDUCE_TD
