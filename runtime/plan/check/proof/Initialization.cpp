//===- Initialization.cpp - what the entry point that initializes leaves ---------------------===//
//
// It is not in the unsharded program. Each parameter must have the values of its declared initializer, keyed by the
// parameter and the index of the element in it, each state zeros, and each variable its initializer. A kernel of random
// numbers keys each element by its index in the unsharded tensor, which the valid extents of its result state.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>

namespace sluice::check::proof {

void EntryProof::draw(const plan::LaunchT &launch) {
  const plan::ViewT &view = *launch.outputs[0];
  const std::optional<Reading> seed = read(*launch.inputs[0]);
  if (!seed || !seed->isKnown() || seed->meaning.root != numbering.seed())
    return lose(view, "random numbers from a number that is not the seed");
  auto [shape, shard] = validShard(view);
  if (!shard)
    return lose(view, "random numbers of no shard");
  Reading reading;
  reading.meaning.root =
      numbering.randomNumbers(*findKernelRecord(kernelOf(launch)), attributesOf(launch), elementsOf(shape));
  reading.setShard(std::move(*shard));
  write(view, std::move(reading));
}

Verdict EntryProof::checkInitialValues() {
  const plan::InitializerT zeros;
  for (const auto &parameter : plan.parameters) {
    const std::string what = "parameter '" + parameter->name + "'";
    SLUICE_CHECK(checkInitialValue(parameter->buffer, what, parameter->initializer.get(), parameter.get()));
    for (const auto &state : parameter->states)
      SLUICE_CHECK(checkInitialValue(state->buffer, "state '" + state->name + "' of " + what, &zeros, parameter.get()));
  }
  for (const auto &variable : plan.variables)
    SLUICE_CHECK(
        checkInitialValue(variable->buffer, "variable '" + variable->name + "'", variable->initializer.get(), nullptr));
  return {};
}

Verdict EntryProof::checkInitialValue(std::uint32_t buffer, const std::string &name,
                                      const plan::InitializerT *initializer, const plan::ParameterT *parameter) {
  const std::string what = "'" + entry.name + "' leaves in " + name + " a tensor that ";
  std::optional<Reading> found = read(fullView(buffer));
  if (!initializer) {
    // Weights that are loaded give it values.
    return contents.of(buffer).empty() ? Verdict() : refuse(9, what + "has no initializer");
  }
  if (!found || !found->isKnown()) {
    addUnknown(what + "is not related to its initializer: ", found ? found->meaning.unproved : Reason("is not known"),
               false);
    return {};
  }
  using enum plan::InitializerKind;
  Value expected;
  std::optional<Reading> elements;
  if (const bool isNormal = initializer->kind == normal; isNormal || initializer->kind == uniform) {
    std::vector<Attributes::Item> items = {{isNormal ? "mean" : "low", 0, initializer->a, {}},
                                           {isNormal ? "stddev" : "high", 0, initializer->b, {}}};
    if (parameter)
      items.push_back({"key", std::int64_t(parameter->key), 0, {}});
    // Elements by their index in the parameter: the first, and the one past the last.
    if (const std::int64_t row = initializer->zero_row; row >= 0) {
      if (!parameter || parameter->shape.size() != 2 || row >= parameter->shape[0])
        return refuse(9, name + ", row " + std::to_string(row) + " of its initializer does not exist");
      const std::int64_t columns = parameter->shape[1];
      items.push_back({"zeros", 0, 0, {row * columns, (row + 1) * columns}});
    }
    const std::int64_t count = parameter ? elementsOf(parameter->shape) : elementsOf(plan.buffers[buffer]->shape);
    expected.root = numbering.randomNumbers(kernelRecord(isNormal ? KernelId::random_normal : KernelId::random_uniform),
                                            Attributes(std::move(items)), count);
    if (parameter) {
      elements = shardReading(*parameter, expected.root);
    } else {
      elements.emplace();
      elements->at = denseIndexing(plan.buffers[buffer]->shape);
    }
  } else {
    expected.root = numbering.constant(initializer->kind == ones ? 1 : initializer->kind == zeros ? 0 : initializer->a);
    elements.emplace();
    elements->at = uniformIndexing(plan.buffers[buffer]->shape);
    // The padding of a shard is zero: a write of the valid elements only.
    const std::optional<ParameterShard> *own =
        parameter && found->meaning.part != 0 ? &shardOfParameter(*parameter) : nullptr;
    if (own && *own) {
      elements->meaning.part = contents.parts.of({uniformIndexing(cutShape(*parameter)), {}, {}});
      elements->setShard((*own)->shard);
      simplify(*elements);
    }
  }
  Mismatch mismatch;
  expected.stored = Storage(plan.buffers[buffer]->dtype);
  if (!means(*found, expected, mismatch))
    return refuse(9, what + "has other numbers than its initializer");
  if (!elements)
    addUnknown("the shards of " + name, {std::string(), true}, true);
  else if (!found->hasElementsOf(*elements))
    addUnknown(what + "has other elements than its initializer", {}, false);
  return {};
}

} // namespace sluice::check::proof
