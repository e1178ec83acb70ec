//===- EntryShape.h - the rows and tokens of an entry point ---------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_ENTRYSHAPE_H
#define SLUICE_RUNTIME_PLAN_ENTRYSHAPE_H

#include "runtime/plan/Plan.h"

#include <string>
#include <string_view>

namespace sluice {

/// What one run of an entry point reads of the data.
struct EntryShape {
  std::uint64_t microbatches = 1;
  /// Rows of one rank's micro-batch, and tokens of a row; 0 without an input `tokens` of two dims.
  std::uint64_t rows = 0, tokens = 0;

  /// "2 x 8 rows of 512 tokens", without the number of micro-batches if there is one.
  std::string text() const;
};

EntryShape entryShape(const plan::EntryT &entry);
/// The tokens of a row of the entry point with this name; 0 if it has none, or does not exist.
std::uint64_t rowTokensOf(const plan::PlanT &plan, std::string_view entry);
/// The exclusive upper bound of the tokens of all entry points; 0: unbounded.
std::uint64_t vocabularyOf(const plan::PlanT &plan);
/// Tokens of one run over all ranks; those that the plan states, if the entry point has no input `tokens`.
std::uint64_t tokensOfRun(const plan::PlanT &plan, const plan::EntryT &entry);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_ENTRYSHAPE_H
