//===- Rope.td - rotary position embedding ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_ROPE_TD
#define SLUICE_DIALECT_MODEL_OPS_ROPE_TD

include "dialect/model/ModelDialect.td"

def Model_RopeOp : Model_Op<"rope", [Model_InferTypes, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "rotates each head's halves by the token's position";
  let description = [{
    `x [B, T, H, D]`, D even. Elements i and i + D/2 of a head turn together by the angle `(position + t) f(i)`, backwards
    under `inverse`. `f(i) = theta^(-2i/D)`, changed by `scaling`: `default`, not at all; `linear`, divided by `factor`;
    `llama3`, divided by `factor` where the wavelength `2 pi / f` is above `original / low`, as it is where it is below
    `original / high`, and between the two in proportion to `original / wavelength`.
  }];
  let arguments = (ins Model_FloatTensor:$x, F64Attr:$theta, DefaultValuedAttr<I64Attr, "0">:$position,
                       DefaultValuedAttr<StrAttr, "\"default\"">:$scaling, DefaultValuedAttr<F64Attr, "1.0">:$factor,
                       DefaultValuedAttr<F64Attr, "1.0">:$low, DefaultValuedAttr<F64Attr, "1.0">:$high,
                       DefaultValuedAttr<F64Attr, "1.0">:$original, UnitAttr:$inverse);
  let results = (outs Model_FloatTensor:$y);
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_ROPE_TD
