//===- Norm.cpp - normalizations of ATen -------------------------------------------------===//

#include "passes/import/export/Call.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::norm {

/// The operand with the normalized dims, which are the last ones, joined to one.
struct Normalized {
  Value x;
  std::int64_t size = 1;
  llvm::SmallVector<std::int64_t> shape;
};
Normalized normalized(Call &call) {
  Normalized result;
  result.x = call.value("input");
  result.shape = llvm::to_vector(Call::shapeOf(result.x));
  const llvm::SmallVector<std::int64_t> dims = call.integers("normalized_shape");
  for (std::int64_t dim : dims)
    result.size *= dim;
  llvm::SmallVector<std::int64_t> joined(result.shape);
  if (dims.empty() || dims.size() > joined.size()) {
    call.refuse("argument 'normalized_shape' does not fit to the tensor");
    return result;
  }
  joined.truncate(joined.size() - dims.size());
  joined.push_back(result.size);
  result.x = call.reshape(result.x, joined);
  return result;
}

/// The weight or bias as a vector; a constant without one.
Value vectorOr(Call &call, llvm::StringRef name, const Normalized &input, double otherwise) {
  if (Value given = call.optionalValue(name))
    return call.reshape(given, {input.size});
  return call.make<model::ConstantOp>({}, {{"value", call.builder.getF64FloatAttr(otherwise)}},
                                      call.typeLike(input.x, {input.size}));
}

void layerNorm(Call &call) {
  const Normalized input = normalized(call);
  Value weight = vectorOr(call, "weight", input, 1), bias = vectorOr(call, "bias", input, 0);
  Value y = call.make<model::LayerNormOp>({input.x, weight, bias},
                                          {{"epsilon", call.builder.getF64FloatAttr(call.number("eps"))}});
  call.set(call.reshape(y, input.shape));
}

void rmsNorm(Call &call) {
  const Normalized input = normalized(call);
  // None means the spacing of floats at 1.
  const double epsilon = call.optionalNumber("eps").value_or(0x1p-23);
  Value y = call.make<model::RmsNormOp>({input.x, vectorOr(call, "weight", input, 1)},
                                        {{"epsilon", call.builder.getF64FloatAttr(epsilon)}});
  call.set(call.reshape(y, input.shape));
}

/// g v / |v|, with a norm for each index of `dim`; of all of v at -1.
void weightNorm(Call &call) {
  Value v = call.value("v"), g = call.value("g");
  const std::int64_t kept = call.integer("dim");
  llvm::SmallVector<std::int64_t> dims;
  for (std::int64_t dim = 0; dim < Call::rankOf(v); ++dim)
    if (dim != kept)
      dims.push_back(dim);
  Value total = call.make<model::ReduceSumOp>({call.make<model::MultiplyOp>({v, v})},
                                              {{"dims", call.builder.getDenseI64ArrayAttr(dims)},
                                               {"keep", call.builder.getUnitAttr()},
                                               {"output", TypeAttr()}});
  Value factor = call.make<model::DivideOp>({call.reshape(g, Call::shapeOf(total)), call.make<model::SqrtOp>(total)});
  call.set(call.make<model::MultiplyOp>({v, factor}));
}

constexpr AtenOp table[] = {
    {"layer_norm.default", layerNorm},
    {"rms_norm.default", rmsNorm},
    {"_weight_norm.default", weightNorm},
};

} // namespace sluice::exported::norm

llvm::ArrayRef<AtenOp> exported::normOps() { return norm::table; }
