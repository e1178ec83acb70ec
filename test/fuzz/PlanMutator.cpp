//===- PlanMutator.cpp - libFuzzer's mutator for plans ----------------------------------===//
//
// Changes values of a plan and writes it with its digest; sometimes, and where the input is no plan, changes bytes.
//
//===----------------------------------------------------------------------------------===//
#include "PlanMutation.h"

#include "runtime/plan/Reader.h"
#include "runtime/plan/Serialize.h"

#include <algorithm>
#include <span>

using namespace sluice;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t limit);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t limit,
                                               unsigned int seed) {
  std::minstd_rand random(seed);
  // libFuzzer changes one input several times: the plan that was written last is often the next one.
  static std::vector<std::uint8_t> bytes;
  static plan::PlanT plan;
  if (!std::ranges::equal(bytes, std::span(data, size))) {
    Result<PlanFile> file = parsePlan({data, size}, "fuzz");
    if (!file.isOk())
      return LLVMFuzzerMutate(data, size, limit);
    plan = std::move(file->plan);
    bytes.assign(data, data + size);
  }
  if (random() % 16 == 0)
    return LLVMFuzzerMutate(data, size, limit);
  fuzz::mutatePlan(plan, random);
  bytes = serializePlan(plan);
  if (bytes.size() > limit)
    return LLVMFuzzerMutate(data, size, limit);
  std::ranges::copy(bytes, data);
  return bytes.size();
}
