//===- Matmul.td - matrix products ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_MATMUL_TD
#define SLUICE_DIALECT_MODEL_OPS_MATMUL_TD

include "dialect/model/ModelDialect.td"

def Model_MatmulOp : Model_Op<"matmul", [DeclareOpInterfaceMethods<ScaleOrBiasOpInterface>, AttrSizedOperandSegments, Model_ElementsOf<"lhs", ["rhs", "bias"]>,
                                         Model_ElementsOf<"result", ["residual"]>, Model_InferTypes]> {
  let summary = "matrix product of the last two dims, with optional bias and residual";
  let description = [{
    **Semantics.** `op(lhs)[..., m, k] op(rhs)[..., k, n] (+ bias[n]) (+ residual[..., m, n])`, where `op` exchanges the last two dims under `transpose_lhs`, `transpose_rhs`. Leading dims
    broadcast. Products of bf16 are accumulated in f32 and rounded once, after bias and residual.

    **Inputs.** `lhs`, `rhs`, optional `bias`, optional `residual`: tensors of float. **Outputs.** `result`: follows; its element type is `output` if given, else the operands'.

    **Constraints.** (matmul_c1) `lhs` and `rhs` have rank 2 or more. (matmul_c2) the contracted extents are equal. (matmul_c3) the leading dims broadcast. (matmul_c4) `lhs` and `rhs` have one
    element type; `output` is a float type. (matmul_c5) `bias` is `[n]` of the operands' element type. (matmul_c6) `residual` has the result's shape and element type.

    **Derivative.** `dlhs = dy op(rhs)^T`, `drhs = op(lhs)^T dy` (transposed where the operand is), summed over broadcast leading dims; where `rhs` is one matrix for all of the batch, its
    gradient is one product over all rows. `dbias`: dy summed over all but the last dim. `dresidual = dy`.

    **Fusion.** `add(matmul(a, b), bias)` with a bias of rank 1 becomes the bias operand; `add(matmul(a, b) .., r)` with r of the result's shape becomes the residual, where the product has no
    other use and both ops are in one outermost block. In the backward r is older than the product.

    ```mlir
    %y = model.matmul %x, %w bias(%b) {transpose_rhs} : (tensor<4x8x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<4x8x256xf32>
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 2>:$lhs, Model_OfMinRank<Model_FloatTensor, 2>:$rhs, Optional<Model_FloatTensor>:$bias,
                       Optional<Model_FloatTensor>:$residual, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
                       OptionalAttr<TypeAttrOf<Model_Float>>:$output);
  let results = (outs Model_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, CArg<"bool", "false">:$transposeLhs,
                                 CArg<"bool", "false">:$transposeRhs)>];
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` `(` $bias^ `)`)? (`residual` `(` $residual^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasShardableForm = 1;
  let widensResults = 1;
  let kernel = "";
}

#endif // SLUICE_DIALECT_MODEL_OPS_MATMUL_TD
