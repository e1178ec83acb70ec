//===- TakeAlong.td - argmax, take_along, add_along ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_TAKEALONG_TD
#define SLUICE_DIALECT_MODEL_OPS_TAKEALONG_TD

include "dialect/model/ModelDialect.td"

def Model_ArgmaxOp : Model_InactiveOp<"argmax", [Model_InferTypes]> {
  let summary = "the index of the first maximum along one dim, which is removed";
  let description = [{
    **Semantics.** The index of the first maximum along `dim`, which is removed. A NaN is the maximum. *Inactive.*

    **Inputs.** `operand`: tensor of float. **Outputs.** `result`: tensor of i64.

    **Constraints.** (argmax_c1) `dim` is in the operand's rank. (argmax_c2) its extent is at least 1.

    ```mlir
    %i = model.argmax %x {dim = 1 : i64} : (tensor<3x5xf32>) -> tensor<3xi64>
    ```
  }];
  let arguments = (ins Model_FloatTensor:$operand, I64Attr:$dim);
  let results = (outs StaticShapeTensorOf<[I64]>:$result);
  let hasOwnVerifier = 1;
}
def Model_TakeAlongOp : Model_Op<"take_along", [Model_InferTypes]> {
  let summary = "elements of a tensor by an index along one dim (torch.gather)";
  let description = [{
    **Semantics.** `result[.., i, ..] = operand[.., indices[.., i, ..], ..]` along `dim` (torch.gather). An index outside the dim is refused at run time. With the indices of `argmax` it computes a maximum
    whose cotangent goes to the first of equal elements.

    **Constraints.** (take_along_c1) `indices` have the operand's rank. (take_along_c2) `dim` is in it. (take_along_c3) in other dims the indices are no longer than the operand.

    **Derivative.** `add_along` of dy at the indices.

    ```mlir
    %y = model.take_along %x, %i {dim = 1 : i64} : (tensor<3x5xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Model_FloatTensor:$operand, Model_IntegerTensor:$indices, I64Attr:$dim);
  let rule = "";
  let results = (outs Model_FloatTensor:$result);
  let hasOwnVerifier = 1;
}
def Model_AddAlongOp : Model_Op<"add_along", [Model_ElementsOf<"result", ["updates"]>]> {
  let summary = "zeros with elements added by an index along one dim, in row-major order: the derivative of take_along";
  let description = [{
    **Semantics.** Zeros to which `updates[.., i, ..]` is added at `[.., indices[.., i, ..], ..]` along `dim`, in row-major order.

    **Constraints.** (add_along_c1) `indices` have the result's rank. (add_along_c2) `dim` is in it. (add_along_c3) in other dims the indices are no longer than the result.
    (add_along_c4) `updates` have the shape of the indices and the result's element type.

    **Derivative.** `take_along` of dy at the indices.

    ```mlir
    %y = model.add_along %u, %i {dim = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xi64>) -> tensor<3x5xf32>
    ```
  }];
  let arguments = (ins Model_FloatTensor:$updates, Model_IntegerTensor:$indices, I64Attr:$dim);
  let rule = "";
  let results = (outs Model_FloatTensor:$result);
  let hasOwnVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_TAKEALONG_TD
