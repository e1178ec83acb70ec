//===- Embedding.td - embedding ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_EMBEDDING_TD
#define SLUICE_DIALECT_MODEL_OPS_EMBEDDING_TD

include "dialect/model/ModelDialect.td"

def Model_EmbeddingOp : Model_Op<"embedding", [Model_InferExtents<"embedding", [Model_ElementType<"table">.text]>, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "rows of a table by token";
  let description = [{
    **Semantics.** `result[..., :] = table[indices[...], :]`. A token outside the table is refused at run time. With `padding`, that row is read like any other and
    gets no gradient from this op, as torch's `padding_idx` (an output projection that reads the same table still adds its gradient).

    **Inputs.** `table [V, C]`: float; `indices [...]`: integer. **Attributes.** `padding` (optional): a row of the unsharded table. **Outputs.** `result [..., C]`: follows.

    **Constraints.** (embedding_c1) the table has rank 2. (embedding_c2) `padding` is a row of the table.

    **Derivative.** `embedding_grad`: zeros `[V, C]` to which each row of dy is added at its token, in a fixed order. Tokens that are `padding` add nothing. Inactive. (embedding_grad_c1) the result has rank 2. (embedding_grad_c2) `dy` is `[..., C]` with the
    result's element type, or the result has the statistics type. (embedding_grad_c3) as embedding_c2.

    **Decomposition.** gather; none with `padding`.

    ```mlir
    %x = model.embedding %wte, %tokens : (tensor<256x64xf32>, tensor<4x8xi32>) -> tensor<4x8x64xf32>
    ```

    ```mlir
    %dwte = model.embedding_grad %dy, %tokens : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<9x4xf32>
    ```
  }];
  let arguments = (ins Model_OfRank<Model_FloatTensor, 2>:$table, Model_IntegerTensor:$indices, OptionalAttr<I64Attr>:$padding);
  let results = (outs Model_FloatTensor:$result);
  let hasOwnVerifier = 1;
}
def Model_EmbeddingGradOp : Model_InactiveOp<"embedding_grad", [Model_GradientsOf<"dy", ["dtable"]>]> {
  let summary = "VJP of embedding: the table's gradient, rows added in a fixed order";
  let description = [{Tokens that are `padding` add nothing.}];
  let arguments = (ins Model_FloatTensor:$dy, Model_IntegerTensor:$indices, OptionalAttr<I64Attr>:$padding);
  let results = (outs Model_OfRank<Model_FloatTensor, 2>:$dtable);
  let firstWidened = 0;
  let hasOwnVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_EMBEDDING_TD
