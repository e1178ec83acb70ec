//===- Attention.td - attention ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ATTENTION_TD
#define SLUICE_DIALECT_MODEL_OPS_ATTENTION_TD

include "dialect/model/ModelDialect.td"

/// A mask, a bias, or one of the numbers by which dropout draws.
def Model_AttentionOption : AnyTypeOf<[Model_OfRank<Model_BoolTensor, 4>, Model_OfRank<Model_FloatTensor, 4>, Model_OfRank<Model_IntegerTensor, 2>, Model_IntegerScalar]>;
/// The rate of dropout inside of an op.
def Model_DropoutRate : Model_F64In<"value > 0 && value < 1", "above 0 and less than 1">;
/// Those of q, k and v, and that of the bias if it has a gradient.
def Model_AttentionGradTypes : Model_InferBy<[{
      types.append({adaptor.getQ().getType(), adaptor.getK().getType(), adaptor.getV().getType()});
      const size_t bias = adaptor.getMasked();
      if (adaptor.getBiasGrad() && adaptor.getOptions().size() > bias)
        types.push_back(adaptor.getOptions()[bias].getType());
      return ::mlir::success();}]>;

def Model_AttentionOp : Model_Op<"attention", [Model_InferExtents<"attention", [Model_TypeOf<"q">.text, Model_StatisticsType<"q">.text]>, DeclareOpInterfaceMethods<DecomposeOpInterface>, DeclareOpInterfaceMethods<EvaluationOpInterface>, AllElementTypesMatch<["q", "k", "v"]>]> {
  let summary = "scaled dot-product attention, with an optional mask, an optional bias of the scores, and optional dropout of the probabilities";
  let description = [{
    **Semantics.** For each batch b and head h, with `g = h / (H / G)` the head of k and v that h uses: `s = scale q k^T (+ bias)`; under `causal`, row t reads columns up to `t + S - T`; with `window`, only the last `window` of these;
    with a mask, only those where it is not 0; under `packed`, only those of its document; `lse` is the logarithm of each row's sum of `exp(s)`; `out = exp(s - lse) v`. `lse` is saved for the derivative instead of the probabilities. A bias of -infinity hides a column too. A row
    that reads no column has `out = 0`, `lse = -infinity` and gradients of 0. Under `dropout`, the probabilities of `out` are those of `dropout` with that rate and `key`, for a tensor `[B, H, T, S]` of probabilities;
    `lse` does not change. In the entry point `eval_step` there is no dropout.

    **Inputs.** `q [B, T, H, D]`, `k`, `v` `[B, S, G, D]`: tensors of float; then, under `masked`, a mask, a tensor of boolean, and, under `biased`, a bias, a tensor of float: both of 4 dims that broadcast to `[B, H, T, S]`, the last of them
    S; then, under `packed`, `documents [B, T]`, a tensor of integer: for each token the index of the first token of its document, which tokens next to each other have; then, under `dropout`, `seed`, `step` and `row` as of `dropout`. **Outputs.** `out`: type of q; `lse [B, H, T]`: statistics type.

    **Constraints.** (attention_c1) q, k, v have rank 4 and one element type. (attention_c2) k and v are `[B, S, G, D]` with B and D those of q. (attention_c3) G divides H. (attention_c4) under `causal`
    S is at least T. (attention_c5) `window` is at least 1 and requires `causal`.
    (attention_c6) after v there are as many operands as `masked`, `biased`, `packed` and `dropout` state. (attention_c7) mask and bias are `[B or 1, H or 1, T or 1, S]`. (attention_c8) the mask is boolean, the bias a float of q's element type or of the statistics type. (attention_c9) `seed`, `step`, `row` are i64 scalars.
    (attention_c10) `dropout` is above 0 and less than 1; `key` is 0 to 4294967295, and is there if and only if `dropout` is. (attention_c11) under `packed` S is T, and there is neither mask nor bias. (attention_c12) the documents are integers `[B, T]`.

    **Derivative.** `attention_grad`. The mask has none. A cotangent of `lse` is an error.

    **Decomposition.** transpose, matmul, scale, add for the bias, compare and select for the masks, softmax by primitives, dropout, matmul, transpose.

    ```mlir
    %out, %lse = model.attention %q, %k, %v {causal, scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    ```

    ```mlir
    %out, %lse = model.attention %q, %k, %v, %mask, %bias {biased, masked, scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x1x1x8xui8>, tensor<1x4x8x8xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    ```

    ```mlir
    %out, %lse = model.attention %q, %k, %v, %seed, %step, %row {causal, dropout = 0.1 : f64, key = 3 : i64, scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    ```

    ```mlir
    %out, %lse = model.attention %q, %k, %v, %documents {causal, packed, scale = 0.25 : f64} : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8xi32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
    ```

    #### attention_grad

    With `p = exp(s - lse)`, and `d` the dropout of probabilities, whose mask is computed again: `dv = d(p)^T dout`, `dp = d(dout v^T)`, `ds = p (dp - sum(dout out))`, `dq = scale ds k`, `dk = scale ds^T q`; dk and dv summed over the heads that share them. Under `bias_grad`, `dbias = ds`, summed over the dims in which
    the bias has one element, in a fixed order. Inactive.

    **Fusion.** In the backward, `bias_grad` is removed where `dbias` has no use.

    **Constraints.** (attention_grad_c1) as attention_c1 to attention_c12. (attention_grad_c4) `bias_grad` requires `biased`; there is a `dbias`, of the bias's type, if it is set. (attention_grad_c2) `dout` and `out` are as q. (attention_grad_c3) `lse` is `[B, H, T]` in the statistics type.

    ```mlir
    %dq, %dk, %dv = model.attention_grad %dout, %q, %k, %v, %out, %lse {causal, scale = 0.3535 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>)
    ```
  }];
  let arguments = (ins Model_OfRank<Model_FloatTensor, 4>:$q, Model_OfRank<Model_FloatTensor, 4>:$k, Model_OfRank<Model_FloatTensor, 4>:$v, Variadic<Model_AttentionOption>:$options,
                       F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$window, UnitAttr:$masked, UnitAttr:$biased,
                       UnitAttr:$packed, OptionalAttr<Model_DropoutRate>:$dropout, OptionalAttr<Model_RandomKey>:$key);
  let results = (outs Model_FloatTensor:$out, Model_FloatTensor:$lse);
  let hasShardableForm = 1;
  let hasOwnVerifier = 1;
  let kernel = "";
}
def Model_AttentionGradOp : Model_InactiveOp<"attention_grad", [Model_StatisticsOf<"q", ["lse"]>, Model_AttentionGradTypes, AllElementTypesMatch<["q", "k", "v"]>, Model_TypesAgree<["q", "out", "dout"]>]> {
  let summary = "VJP of attention: dq, dk, dv, dbias";
  let arguments = (ins Model_FloatTensor:$dout, Model_OfRank<Model_FloatTensor, 4>:$q, Model_OfRank<Model_FloatTensor, 4>:$k, Model_OfRank<Model_FloatTensor, 4>:$v,
                       Model_FloatTensor:$out, Model_FloatTensor:$lse, Variadic<Model_AttentionOption>:$options, F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$window, UnitAttr:$masked, UnitAttr:$biased, UnitAttr:$bias_grad,
                       UnitAttr:$packed, OptionalAttr<Model_DropoutRate>:$dropout, OptionalAttr<Model_RandomKey>:$key);
  let results = (outs Model_FloatTensor:$dq, Model_FloatTensor:$dk, Model_FloatTensor:$dv, Optional<Model_FloatTensor>:$dbias);
  let hasShardableForm = 1;
  let hasOwnVerifier = 1;
  let kernel = "";
}

#endif // SLUICE_DIALECT_MODEL_OPS_ATTENTION_TD
