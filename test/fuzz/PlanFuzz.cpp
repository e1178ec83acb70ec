//===- PlanFuzz.cpp - opens any bytes as a plan -----------------------------------------===//
//
// Unchanged, and with a correct digest if the digest can be found, so that unpacking, the checker and the reports run
// as well.
//
//===----------------------------------------------------------------------------------===//
#include "Fuzz.h"
#include "OpenPlan.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  const fuzz::OpenedPlan unchanged = fuzz::openPlan(bytes);
  fuzz::claim(unchanged.problem.empty(), unchanged.problem);
  if (!unchanged.isParsed && fuzz::sealBytes(bytes)) {
    const fuzz::OpenedPlan sealed = fuzz::openPlan(bytes);
    fuzz::claim(sealed.problem.empty(), sealed.problem);
  }
  return 0;
}
