//===- Rope.td - rotary position embedding ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ROPE_TD
#define SLUICE_DIALECT_MODEL_OPS_ROPE_TD

include "dialect/model/ModelDialect.td"

def Model_RopeOp : Model_Op<"rope", [Model_ResultsLike<["x"]>, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "rotates each head's halves by the token's position";
  let description = [{
    **Semantics.** Rotary positions: elements i and i + D/2 of each head are rotated by the angle `(position + t) f(i)`, or under `packed` `(position + t - documents[b, t]) f(i)`, in the opposite direction with `inverse`:
    `y[i] = x[i] cos a - x[i + D/2] sin a`, `y[i + D/2] = x[i + D/2] cos a + x[i] sin a`. `f(i) = theta^(-2i/D)`, changed by `scaling`:

    | scaling | frequency |
    |---|---|
    | `default` | f |
    | `linear` | f / factor |
    | `llama3` | with `w = original f / (2 pi)`: f / factor where w < low, f where w > high, else `(1 - s) f / factor + s f` with `s = (w - low) / (high - low)` |

    With `divisors`, scaled f(i) is divided by `divisors[i] / 2^32`: the scalings that have a number for each frequency (yarn, longrope).

    **Inputs.** `x [B, T, H, D]`: tensor of float; under `packed`, `documents [B, T]`: tensor of integer, the index of the first token of each token's document. **Outputs.** `y`: type of x. Defaults: `position` 0, `scaling` `default`, other numbers 1.

    **Constraints.** (rope_c1) x has rank 4. (rope_c2) D is even and above 0. (rope_c3) `theta` and `factor` are above 0, `position` at least 0. (rope_c4) `scaling` is one of the table. (rope_c5) under `llama3`
    `original` and `low` are above 0 and `high` is more than `low`. (rope_c6) `divisors` has D/2 elements, each above 0. (rope_c7) there are documents exactly under `packed`. (rope_c8) documents are `[B, T]`.

    **Derivative.** The rope of dy with the opposite `inverse`.

    ```mlir
    %y = model.rope %x {theta = 10000.0 : f64} : (tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
    ```

    ```mlir
    %y = model.rope %x, %documents {packed, theta = 10000.0 : f64} : (tensor<2x8x4x16xf32>, tensor<2x8xi32>) -> tensor<2x8x4x16xf32>
    ```
  }];
  let arguments = (ins Model_OfRank<Model_FloatTensor, 4>:$x, Optional<Model_IntegerTensor>:$documents, Model_PositiveF64:$theta, DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$position,
                       DefaultValuedAttr<Model_RopeScalingAttr, "::sluice::RopeScaling::unscaled">:$scaling, DefaultValuedAttr<Model_PositiveF64, "1.0">:$factor,
                       DefaultValuedAttr<F64Attr, "1.0">:$low, DefaultValuedAttr<F64Attr, "1.0">:$high,
                       DefaultValuedAttr<F64Attr, "1.0">:$original, OptionalAttr<DenseI64ArrayAttr>:$divisors,
                       UnitAttr:$inverse, UnitAttr:$packed);
  let results = (outs Model_FloatTensor:$y);
  let hasOwnVerifier = 1;
  let kernel = "";
  let extraClassDeclaration = [{
    /// A divisor of 1 is this number.
    static constexpr double divisorUnit = 4294967296.0;
  }];
}

#endif // SLUICE_DIALECT_MODEL_OPS_ROPE_TD
