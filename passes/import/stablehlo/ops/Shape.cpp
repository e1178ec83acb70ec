//===- Shape.cpp - ops of StableHLO that create, move and join elements ---------------------===//

#include "passes/import/stablehlo/Translation.h"

#include "runtime/base/Text.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

namespace sluice::stablehlo::shape {

double numberOf(const llvm::APFloat &value) {
  llvm::APFloat wide = value;
  bool isInexact = false;
  wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return wide.convertToDouble();
}
double numberOf(const llvm::APInt &value, ScalarType type) {
  return type == ScalarType::boolean || type == ScalarType::u8 ? static_cast<double>(value.getZExtValue())
                                                               : static_cast<double>(value.getSExtValue());
}

void constant(OpCall &call) {
  auto value = llvm::dyn_cast_or_null<DenseElementsAttr>(call.attribute("value"));
  if (!value || value.getType().getShape() != llvm::ArrayRef(call.result().sizes) ||
      (!llvm::isa<FloatType, IntegerType>(value.getElementType())))
    return call.refuse("expected 'value' as 'dense' in the shape of the result");
  const ScalarType type = call.result().type;
  const bool isOfFloats = llvm::isa<FloatType>(value.getElementType());
  if (isOfFloats != exported::isFloat(type))
    return call.refuse("expected 'value' as 'dense' in the shape of the result");
  if (value.isSplat())
    return call.set(call.graph.full(isOfFloats ? numberOf(value.getSplatValue<llvm::APFloat>())
                                               : numberOf(value.getSplatValue<llvm::APInt>(), type),
                                    call.result()));
  if (value.getNumElements() > exported::Constant::mostElements)
    return call.refuse(concat("a constant of ", value.getNumElements(), " elements"), "make it a parameter");
  std::vector<double> values;
  if (isOfFloats)
    for (const llvm::APFloat &each : value.getValues<llvm::APFloat>())
      values.push_back(numberOf(each));
  else
    for (const llvm::APInt &each : value.getValues<llvm::APInt>())
      values.push_back(numberOf(each, type));
  call.set(call.graph.addInput(exported::InputSpec::Kind::constant, "", call.result(),
                               exported::makeDense(std::move(values), call.result().sizes, type)));
}

void iota(OpCall &call) {
  const std::int64_t dim = call.integer("iota_dimension");
  if (call.areDims({dim}, static_cast<std::int64_t>(call.result().sizes.size())))
    call.set(call.graph.iota(call.result(), dim));
}

void reshape(OpCall &call) {
  const std::string x = call.operand(0);
  if (countOf(call.graph.sizes(x)) != countOf(call.result().sizes))
    return call.refuseShapes();
  call.set(call.graph.view(x, call.result().sizes));
}

void broadcast(OpCall &call) {
  const std::string x = call.operand(0);
  const llvm::ArrayRef<std::int64_t> to = call.result().sizes;
  const auto rank = static_cast<std::int64_t>(to.size());
  const Sizes dims = call.dims("broadcast_dimensions", rank);
  if (call.isRefused())
    return;
  Sizes ones(to.size(), 1);
  bool fits = static_cast<std::int64_t>(dims.size()) == call.graph.rank(x), isTrailing = true;
  for (std::size_t i = 0; fits && i < dims.size(); ++i) {
    const std::int64_t size = call.graph.sizes(x)[i], dim = dims[i];
    fits = (size == 1 || size == to[static_cast<std::size_t>(dim)]) && (i == 0 || dims[i - 1] < dim);
    ones[static_cast<std::size_t>(dim)] = size;
    isTrailing &= dim == rank - static_cast<std::int64_t>(dims.size() - i);
  }
  if (!fits)
    return call.refuseShapes();
  call.set(call.graph.expand(isTrailing ? x : call.graph.view(x, ones), to));
}

void transpose(OpCall &call) {
  const std::string x = call.operand(0);
  const Sizes permutation = call.dims("permutation", call.graph.rank(x));
  if (static_cast<std::int64_t>(permutation.size()) != call.graph.rank(x))
    return call.refuseBounds();
  call.set(call.graph.permute(x, permutation));
}

void slice(OpCall &call) {
  std::string x = call.operand(0);
  const Sizes starts = call.integers("start_indices"), limits = call.integers("limit_indices"),
              steps = call.integers("strides");
  const auto rank = static_cast<std::size_t>(call.graph.rank(x));
  if (starts.size() != rank || limits.size() != rank || steps.size() != rank)
    return call.refuseBounds();
  for (std::size_t dim = 0; dim < rank; ++dim)
    if (starts[dim] < 0 || limits[dim] < starts[dim] || limits[dim] > call.graph.sizes(x)[dim] || steps[dim] < 1)
      return call.refuseBounds();
  for (std::size_t dim = 0; dim < rank; ++dim)
    x = call.graph.slice(x, static_cast<std::int64_t>(dim), starts[dim], limits[dim],
                         std::min(steps[dim], std::max<std::int64_t>(limits[dim] - starts[dim], 1)));
  call.set(x);
}

void concatenate(OpCall &call) {
  const std::int64_t dim = call.dim("dimension", call.operand(0));
  for (const std::string &part : call.allOperands()) {
    Sizes expected(call.result().sizes);
    if (call.graph.rank(part) != static_cast<std::int64_t>(expected.size()))
      return call.refuseShapes();
    expected[static_cast<std::size_t>(dim)] = call.graph.sizes(part)[static_cast<std::size_t>(dim)];
    if (call.graph.sizes(part) != llvm::ArrayRef(expected))
      return call.refuseShapes();
  }
  if (!call.isRefused())
    call.set(call.graph.join(call.allOperands(), dim));
}

void reverse(OpCall &call) {
  const std::string x = call.operand(0);
  const Sizes dims = call.dims("dimensions", call.graph.rank(x));
  call.set(dims.empty()
               ? x
               : call.graph.emit("flip.default", {{"self", tensor(x)}, {"dims", integers(dims)}}, call.graph.meta(x)));
}

/// Negative edges leave elements out. Values between the elements are a dim of zeros after each.
void pad(OpCall &call) {
  std::string x = call.operand(0);
  const std::optional<double> fill = call.graph.splat(call.operand(1));
  const auto rank = static_cast<std::size_t>(call.graph.rank(x));
  const Sizes low = call.integers("edge_padding_low"), high = call.integers("edge_padding_high"),
              inner = call.integers("interior_padding");
  if (!fill)
    return call.refuse("its padding value depends on data");
  if (low.size() != rank || high.size() != rank || inner.size() != rank)
    return call.refuseBounds();
  constexpr std::int64_t most = std::int64_t(1) << 40;
  for (std::size_t dim = 0; dim < rank; ++dim)
    if (low[dim] < -most || high[dim] < -most)
      return call.refuseBounds();
  for (std::size_t dim = 0; dim < rank; ++dim) {
    if (!call.graph.fitsPadded(x, static_cast<std::int64_t>(dim), std::max<std::int64_t>(low[dim], 0),
                               std::max<std::int64_t>(high[dim], 0), inner[dim]))
      return call.refuseBounds();
    x = call.graph.pad(x, static_cast<std::int64_t>(dim), std::max<std::int64_t>(low[dim], 0),
                       std::max<std::int64_t>(high[dim], 0), inner[dim], *fill);
    const std::int64_t size = call.graph.sizes(x)[dim], start = std::max<std::int64_t>(-low[dim], 0),
                       limit = size - std::max<std::int64_t>(-high[dim], 0);
    if (start > limit)
      return call.refuseBounds();
    x = call.graph.slice(x, static_cast<std::int64_t>(dim), start, limit);
  }
  call.set(x);
}

constexpr TableEntry table[] = {
    {"broadcast_in_dim", broadcast},
    {"concatenate", concatenate},
    {"constant", constant},
    {"iota", iota},
    {"pad", pad},
    {"reshape", reshape},
    {"reverse", reverse},
    {"slice", slice},
    {"transpose", transpose},
};

} // namespace sluice::stablehlo::shape

llvm::ArrayRef<TableEntry> stablehlo::shapeOps() { return shape::table; }
