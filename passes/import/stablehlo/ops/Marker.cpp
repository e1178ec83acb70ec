//===- Marker.cpp - markers of the Python helper --------------------------------------------===//
//
// `stablehlo.custom_call @sluice.NAME`, where a primitive of JAX has more than its StableHLO, a gradient or a key of
// random numbers, or is a loop or a reduction of pairs there. tools/python/sluice/jax.py writes them.
//
//===----------------------------------------------------------------------===//

#include "passes/import/stablehlo/Translation.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

namespace sluice::stablehlo::marker {

/// A value of the dictionary of a marker; refuses the call without one.
template <typename Value> Value configOf(OpCall &call, llvm::StringRef name) {
  auto config = llvm::dyn_cast_or_null<DictionaryAttr>(call.attribute("mhlo.backend_config"));
  auto found = config ? config.getAs<Value>(name) : Value();
  if (!found)
    call.refuse("its 'mhlo.backend_config' has no '" + name.str() + "'");
  return found;
}
std::int64_t integerOf(OpCall &call, llvm::StringRef name) {
  auto found = configOf<IntegerAttr>(call, name);
  return found && found.getValue().getSignificantBits() <= 64 ? found.getValue().getSExtValue() : -1;
}

bool isElementwise(OpCall &call) {
  if (call.graph.sizes(call.operand(0)) != llvm::ArrayRef(call.result().sizes))
    call.refuseShapes();
  return !call.isRefused();
}

void stopGradient(OpCall &call) {
  if (isElementwise(call))
    call.set(call.graph.unary("detach.default", call.operand(0)));
}

void relu(OpCall &call) {
  if (isElementwise(call))
    call.set(call.graph.unary("relu.default", call.operand(0)));
}

void cumulativeSum(OpCall &call) {
  const std::int64_t axis = integerOf(call, "axis");
  if (isElementwise(call) && call.areDims({axis}, call.graph.rank(call.operand(0))))
    call.set(
        call.graph.emit("cumsum.default", {{"self", tensor(call.operand(0))}, {"dim", integer(axis)}}, call.result()));
}

template <bool isLeast> void argmax(OpCall &call) {
  const std::string x = call.operand(0);
  const std::int64_t axis = integerOf(call, "axis");
  if (!call.areDims({axis}, call.graph.rank(x)))
    return;
  const std::string self = isLeast ? call.graph.unary("neg.default", x) : x;
  call.set(call.graph.cast(call.graph.emit("argmax.default",
                                           {{"self", tensor(self)}, {"dim", integer(axis)}, {"keepdim", flag(false)}},
                                           metaOf(ScalarType::i64, call.result().sizes)),
                           call.result().type));
}

/// Truth values, each true with a probability. The key is not read: each marker has separate random numbers.
void bernoulli(OpCall &call) {
  auto probability = configOf<FloatAttr>(call, "probability");
  if (!probability)
    return;
  const TensorMeta meta = metaOf(ScalarType::f32, call.result().sizes);
  const std::string drawn = call.graph.emit(
      "bernoulli.p", {{"self", tensor(call.graph.full(1, meta))}, {"p", number(probability.getValueAsDouble())}}, meta);
  call.set(call.graph.binary("ne.Scalar", drawn, 0, call.result()));
}

constexpr TableEntry table[] = {
    {"@sluice.argmax", argmax<false>}, {"@sluice.argmin", argmax<true>}, {"@sluice.bernoulli", bernoulli},
    {"@sluice.cumsum", cumulativeSum}, {"@sluice.relu", relu},           {"@sluice.stop_gradient", stopGradient},
};

} // namespace sluice::stablehlo::marker

llvm::ArrayRef<TableEntry> stablehlo::markerOps() { return marker::table; }
