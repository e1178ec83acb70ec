//===- ElideEvents.cpp - plan-elide-events ------------------------------------------===//
//
// A wait is needless where its stream knows already that the record has happened: by stream order, or through other
// waits. What a stream knows is a vector clock: of each stream, the last instruction that surely is done. A repetition
// starts with each stream knowing its own past alone, which is less than what is known; a wait goes away only where it
// is implied in every kind of repetition that issues it.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"

#include <map>

namespace sluice {
#define GEN_PASS_DEF_ELIDEEVENTS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

using Clock = std::map<llvm::StringRef, int64_t>;

/// True where `knowledge` covers all that `target` says.
bool covers(const Clock &knowledge, const Clock &target) {
  return llvm::all_of(target, [&](const auto &entry) {
    auto it = knowledge.find(entry.first);
    return it != knowledge.end() && it->second >= entry.second;
  });
}

/// Waits that are needed in one kind of repetition.
void findNeeded(SectionOp section, Repetition repetition, llvm::DenseSet<Operation *> &needed) {
  std::map<llvm::StringRef, Clock> known;
  llvm::DenseMap<int64_t, Clock> recorded;
  int64_t position = 0;
  for (Operation &op : section.getBody().front()) {
    ++position;
    if (!isIssued(&op, repetition))
      continue;
    Clock &mine = known[streamOf(&op)];
    // What the stream did before this repetition is something that others do not know.
    mine.try_emplace(streamOf(&op), 0);
    if (auto record = dyn_cast<RecordOp>(op)) {
      // What waits for the record knows all that the stream did and knew. Event instructions do nothing to memory.
      recorded[record.getEvent()] = mine;
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      auto it = recorded.find(wait.getEvent());
      if (it == recorded.end() || !covers(mine, it->second))
        needed.insert(wait);
      if (it != recorded.end())
        for (const auto &[stream, at] : it->second)
          mine[stream] = std::max(mine[stream], at);
    } else {
      mine[streamOf(&op)] = position;
    }
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

  /// Takes away records that nobody waits for and numbers the events anew, without gaps.
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
