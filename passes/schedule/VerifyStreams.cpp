//===- VerifyStreams.cpp - plan-verify-streams --------------------------------------===//
//
// Before placement two buffers never share memory, so races are those on one buffer. Each section is run in the kinds of
// repetition that differ, each twice, with vector clocks.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"

#include <map>

namespace sluice {
#define GEN_PASS_DEF_VERIFYSTREAMS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

using Clock = std::map<llvm::StringRef, int64_t>;

struct Past {
  Operation *op;
  ViewAttr view;
  bool writes;
  llvm::StringRef stream;
  int64_t at;
};

class Run {
public:
  LogicalResult step(Operation *op) {
    ++time;
    const llvm::StringRef stream = streamOf(op);
    Clock &mine = known[stream];
    if (auto record = dyn_cast<RecordOp>(op)) {
      recorded[record.getEvent()] = mine;
      return success();
    }
    if (auto wait = dyn_cast<WaitOp>(op)) {
      auto it = recorded.find(wait.getEvent());
      if (it == recorded.end())
        return wait.emitOpError("event ") << wait.getEvent() << ", expected a record before the wait but got none";
      for (const auto &[other, at] : it->second)
        mine[other] = std::max(mine[other], at);
      return success();
    }
    mine[stream] = time;
    for (const Access &access : accessesOf(op))
      if (failed(touch(op, access, stream)))
        return failure();
    return success();
  }

private:
  LogicalResult touch(Operation *op, const Access &access, llvm::StringRef stream) {
    auto &past = pasts[access.view.getBuffer().getAttr()];
    for (const Past &before : past) {
      if (!before.writes && !access.writes)
        continue;
      auto seen = known[stream].find(before.stream);
      if ((seen != known[stream].end() && seen->second >= before.at) || windowsDisjoint(before.view, access.view))
        continue;
      InFlightDiagnostic error = op->emitOpError("access of '")
                                 << access.view.getBuffer().getValue() << "' on stream '" << stream
                                 << "', expected it behind one on stream '" << before.stream << "' but nothing orders them";
      error.attachNote(before.op->getLoc()) << "the other access is here";
      return failure();
    }
    // What is ordered before a write needs no further look: whoever is behind the write is behind it too.
    if (access.writes)
      llvm::erase_if(past, [&](const Past &before) { return !windowsDisjoint(before.view, access.view); });
    // Who is behind this read is behind one of the same window before it on its stream.
    auto same = llvm::find_if(past, [&](const Past &before) {
      return !before.writes && !access.writes && before.stream == stream && before.view == access.view;
    });
    if (same != past.end())
      *same = {op, access.view, false, stream, time};
    else
      past.push_back({op, access.view, access.writes, stream, time});
    return success();
  }

  int64_t time = 0;
  std::map<llvm::StringRef, Clock> known;
  llvm::DenseMap<int64_t, Clock> recorded;
  llvm::DenseMap<StringAttr, llvm::SmallVector<Past>> pasts;
};

struct VerifyStreams : sluice::impl::VerifyStreamsBase<VerifyStreams> {
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<EntryOp>())
      if (failed(verify(entry)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

  static LogicalResult verify(EntryOp entry) {
    LogicalResult result = success();
    forEachInstruction(entry, [&](Operation *op, int64_t, SectionOp) {
      if (failed(result))
        return;
      if (isa<AwaitOp>(op))
        result = op->emitOpError("expected no token behind the streams phase but got one");
      else if (streamOf(op).empty())
        result = op->emitOpError("stream, expected one but got none");
    });
    if (failed(result))
      return failure();
    Run run;
    for (int step = 0; step < 2; ++step)
      for (auto section : entry.getBody().getOps<SectionOp>())
        for (Repetition repetition : repetitionsOf(section))
          for (Operation &op : section.getBody().front())
            if (isIssued(&op, repetition) && failed(run.step(&op)))
              return failure();
    return success();
  }
};

} // namespace
