//===- RuleCase.h - an op with random operands for tests of the proof's rules ---------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_RULES_RULECASE_H
#define SLUICE_TEST_UNIT_PLAN_RULES_RULECASE_H

#include "runtime/plan/check/proof/KernelRules.h"
#include "test/unit/kernel/Harness.h"

#include <map>

namespace sluice::test {

/// The shapes of an op, and values that its operands may have.
struct RuleCase {
  std::string op;
  /// Dims by letter, such as "mk,kn->mn". A letter is a random extent, a digit is that extent, no letter a scalar.
  /// Without operands: ".->ab".
  std::string shapes;
  /// A character for each operand, and for each result; missing ones are 'n'.
  /// n: normal numbers, p: positive numbers, b: zeros and ones (u8), i: indices below `limit` (i64), t: small positive
  /// integers (i64), 1: ones (u8).
  std::string values = "", results = "";
  /// A letter.
  char limit = 0;
  /// Names and values of the op's attributes; those of the kernel are the same unless `launch` has others.
  std::vector<Attributes::Item> attributes = {}, launch = {};
  /// Extents that are not random, and those that are multiples of another one, which is named before.
  std::map<char, std::int64_t> extents = {};
  std::vector<std::tuple<char, char, std::int64_t>> multiples = {};
};
void PrintTo(const RuleCase &rule, std::ostream *out);

/// At least one for each op with a kernel in the table of rules.
const std::vector<RuleCase> &ruleCases();

/// A case with extents and values.
struct RuleSample {
  plan::ProgramKindT kind;
  plan::LaunchT launch;
  const KernelRecord *kernel = nullptr;
  std::vector<std::vector<std::int64_t>> shapes, resultShapes;
  std::vector<Tensor> operands;
  /// Without values.
  std::vector<Tensor> results;
};
RuleSample sample(const RuleCase &rule, DType type, unsigned seed);

/// Runs the kernel of the sample. The results are new tensors of the types and extents of `results`; those that share
/// memory with an operand have its content before the run.
Result<std::vector<Tensor>> runKernel(const RuleSample &sample, std::vector<Tensor> operands,
                                      std::vector<Tensor> results, KernelFlavour flavour = KernelFlavour::fast);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_RULES_RULECASE_H
