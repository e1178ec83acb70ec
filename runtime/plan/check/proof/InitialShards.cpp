//===- InitialShards.cpp - which random numbers of a parameter a rank draws -----------------===//
//
// A kernel of random numbers keys each element by its index in the unsharded tensor, which the valid extents of its
// result state. A rank may draw its part of a parameter, and take its shard of that.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>

namespace sluice::check::proof {

Verdict EntryProof::followInitialization() {
  Verdict refusal;
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
    const plan::LaunchT *launch = instruction.operation.AsLaunch();
    if (refusal)
      return;
    if (!launch || !plan.kernels[launch->kernel].starts_with("random_")) {
      refusal = step(instruction, i);
      return;
    }
    const plan::ViewT &view = *launch->outputs[0];
    auto [shape, shard] = validShard(view);
    if (!shard)
      return lose(view, "random numbers of a part");
    Reading reading;
    reading.meaning.root = numbering.randomNumbers(attributesOf(*launch).integer("key", 0), elementsOf(shape));
    reading.setShard(std::move(*shard));
    write(view, std::move(reading));
  });
  return refusal;
}

std::optional<bool> EntryProof::holdsInitialShard(const plan::ParameterT &parameter) {
  const RootId root = numbering.randomNumbers(std::int64_t(parameter.key), elementsOf(parameter.shape));
  const std::optional<Reading> expected = shardReading(parameter, root), found = read(fullView(parameter.buffer));
  if (!expected || !found || !found->isKnown())
    return std::nullopt;
  if (found->meaning.root != root)
    return false;
  if (found->hasElementsOf(*expected))
    return true;
  // Digits of a part with padding are not unique.
  const bool isPart = found->meaning.part != 0 || expected->meaning.part != 0 || parameter.split;
  return isPart ? std::nullopt : std::optional(false);
}

} // namespace sluice::check::proof
