//===- Movement.td - data movement ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_MOVEMENT_TD
#define SLUICE_DIALECT_MODEL_OPS_MOVEMENT_TD

include "dialect/model/ModelDialect.td"

def Model_BroadcastOp : Model_Op<"broadcast", [DeclareOpInterfaceMethods<ViewOpInterface>]> {
  let summary = "repeats along missing leading dims and dims of extent 1";
  let arguments = (ins Model_Tensor:$operand);
  let results = (outs Model_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Model_ReshapeOp : Model_Op<"reshape", [DeclareOpInterfaceMethods<ViewOpInterface>]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Model_Tensor:$operand);
  let results = (outs Model_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Model_TransposeOp : Model_Op<"transpose", [Model_InferTypes, DeclareOpInterfaceMethods<ViewOpInterface>]> {
  let summary = "permutes dims: result dim i is operand dim permutation[i]";
  let arguments = (ins Model_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Model_Tensor:$result);
  let hasVerifier = 1;
}
def Model_SliceOp : Model_Op<"slice", [Model_InferTypes, DeclareOpInterfaceMethods<ViewOpInterface>]> {
  let summary = "elements [start, limit) with a step, per dim";
  let arguments = (ins Model_Tensor:$operand, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$limit, DenseI64ArrayAttr:$step);
  let results = (outs Model_Tensor:$result);
  let extraClassDeclaration = "void adjustToTypes();";
  let hasVerifier = 1;
}
def Model_SplitOp : Model_Op<"split", [DeclareOpInterfaceMethods<ViewOpInterface>]> {
  let summary = "cuts a tensor in pieces along one dim, in order";
  let arguments = (ins Model_Tensor:$operand, I64Attr:$dim);
  let results = (outs Variadic<Model_Tensor>:$results);
  let hasVerifier = 1;
}
def Model_ConcatOp : Model_Op<"concat", [Model_InferTypes, DeclareOpInterfaceMethods<DestinationOpInterface>]> {
  let summary = "joins tensors along one dim, in order";
  let arguments = (ins Variadic<Model_Tensor>:$operands, I64Attr:$dim);
  let results = (outs Model_Tensor:$result);
  let hasVerifier = 1;
}
def Model_PadOp : Model_Op<"pad", [Model_InferTypes]> {
  let summary = "adds `low` elements before and `high` after, per dim, and `step` - 1 between (the reverse of slice)";
  let arguments = (ins Model_Tensor:$operand, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$step, F64Attr:$value);
  let results = (outs Model_Tensor:$result);
  let hasVerifier = 1;
}
def Model_GatherOp : Model_Op<"gather", [Model_InferTypes]> {
  let summary = "rows of dim 0 of a table by index";
  let description = [{`table [V, rest...]`, `indices [I...]` to `[I..., rest...]`.}];
  let arguments = (ins Model_Tensor:$table, Model_IntegerTensor:$indices);
  let results = (outs Model_Tensor:$result);
  let hasVerifier = 1;
}
def Model_ScatterAddOp : Model_Op<"scatter_add", []> {
  let summary = "zeros with rows added at indices, in index order";
  let description = [{`updates [I..., rest...]`, `indices [I...]` to `[V, rest...]`: the derivative of gather.}];
  let arguments = (ins Model_FloatTensor:$updates, Model_IntegerTensor:$indices);
  let results = (outs Model_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_MOVEMENT_TD
