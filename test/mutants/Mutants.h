//===- Mutants.h - a trial of a plan's mutants ------------------------------------------===//
//
// Makes mutants of a plan, by kind (test/mutants/mutate/Mutant.h) or by field of the schema (FieldMutants.h), and
// counts those that the checker refuses. A mutant that it accepts is executed by the program next to this one that
// prints digests (tools/steps/StepDigest.h), in a process with a time limit, because it may crash or never end.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_MUTANTS_MUTANTS_H
#define SLUICE_TEST_MUTANTS_MUTANTS_H

#include "runtime/base/Status.h"
#include "test/mutants/mutate/Mutant.h"

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

/// The seed of the mutant with this number.
std::uint64_t mutantSeed(std::uint64_t seed, std::uint64_t number);

/// The kinds in the order in which their mutants are made: a permutation by the seed.
std::vector<const MutantKind *> shuffledKinds(std::uint64_t seed);

struct MutantOptions {
  std::uint64_t mutants = 1, seed = 0;
  /// Mutants by the fields of the schema (FieldMutants.h) instead of by kinds.
  bool fields = false;
  /// The only kind or field; empty: all.
  std::string only = {};
  /// The report is JSON.
  bool json = false;
  /// A folder to which each mutant that survives is written, as NUMBER.plan; empty: none.
  std::string survivors = {};
};

struct MutantTrial {
  std::string text;
  /// True if a mutant survived: it was accepted, and computes other numbers, crashes or does not end.
  bool hasSurvivor = false;
};
/// Tries mutants of the plan in the file. An error if the plan itself is refused, or cannot be executed by `program`,
/// which prints the digests of its steps.
Result<MutantTrial> tryMutants(const std::string &path, const MutantOptions &options, const std::string &program);

} // namespace sluice

#endif // SLUICE_TEST_MUTANTS_MUTANTS_H
