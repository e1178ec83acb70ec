//===- InsertEvents.cpp - plan-insert-events ----------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"

namespace sluice {
#define GEN_PASS_DEF_INSERTEVENTS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

struct InsertEvents : sluice::impl::InsertEventsBase<InsertEvents> {
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<EntryOp>()) {
      int64_t events = entry.getEvents();
      for (auto section : entry.getBody().getOps<SectionOp>())
        if (failed(insert(section, events)))
          return signalPassFailure();
      entry.setEvents(events);
    }
  }

  static FlatSymbolRefAttr compute(MLIRContext *context) { return FlatSymbolRefAttr::get(context, "compute"); }

  /// An event instruction that is issued when `like` is.
  template <typename Op> static Op make(OpBuilder &builder, Operation *like, int64_t event, FlatSymbolRefAttr stream) {
    Op op = Op::create(builder, like->getLoc(), event, stream, like->getAttrOfType<StringAttr>("when"),
                       like->getAttrOfType<StringAttr>("phase"), like->getAttrOfType<StringAttr>("unit"));
    op.setPass(like->getAttrOfType<IntegerAttr>("pass") ? like->getAttrOfType<IntegerAttr>("pass").getInt() : 0);
    return op;
  }

  LogicalResult insert(SectionOp section, int64_t &events) {
    llvm::DenseMap<int64_t, AwaitOp> awaits;
    for (auto await : section.getBody().getOps<AwaitOp>())
      awaits[await.getToken()] = await;
    for (auto collective : llvm::make_early_inc_range(section.getBody().getOps<CollectiveOp>())) {
      if (!collective.getToken())
        continue;
      AwaitOp await = awaits.lookup(*collective.getToken());
      if (!await)
        return collective.emitOpError("token ") << *collective.getToken() << ", expected a plan.await but got none";
      OpBuilder builder(collective);
      const FlatSymbolRefAttr stream = collective.getStreamAttr();
      make<RecordOp>(builder, collective, events, compute(&getContext()));
      make<WaitOp>(builder, collective, events++, stream);
      if (!await.getChained()) {
        builder.setInsertionPointAfter(collective);
        make<RecordOp>(builder, collective, events, stream);
        builder.setInsertionPoint(await);
        make<WaitOp>(builder, await, events++, compute(&getContext()));
      } else if (failed(checkChain(await, stream))) {
        return failure();
      }
      collective.removeTokenAttr();
      await.erase();
    }
    return success();
  }

  /// Those that rely on a chained await must stand on the same stream: its order is all that orders them.
  static LogicalResult checkChain(AwaitOp await, FlatSymbolRefAttr stream) {
    for (Operation *op = await->getNextNode(); op; op = op->getNextNode())
      if (auto next = dyn_cast<CollectiveOp>(op))
        return next.getStreamAttr() == stream
                   ? success()
                   : LogicalResult(await.emitOpError("chained, expected the next collective on '")
                                   << stream.getValue() << "' but got one on '" << next.getStreamAttr().getValue() << "'");
    return await.emitOpError("chained, expected a collective behind it but got none");
  }
};

} // namespace
