//===- EntryShape.cpp - the rows and tokens of an entry point -------------------------===//
#include "runtime/plan/EntryShape.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace sluice {

std::string EntryShape::text() const {
  return concat(microbatches == 1 ? "" : concat(microbatches, " x "), rows, rows == 1 ? " row of " : " rows of ",
                tokens, " tokens");
}

EntryShape entryShape(const plan::EntryT &entry) {
  EntryShape shape;
  const auto port =
      std::ranges::find(entry.inputs, plan::PortRole::tokens, [](const auto &each) { return each->role; });
  if (port == entry.inputs.end() || (*port)->view->shape.size() != 2)
    return shape;
  shape.rows = static_cast<std::uint64_t>((*port)->view->shape[0]);
  shape.tokens = static_cast<std::uint64_t>((*port)->view->shape[1]);
  if ((*port)->per_repetition && !entry.sections.empty())
    shape.microbatches = entry.sections[0]->repeat;
  return shape;
}

std::uint64_t rowTokensOf(const plan::PlanT &plan, std::string_view entry) {
  const int index = findEntry(plan, entry);
  return index < 0 ? 0 : entryShape(*plan.entries[static_cast<std::size_t>(index)]).tokens;
}

std::uint64_t vocabularyOf(const plan::PlanT &plan) {
  std::uint64_t vocabulary = 0;
  for (const auto &entry : plan.entries)
    for (const auto &port : entry->inputs)
      if (port->role == plan::PortRole::tokens && port->limit && (!vocabulary || port->limit < vocabulary))
        vocabulary = port->limit;
  return vocabulary;
}

std::uint64_t tokensOfRun(const plan::PlanT &plan, const plan::EntryT &entry) {
  const EntryShape shape = entryShape(entry);
  const std::uint64_t tokens = shape.tokens > 0 ? shape.microbatches * shape.rows * shape.tokens
                                                : std::uint64_t(plan.microbatches) * plan.batch * plan.sequence;
  return tokens * groupSize(plan, plan.data_axes);
}

} // namespace sluice
