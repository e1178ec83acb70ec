//===- PlanFuzz.cpp - opens random bytes as plans -------------------------------------===//
//
// Reads any bytes as a plan file: unchanged, and, if the digest can be found, with a correct digest, so that
// unpacking, the checker and the reports run as well. None of these may crash, hang or allocate beyond
// the file's size. Built as a libFuzzer target with
//   clang++ -std=c++20 -fsanitize=fuzzer,address,undefined -I. -Ibuild test/fuzz/PlanFuzz.cpp runtime/plan/*.cpp
//     runtime/plan/check/*.cpp runtime/base/*.cpp
// and driven by test/unit/plan/FuzzTest.cpp with mutations of a good plan in every test run.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Sha256.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Printer.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Schedule.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

using namespace sluice;

namespace {

/// Writes the digest that the bytes have; false if it cannot be found.
bool sealBytes(std::vector<std::uint8_t> &bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (bytes.size() < 16 || !plan::VerifyPlanBuffer(verifier))
    return false;
  const auto *digest = plan::GetPlan(bytes.data())->digest();
  if (!digest || digest->size() != digestBytes)
    return false;
  std::uint8_t *at = bytes.data() + (digest->data() - bytes.data());
  std::fill_n(at, digestBytes, std::uint8_t(0));
  const Digest sum = sha256(bytes);
  std::copy(sum.begin(), sum.end(), at);
  return true;
}

void open(std::span<const std::uint8_t> bytes) {
  Result<PlanFile> file = parsePlan(bytes, "fuzz");
  if (!file.isOk())
    return;
  CheckReport report;
  const bool sound = checkPlan(file->plan, &report).isOk();
  if (report[1] == CheckReport::Outcome::proved)
    (void)printPlan(file->plan);
  if (!sound)
    return;
  (void)describePlan(file->plan);
  (void)describePlanText(file->plan);
  (void)memoryText(file->plan, true);
  (void)scheduleText(file->plan, true);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  open({data, size});
  std::vector<std::uint8_t> bytes(data, data + size);
  if (sealBytes(bytes))
    open(bytes);
  return 0;
}
