//===- Embedding.td - embedding ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_EMBEDDING_TD
#define SLUICE_DIALECT_MODEL_OPS_EMBEDDING_TD

include "dialect/model/ModelDialect.td"

def Model_EmbeddingOp : Model_Op<"embedding", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "rows of a table by token";
  let description = [{With `padding`, that row of the table has no gradient from here.}];
  let arguments = (ins Model_FloatTensor:$table, Model_IntegerTensor:$indices, OptionalAttr<I64Attr>:$padding);
  let results = (outs Model_FloatTensor:$result);
  let hasVerifier = 1;
}
def Model_EmbeddingGradOp : Model_InactiveOp<"embedding_grad", []> {
  let summary = "VJP of embedding: the table's gradient, rows added in a fixed order";
  let description = [{Tokens that are `padding` add nothing.}];
  let arguments = (ins Model_FloatTensor:$dy, Model_IntegerTensor:$indices, OptionalAttr<I64Attr>:$padding);
  let results = (outs Model_FloatTensor:$dtable);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_EMBEDDING_TD
