//===- MatmulGelu.td - matrix products followed by gelu ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_MATMULGELU_TD
#define SLUICE_DIALECT_MODEL_OPS_MATMULGELU_TD

include "dialect/model/ModelDialect.td"

def Model_MatmulGeluOp : Model_Op<"matmul_gelu", [DeclareOpInterfaceMethods<ScaleOrBiasOpInterface>, Model_ElementsOf<"lhs", ["rhs", "bias"]>, Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "a matrix product and its gelu, in the tanh form";
  let description = [{
    **Semantics.** `pre = op(lhs) op(rhs) (+ bias)` as in matmul, `y = gelu(pre)` in the tanh form. A library that computes both in one call applies gelu to `pre` before it is rounded.

    **Inputs.** `lhs`, `rhs`, optional `bias`: tensors of float. **Outputs.** `pre`, `y`: follow; of the operands' element type.

    **Constraints.** (matmul_gelu_c1) as matmul_c1 to matmul_c5.

    **Derivative.** The cotangent of `pre` plus `gelu_grad` of that of y; then as of matmul.

    **Decomposition.** matmul, gelu.

    **Fusion.** In train functions, `gelu(matmul(a, b))`, with or without bias and without residual, if only the gelu and its derivative read the product, and backward ops read both the product and y: both are kept in
    memory in any case. Functions without a backward keep the two ops. The fusion runs after differentiation and before recompute.

    ```mlir
    %pre, %y = model.matmul_gelu %x, %w bias(%b) {transpose_rhs} : (tensor<4x8x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> (tensor<4x8x256xf32>, tensor<4x8x256xf32>)
    ```

    #### matmul_gelu_grad

    `gelu_grad(op(lhs) op(rhs), pre)` in the tanh form. In train functions it replaces a `gelu_grad` whose cotangent is a product that no other op reads. Inactive.

    **Constraints.** (matmul_gelu_grad_c1) as matmul_c1 to matmul_c4. (matmul_gelu_grad_c2) `pre` is as the product.

    ```mlir
    %dpre = model.matmul_gelu_grad %g, %v, %pre {transpose_rhs} : (tensor<4x8x64xf32>, tensor<256x64xf32>, tensor<4x8x256xf32>) -> tensor<4x8x256xf32>
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 2>:$lhs, Model_OfMinRank<Model_FloatTensor, 2>:$rhs, Optional<Model_FloatTensor>:$bias,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Model_FloatTensor:$pre, Model_FloatTensor:$y);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` `(` $bias^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasShardableForm = 1;
  let kernel = "";
}
def Model_MatmulGeluGradOp
    : Model_InactiveOp<"matmul_gelu_grad", [Model_ElementsOf<"lhs", ["rhs"]>, Model_InferTypes, Model_TypesAgree<["pre", "dpre"]>,
                                             DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "a matrix product times the derivative of gelu at pre, in the tanh form";
  let description = [{`gelu_grad(op(lhs) op(rhs), pre)`: the derivative of a gelu whose cotangent is a product.}];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 2>:$lhs, Model_OfMinRank<Model_FloatTensor, 2>:$rhs, Model_FloatTensor:$pre, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs);
  let results = (outs Model_FloatTensor:$dpre);
  let hasShardableForm = 1;
  let kernel = "";
}

#endif // SLUICE_DIALECT_MODEL_OPS_MATMULGELU_TD
