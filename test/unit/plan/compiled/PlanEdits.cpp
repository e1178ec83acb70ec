//===- PlanEdits.cpp - finds and changes instructions of a plan of any size ---------===//
//
// See PlanEdits.h.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/compiled/PlanEdits.h"

#include <algorithm>

namespace sluice::test {

std::vector<Located> trainStep(const plan::PlanT &plan) {
  std::vector<Located> found;
  const int entry = findEntry(plan, "train_step");
  if (entry < 0)
    return found;
  const auto e = static_cast<std::uint32_t>(entry);
  const auto &sections = plan.entries[e]->sections;
  for (std::uint32_t s = 0; s < sections.size(); ++s)
    for (const auto &instruction : sections[s]->instructions)
      found.push_back({instruction.get(), e, s, static_cast<std::uint32_t>(found.size())});
  return found;
}

Located findInstruction(const plan::PlanT &plan, const std::function<bool(const Located &)> &wanted) {
  for (const Located &at : trainStep(plan))
    if (wanted(at))
      return at;
  return {};
}

static std::vector<plan::ViewT *> viewsOf(const plan::InstructionT &instruction, bool ofWrites) {
  std::vector<plan::ViewT *> views;
  forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
    if (isWrite == ofWrites)
      views.push_back(const_cast<plan::ViewT *>(&view));
  });
  return views;
}

std::vector<plan::ViewT *> readsOf(const plan::InstructionT &instruction) { return viewsOf(instruction, false); }
std::vector<plan::ViewT *> writesOf(const plan::InstructionT &instruction) { return viewsOf(instruction, true); }

bool accesses(const std::vector<plan::ViewT *> &views, std::uint32_t buffer) {
  return std::ranges::find(views, buffer, &plan::ViewT::buffer) != views.end();
}

void drop(plan::PlanT &plan, const Located &at) {
  plan::RecordT record;
  record.event = plan.entries[at.entry]->events++;
  at.instruction->operation.Set(std::move(record));
  at.instruction->unit = -1;
}

} // namespace sluice::test
