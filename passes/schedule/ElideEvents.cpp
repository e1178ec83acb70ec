//===- ElideEvents.cpp - plan-elide-events ------------------------------------------===//
//
// A wait is redundant where its stream is already ordered after all that the record is ordered after (StreamOrder): by
// stream order, or by other waits. Each kind of repetition of a section is considered alone, without the order that
// earlier repetitions establish; a wait is erased only where it is implied in every kind of repetition that issues it.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/plan/StreamOrder.h"

namespace sluice {
#define GEN_PASS_DEF_ELIDEEVENTS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

/// Adds the waits that are needed in one kind of repetition.
void findNeeded(SectionOp section, Repetition repetition, llvm::DenseSet<Operation *> &needed) {
  StreamOrder order;
  for (Operation &op : section.getBody().front()) {
    if (!isIssued(&op, repetition))
      continue;
    if (auto wait = dyn_cast<WaitOp>(op); wait && !order.isImplied(wait))
      needed.insert(wait);
    order.issue(&op);
  }
}

struct ElideEvents : sluice::impl::ElideEventsBase<ElideEvents> {
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<EntryOp>()) {
      for (auto section : entry.getBody().getOps<SectionOp>()) {
        llvm::DenseSet<Operation *> needed;
        for (Repetition repetition : repetitionsOf(section))
          findNeeded(section, repetition, needed);
        for (auto wait : llvm::make_early_inc_range(section.getBody().getOps<WaitOp>()))
          if (!needed.contains(wait))
            wait.erase();
      }
      renumber(entry);
    }
  }

  /// Erases records without a wait and renumbers the events without gaps.
  static void renumber(EntryOp entry) {
    llvm::DenseSet<int64_t> awaited;
    entry.walk([&](WaitOp wait) { awaited.insert(wait.getEvent()); });
    llvm::DenseMap<int64_t, int64_t> numbers;
    forEachInstruction(entry, [&](Operation *op, int64_t, SectionOp) {
      auto record = dyn_cast<RecordOp>(op);
      if (!record)
        return;
      if (!awaited.contains(record.getEvent())) {
        record.erase();
        return;
      }
      record.setEvent(numbers.try_emplace(record.getEvent(), numbers.size()).first->second);
    });
    entry.walk([&](WaitOp wait) {
      auto it = numbers.find(wait.getEvent());
      if (it != numbers.end())
        wait.setEvent(it->second);
    });
    entry.setEvents(numbers.size());
  }
};

} // namespace
