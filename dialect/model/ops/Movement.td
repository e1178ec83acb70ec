//===- Movement.td - data movement ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_MOVEMENT_TD
#define SLUICE_DIALECT_MODEL_OPS_MOVEMENT_TD

include "dialect/model/ModelDialect.td"

def Model_BroadcastOp : Model_Op<"broadcast", [DeclareOpInterfaceMethods<ViewOpInterface>]> {
  let summary = "repeats along missing leading dims and dims of extent 1";
  let description = [{
    **Semantics.** Repeats the operand to the result's shape.

    **Constraints.** (broadcast_c1) the operand's shape broadcasts to exactly the result's. (broadcast_c2) one element type.

    **Derivative.** dy summed over the repeated dims.

    ```mlir
    %y = model.broadcast %x : (tensor<64xf32>) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Model_Tensor:$operand);
  let rule = "";
  let results = (outs Model_Tensor:$result);
  let hasOwnVerifier = 1;
  let hasFolder = 1;
  let kernel = "copy";
}
def Model_ReshapeOp : Model_Op<"reshape", [DeclareOpInterfaceMethods<ViewOpInterface>]> {
  let summary = "the same elements in row-major order in a new shape";
  let description = [{
    **Semantics.** The same elements in row-major order in a new shape. A reshape of a reshape folds to one reshape; one to the same type folds away.

    **Constraints.** (reshape_c1) the numbers of elements are equal. (reshape_c2) one element type.

    **Derivative.** dy reshaped back.

    ```mlir
    %y = model.reshape %x : (tensor<4x64xf32>) -> tensor<4x8x8xf32>
    ```
  }];
  let arguments = (ins Model_Tensor:$operand);
  let rule = "";
  let results = (outs Model_Tensor:$result);
  let hasOwnVerifier = 1;
  let hasFolder = 1;
  let kernel = "copy";
}
def Model_TransposeOp : Model_Op<"transpose", [Model_InferTypes, DeclareOpInterfaceMethods<ViewOpInterface>]> {
  let summary = "permutes dims: result dim i is operand dim permutation[i]";
  let description = [{
    **Semantics.** Result dim i is operand dim `permutation[i]`.

    **Constraints.** (transpose_c1) `permutation` has each dim once.

    **Derivative.** dy under the inverse permutation.

    ```mlir
    %y = model.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Model_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let rule = "";
  let results = (outs Model_Tensor:$result);
  let hasOwnVerifier = 1;
  let kernel = "copy";
}
def Model_StopGradientOp
    : Model_RuledOp<"stop_gradient", DeclareOpInterfaceMethods<VjpOpInterface, ["buildVjp", "stopsGradient"]>,
                    DeclareOpInterfaceMethods<PrecisionOpInterface>, [Model_ResultsLike<["operand"]>],
                    "bool $cppClass::stopsGradient() { return true; }\n"> {
  let summary = "the operand, with the derivative zero";
  let description = [{
    **Semantics.** The operand. Importers create it for what the source computes without gradient; differentiation removes it.

    **Derivative.** None: the operand gets no gradient.

    ```mlir
    %y = model.stop_gradient %x : tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Model_Tensor:$operand);
  let results = (outs Model_Tensor:$result);
  let assemblyFormat = Model_UnaryFormat<"operand", "result">.text;
  let kernel = "copy";
  let rule = "pointwiseRule";
  let flopsPerElement = "0";
}
def Model_SliceOp : Model_Op<"slice", [Model_InferTypes, DeclareOpInterfaceMethods<ViewOpInterface>]> {
  let summary = "elements [start, limit) with a step, per dim";
  let description = [{
    **Semantics.** In each dim the elements `start`, `start + step`, ... below `limit`.

    **Constraints.** (slice_c1) one number per dim in each list. (slice_c2) 0 <= start <= limit <= extent, step at least 1.

    **Derivative.** dy padded with zeros to the operand's shape.

    ```mlir
    %y = model.slice %x {start = array<i64: 1>, limit = array<i64: 6>, step = array<i64: 2>} : (tensor<8xf32>) -> tensor<3xf32>
    ```
  }];
  let arguments = (ins Model_Tensor:$operand, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$limit, DenseI64ArrayAttr:$step);
  let rule = "";
  let results = (outs Model_Tensor:$result);
  let extraClassDeclaration = "void adjustToTypes();";
  let hasOwnVerifier = 1;
  let kernel = "copy";
}
def Model_SplitOp : Model_Op<"split", [DeclareOpInterfaceMethods<ViewOpInterface>]> {
  let summary = "divides a tensor into parts along one dim, in order";
  let description = [{
    **Semantics.** Consecutive parts of the operand along `dim`.

    **Constraints.** (split_c1) `dim` is a dim of the operand. (split_c2) each result has the operand's extents in all other dims, and its element type. (split_c3) the extents along `dim` add up to
    the operand's.

    **Derivative.** The concatenated cotangents of the results.

    ```mlir
    %q, %k, %v = model.split %qkv {dim = 1 : i64} : (tensor<4x192xf32>) -> (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>)
    ```
  }];
  let arguments = (ins Model_Tensor:$operand, I64Attr:$dim);
  let rule = "";
  let results = (outs Variadic<Model_Tensor>:$results);
  let hasOwnVerifier = 1;
  let kernel = "copy";
}
def Model_ConcatOp : Model_Op<"concat", [Model_InferTypes, DeclareOpInterfaceMethods<DestinationOpInterface>]> {
  let summary = "concatenates tensors along one dim, in order";
  let description = [{
    **Semantics.** The operands concatenated along `dim`, in order.

    **Constraints.** (concat_c1) at least one operand. (concat_c2) `dim` is a dim of the operands. (concat_c3) operands agree in all other dims and in element type.

    **Derivative.** dy split.

    ```mlir
    %y = model.concat %a, %b {dim = 0 : i64} : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
    ```
  }];
  let arguments = (ins Variadic<Model_Tensor>:$operands, I64Attr:$dim);
  let rule = "";
  let results = (outs Model_Tensor:$result);
  let hasOwnVerifier = 1;
}
def Model_PadOp : Model_Op<"pad", [Model_InferTypes]> {
  let summary = "adds `low` elements before and `high` after, per dim, and `step` - 1 between (the reverse of slice)";
  let description = [{
    **Semantics.** In each dim `low` elements before, `high` after and `step - 1` between each two, all of `value`.

    **Constraints.** (pad_c1) one number per dim in each list. (pad_c2) `low` and `high` at least 0, `step` at least 1.

    **Derivative.** The slice of dy at the operand's position.

    ```mlir
    %y = model.pad %x {low = array<i64: 1>, high = array<i64: 2>, step = array<i64: 1>, value = 0.0 : f64} : (tensor<4xf32>) -> tensor<7xf32>
    ```
  }];
  let arguments = (ins Model_Tensor:$operand, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$step, F64Attr:$value);
  let rule = "";
  let results = (outs Model_Tensor:$result);
  let hasOwnVerifier = 1;
}
def Model_GatherOp : Model_Op<"gather", [Model_InferExtents<"gather", [Model_ElementType<"table">.text]>]> {
  let summary = "rows of dim 0 of a table by index";
  let description = [{
    **Semantics.** Rows of dim 0 of `table [V, rest...]` at `indices [I...]`: the result is `[I..., rest...]`. An index outside [0, V) is refused at run time.

    **Constraints.** (gather_c1) the table has at least one dim.

    **Derivative.** dtable: scatter_add of dy at the indices.

    ```mlir
    %y = model.gather %table, %i : (tensor<9x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_Tensor, 1>:$table, Model_IntegerTensor:$indices);
  let results = (outs Model_Tensor:$result);
}
def Model_ScatterAddOp : Model_Op<"scatter_add", [Model_ElementsOf<"result", ["updates"]>]> {
  let summary = "zeros with rows added at indices, in index order";
  let description = [{
    **Semantics.** Zeros `[V, rest...]` to which row i of `updates [I..., rest...]` is added at `indices[i]`, in the order of i.

    **Constraints.** (scatter_add_c1) the result has at least one dim. (scatter_add_c2) `updates` is `[I..., rest...]` with the result's element type.

    **Derivative.** dupdates: gather of dy at the indices.

    ```mlir
    %y = model.scatter_add %updates, %i : (tensor<3x4xf32>, tensor<3xi32>) -> tensor<9x4xf32>
    ```
  }];
  let arguments = (ins Model_FloatTensor:$updates, Model_IntegerTensor:$indices);
  let results = (outs Model_OfMinRank<Model_FloatTensor, 1>:$result);
}

#endif // SLUICE_DIALECT_MODEL_OPS_MOVEMENT_TD
