//===- refused-mutants.cpp - executes mutants that the checker refuses ------------------===//
//
// Usage: refused-mutants PLAN MUTANTS SEED
// Makes mutants that are refused for order or memory (P2, P3, P4, P6) and executes each with delays. Prints, as JSON by
// property: the number of mutants, those with other numbers, those that stall, crash or are stopped by the runtime, and
// those with the same numbers. A stall ends after a few seconds.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "test/mutants/Mutants.h"
#include "tools/CommandLine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

using namespace sluice;

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  Result<PlanFile> file = readCheckedPlan(argv[1]);
  if (!file.isOk())
    return 4;
  const std::string program = siblingProgram("steps-unchecked");
  const Result<StepsOutcome> original = runSteps(program, file->plan, 60);
  if (!original.isOk() || original->end != StepsOutcome::End::printed)
    return 5;
  const std::uint64_t mutants = std::strtoull(argv[2], nullptr, 10), seed = std::strtoull(argv[3], nullptr, 10);
  const std::vector<const MutantKind *> kinds = shuffledKinds(seed);
  std::map<std::string, std::map<std::string, int>> counts;
  std::uint64_t executed = 0;
  for (std::uint64_t number = 0; executed < mutants && number < 50 * mutants; ++number) {
    std::optional<plan::PlanT> mutant = makeMutant(file->plan, *kinds[number % kinds.size()], mutantSeed(seed, number));
    CheckReport report;
    if (!mutant || checkPlan(*mutant, &report).isOk())
      continue;
    const int property = report.refused();
    if (property != 2 && property != 3 && property != 4 && property != 6)
      continue;
    ++executed;
    const Result<StepsOutcome> outcome = runSteps(program, std::move(*mutant), 3, original->text);
    if (!outcome.isOk())
      return 5;
    constexpr const char *names[] = {"same", "different", "stopped", "crashed", "stalled"};
    const bool isSame = outcome->end == StepsOutcome::End::printed &&
                        compareDigests(outcome->text, original->text) != Difference::numbers;
    auto &row = counts["P" + std::to_string(property)];
    ++row["mutants"];
    ++row[outcome->end == StepsOutcome::End::printed && !isSame ? "different" : names[int(outcome->end)]];
  }
  std::puts(nlohmann::json(counts).dump().c_str());
  return 0;
}
