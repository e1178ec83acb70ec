//===- Attention.td - attention ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ATTENTION_TD
#define SLUICE_DIALECT_MODEL_OPS_ATTENTION_TD

include "dialect/model/ModelDialect.td"

def Model_AttentionOp : Model_Op<"attention", [Model_InferExtents<"attention", [Model_TypeOf<"q">.text, Model_StatisticsType<"q">.text]>, DeclareOpInterfaceMethods<DecomposeOpInterface>, AllElementTypesMatch<["q", "k", "v"]>]> {
  let summary = "scaled dot-product attention";
  let description = [{
    **Semantics.** For each batch b and head h, with `g = h / (H / G)` the head of k and v that h uses: `s = scale q k^T`; under `causal`, row t reads columns up to `t + S - T`; with `window`, only the last `window` of these; `lse` is the logarithm of
    each row's sum of `exp(s)`; `out = exp(s - lse) v`. `lse` is saved for the derivative instead of the probabilities.

    **Inputs.** `q [B, T, H, D]`, `k`, `v` `[B, S, G, D]`: tensors of float. **Outputs.** `out`: type of q; `lse [B, H, T]`: statistics type.

    **Constraints.** (attention_c1) q, k, v have rank 4 and one element type. (attention_c2) k and v are `[B, S, G, D]` with B and D those of q. (attention_c3) G divides H. (attention_c4) under `causal`
    S is at least T. (attention_c5) `window` is at least 1 and requires `causal`.

    **Derivative.** `attention_grad`. A cotangent of `lse` is an error.

    **Decomposition.** transpose, matmul, scale, compare and select for the mask, softmax by primitives, matmul, transpose.

    ```mlir
    %out, %lse = model.attention %q, %k, %v {causal, scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    ```

    #### attention_grad

    With `p = exp(s - lse)`: `dv = p^T dout`, `dp = dout v^T`, `ds = p (dp - sum(dout out))`, `dq = scale ds k`, `dk = scale ds^T q`; dk and dv summed over the heads that share them. Inactive.

    **Constraints.** (attention_grad_c1) as attention_c1 to attention_c5. (attention_grad_c2) `dout` and `out` are as q. (attention_grad_c3) `lse` is `[B, H, T]` in the statistics type.

    ```mlir
    %dq, %dk, %dv = model.attention_grad %dout, %q, %k, %v, %out, %lse {causal, scale = 0.3535 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>)
    ```
  }];
  let arguments = (ins Model_OfRank<Model_FloatTensor, 4>:$q, Model_OfRank<Model_FloatTensor, 4>:$k, Model_OfRank<Model_FloatTensor, 4>:$v, F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$window);
  let results = (outs Model_FloatTensor:$out, Model_FloatTensor:$lse);
  let hasShardableForm = 1;
  let hasOwnVerifier = 1;
}
def Model_AttentionGradOp : Model_InactiveOp<"attention_grad", [Model_StatisticsOf<"q", ["lse"]>, Model_ResultsLike<["q", "k", "v"]>, AllElementTypesMatch<["q", "k", "v"]>, Model_TypesAgree<["q", "out", "dout"]>]> {
  let summary = "VJP of attention: dq, dk, dv";
  let arguments = (ins Model_FloatTensor:$dout, Model_OfRank<Model_FloatTensor, 4>:$q, Model_OfRank<Model_FloatTensor, 4>:$k, Model_OfRank<Model_FloatTensor, 4>:$v,
                       Model_FloatTensor:$out, Model_FloatTensor:$lse, F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$window);
  let results = (outs Model_FloatTensor:$dq, Model_FloatTensor:$dk, Model_FloatTensor:$dv);
  let hasShardableForm = 1;
  let hasOwnVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_ATTENTION_TD
