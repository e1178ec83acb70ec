//===- PlanMutator.cpp - libFuzzer's mutator for plans ----------------------------------===//
//
// Changes values of a plan and writes it with its digest; sometimes, and where the input is no plan, changes bytes.
//
//===----------------------------------------------------------------------------------===//
#include "PlanMutation.h"

#include "runtime/plan/Reader.h"
#include "runtime/plan/Serialize.h"

#include <algorithm>

using namespace sluice;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t limit);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t limit,
                                               unsigned int seed) {
  std::minstd_rand random(seed);
  Result<PlanFile> file = parsePlan({data, size}, "fuzz");
  if (!file.isOk() || random() % 16 == 0)
    return LLVMFuzzerMutate(data, size, limit);
  fuzz::mutatePlan(file->plan, random);
  const std::vector<std::uint8_t> bytes = serializePlan(file->plan);
  if (bytes.size() > limit)
    return LLVMFuzzerMutate(data, size, limit);
  std::ranges::copy(bytes, data);
  return bytes.size();
}
