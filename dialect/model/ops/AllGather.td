//===- AllGather.td - model.all_gather and model.reduce_scatter ----------------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ALLGATHER_TD
#define SLUICE_DIALECT_MODEL_OPS_ALLGATHER_TD

include "dialect/model/ModelDialect.td"

def Model_AllGatherOp : Model_Op<"all_gather"> {
  let summary = "the rows of all data-parallel ranks";
  let description = [{
    **Semantics.** The operands of all data-parallel ranks (axes `replicate` and `shard`) concatenated along dim 0, in order of rank: for a loss over the global batch. The type gives the number of ranks; a mesh of
    another number is refused. On one rank it is the identity. It belongs to no unit, is issued at its position, and compute waits for it at the first read of its value.

    **Inputs.** `operand`: tensor of float of rank 1 or more. **Outputs.** `result`.

    **Constraints.** (all_gather_c1) the operand has a dim 0. (all_gather_c2) the result's other extents are the operand's. (all_gather_c3) its rows are a positive multiple of the operand's. (all_gather_c4) one element type.

    **Derivative.** reduce_scatter of dy: the sum over the ranks of the cotangents of the rank's rows. The losses of all ranks are included, and the gradients of parameters are means over ranks,
    so the derivative is that of the mean of the ranks' losses. A loss that each rank computes of all rows has the gradient of one rank with the global batch.
    `torch.distributed.nn.functional.all_gather` and `DistributedDataParallel` together have the same derivative.

    ```mlir
    %all = model.all_gather %x : (tensor<4x64xf32>) -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 1>:$operand);
  let rule = "";
  let results = (outs Model_OfMinRank<Model_FloatTensor, 1>:$result);
  let hasOwnVerifier = 1;
  let kernel = "copy";
}
def Model_ReduceScatterOp : Model_Op<"reduce_scatter"> {
  let summary = "the rank's rows of the sum over the data-parallel ranks";
  let description = [{
    **Semantics.** The sum over the data-parallel ranks (axes `replicate` and `shard`) of the operand, of which each rank has its part of the rows, in order of rank. The type gives the number of ranks; a mesh of
    another number is refused. On one rank it is the identity. It is issued and waited for as all_gather.

    **Inputs.** `operand`: tensor of float of rank 1 or more. **Outputs.** `result`.

    **Constraints.** (reduce_scatter_c1) the operand has a dim 0. (reduce_scatter_c2) the result's other extents are the operand's. (reduce_scatter_c3) the operand's rows are a positive multiple of the result's. (reduce_scatter_c4) one element type.

    **Derivative.** all_gather of dy.

    ```mlir
    %part = model.reduce_scatter %x : (tensor<8x64xf32>) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 1>:$operand);
  let rule = "";
  let results = (outs Model_OfMinRank<Model_FloatTensor, 1>:$result);
  let hasOwnVerifier = 1;
  let kernel = "copy";
}

#endif // SLUICE_DIALECT_MODEL_OPS_ALLGATHER_TD
