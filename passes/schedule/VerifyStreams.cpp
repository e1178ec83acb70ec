//===- VerifyStreams.cpp - plan-verify-streams --------------------------------------===//
//
// Before placement two buffers never share memory, so two instructions race only on one buffer. The pass issues two
// runs of each entry point to a StreamOrder; of the repetitions of a section, one of each kind that differs.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/plan/StreamOrder.h"

namespace sluice {
#define GEN_PASS_DEF_VERIFYSTREAMS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

struct PastAccess {
  Operation *op;
  ViewAttr view;
  bool writes;
  llvm::StringRef stream;
  StreamOrder::Position at;
};

/// The accesses of the instructions issued so far that a later access may race with.
class RaceCheck {
public:
  void beginRun() {
    order.beginRun();
    ++runs;
  }

  /// Issues an instruction. Emits a diagnostic and fails where one of its accesses is not ordered after an earlier one.
  LogicalResult issue(Operation *op) {
    if (auto wait = dyn_cast<WaitOp>(op); wait && !order.hasRecord(wait) && !(wait.getCarried() && runs == 1))
      return wait.emitOpError("event ") << wait.getEvent() << " has no record before the wait";
    const StreamOrder::Position at = order.issue(op);
    for (const Access &access : accessesOf(op))
      if (failed(touch(op, access, at)))
        return failure();
    return success();
  }

private:
  LogicalResult touch(Operation *op, const Access &access, StreamOrder::Position at) {
    const llvm::StringRef stream = streamOf(op);
    auto &past = pasts[access.view.getBuffer().getAttr()];
    for (const PastAccess &before : past) {
      if (!before.writes && !access.writes)
        continue;
      if (order.isDoneBefore(before.at, stream) || windowsDisjoint(before.view, access.view))
        continue;
      InFlightDiagnostic error = op->emitOpError("access of '")
                                 << access.view.getBuffer().getValue() << "' on stream '" << stream
                                 << "' is not ordered after one on stream '" << before.stream << "'";
      error.attachNote(before.op->getLoc()) << "the other access is here";
      return failure();
    }
    // An access after this write is also after the accesses before it.
    if (access.writes)
      llvm::erase_if(past, [&](const PastAccess &before) { return !windowsDisjoint(before.view, access.view); });
    // An access after this read is also after an earlier read of the same window on its stream.
    auto same = llvm::find_if(past, [&](const PastAccess &before) {
      return !before.writes && !access.writes && before.stream == stream && before.view == access.view;
    });
    if (same != past.end())
      *same = {op, access.view, false, stream, at};
    else
      past.push_back({op, access.view, access.writes, stream, at});
    return success();
  }

  StreamOrder order;
  int runs = 0;
  llvm::DenseMap<StringAttr, llvm::SmallVector<PastAccess>> pasts;
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
        result = op->emitOpError("remains after the streams phase");
      else if (streamOf(op).empty())
        result = op->emitOpError("has no stream");
    });
    if (failed(result))
      return failure();
    RaceCheck races;
    for (int run = 0; run < 2; ++run) {
      races.beginRun();
      for (auto section : entry.getBody().getOps<SectionOp>())
        for (Repetition repetition : repetitionsOf(section))
          for (Operation &op : section.getBody().front())
            if (isIssued(&op, repetition) && failed(races.issue(&op)))
              return failure();
    }
    return success();
  }
};

} // namespace
