//===- Mutants.h - `sluice-plan check --mutate` -----------------------------------------===//
//
// Makes mutants of a plan (runtime/plan/mutate/Mutant.h) and counts, by kind, those that the checker refuses. A mutant
// that it accepts is executed by the program next to this one that prints digests (tools/steps/StepDigest.h), in a
// process with a time limit, because it may crash or never end.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_PLAN_MUTANTS_H
#define SLUICE_TOOLS_PLAN_MUTANTS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Commands.h"
#include "runtime/plan/mutate/Mutant.h"

#include <string>

namespace sluice {

/// The end of a process that prints digests of a plan.
struct StepsOutcome {
  /// `differed`: ended by the caller at the first line with other numbers than the expected one.
  enum class End { printed, differed, stopped, crashed, timedOut } end = End::stopped;
  /// Standard output and standard error.
  std::string text;
};

/// How the digests of a mutant differ from those of the original plan.
enum class Difference { none, rounding, numbers };
Difference compareDigests(std::string_view mutant, std::string_view original);

/// Runs `program` with the plan in a temporary file, for at most `seconds`. `expected`: the output for the original
/// plan; empty: not known.
Result<StepsOutcome> runSteps(const std::string &program, plan::PlanT plan, double seconds,
                              const std::string &expected = "");

/// The program of this name in the folder of this process's program.
std::string siblingProgram(const std::string &name);

/// The seed of the mutant with this number.
std::uint64_t mutantSeed(std::uint64_t seed, std::uint64_t number);

/// The kinds in the order in which their mutants are made: a permutation by the seed.
std::vector<const MutantKind *> shuffledKinds(std::uint64_t seed);

/// Refuses if the plan itself is refused. The exit code is 1 if a mutant survived: it was accepted, and computes other
/// numbers, crashes or does not end.
PlanCommandResult runMutants(const PlanCommand &command, std::uint64_t mutants, std::uint64_t seed);

} // namespace sluice

#endif // SLUICE_TOOLS_PLAN_MUTANTS_H
