//===- InsertEvents.cpp - plan-insert-events ----------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/plan/StreamOrder.h"

#include "llvm/ADT/MapVector.h"

namespace sluice {
#define GEN_PASS_DEF_INSERTEVENTS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::plan_ir;
using sluice::StreamKind;

namespace {

struct InsertEvents : sluice::impl::InsertEventsBase<InsertEvents> {
  void runOnOperation() override {
    const Streams all(getOperation());
    streams = &all;
    host = all.find(StreamKind::host);
    compute = all.find(StreamKind::compute);
    for (auto entry : getOperation().getOps<EntryOp>()) {
      int64_t events = entry.getEvents();
      for (auto section : entry.getBody().getOps<SectionOp>())
        if (failed(insert(section, events)))
          return signalPassFailure();
      entry.setEvents(events);
    }
  }

  /// An event instruction that is issued when `like` is.
  template <typename Op> static Op make(OpBuilder &builder, Operation *like, int64_t event, FlatSymbolRefAttr stream) {
    const auto when = like->getAttrOfType<WhenAttr>("when");
    const auto unit = like->getAttrOfType<StringAttr>("unit");
    const sluice::Phase phase = phaseOf(like);
    Op op;
    if constexpr (std::is_same_v<Op, WaitOp>)
      op = WaitOp::create(builder, like->getLoc(), event, /*carried=*/false, stream, when, phase, unit);
    else
      op = Op::create(builder, like->getLoc(), event, stream, when, phase, unit);
    if (auto invocation = like->getAttrOfType<IntegerAttr>("invocation"))
      op.setInvocationAttr(invocation);
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
        return collective.emitOpError("token ") << *collective.getToken() << " has no plan.await";
      OpBuilder builder(collective);
      const FlatSymbolRefAttr stream = collective.getStreamAttr();
      make<RecordOp>(builder, collective, events, compute);
      make<WaitOp>(builder, collective, events++, stream);
      if (!await.getChained()) {
        builder.setInsertionPointAfter(collective);
        make<RecordOp>(builder, collective, events, stream);
        builder.setInsertionPoint(await);
        make<WaitOp>(builder, await, events++, compute);
      } else if (auto copy = dyn_cast_or_null<CopyOp>(await->getNextNode()); copy && copy.getToken()) {
        // Only the copies' stream waits for the reduction.
        builder.setInsertionPointAfter(collective);
        make<RecordOp>(builder, collective, events, stream);
        builder.setInsertionPoint(await);
        make<WaitOp>(builder, await, events++, copy.getStreamAttr());
      } else if (failed(checkChain(await, stream))) {
        return failure();
      }
      collective.removeTokenAttr();
      await.erase();
    }
    if (failed(insertCopies(section, awaits, events)))
      return failure();
    orderSideStreams(section, events);
    return success();
  }

  /// Lets a stream wait for the current position of another one.
  static void order(OpBuilder &builder, Operation *like, FlatSymbolRefAttr before, FlatSymbolRefAttr after,
                    int64_t &events) {
    make<RecordOp>(builder, like, events, before);
    make<WaitOp>(builder, like, events++, after);
  }

  /// Copies of one token start together, after the work that compute and the host were issued before, and have one
  /// wait: on compute, or on the stream of gathers.
  LogicalResult insertCopies(SectionOp section, llvm::DenseMap<int64_t, AwaitOp> &awaits, int64_t &events) {
    llvm::MapVector<int64_t, llvm::SmallVector<CopyOp>> copies;
    for (auto copy : section.getBody().getOps<CopyOp>())
      if (copy.getToken())
        copies[*copy.getToken()].push_back(copy);
    for (auto &[token, together] : copies) {
      AwaitOp await = awaits.lookup(token);
      if (!await)
        return together.front().emitOpError("token ") << token << " has no plan.await";
      OpBuilder builder(together.front());
      const FlatSymbolRefAttr stream = together.front().getStreamAttr();
      order(builder, together.front(), compute, stream, events);
      if (host)
        order(builder, together.front(), host, stream, events);
      builder.setInsertionPointAfter(together.back());
      make<RecordOp>(builder, together.back(), events, stream);
      builder.setInsertionPoint(await);
      make<WaitOp>(builder, await, events++, await.getChained() ? streams->find(StreamKind::gather) : compute);
      for (CopyOp copy : together)
        copy.removeTokenAttr();
      await.erase();
    }
    return success();
  }

  /// Host work, and launches before a gather on its stream, start after the work that compute was issued before them.
  /// Consecutive instructions of one stream in the same repetitions start together.
  void orderSideStreams(SectionOp section, int64_t &events) {
    // By kind of repetition: an earlier run of the pass, or a wait for something else, may have ordered the
    // instruction.
    std::vector<std::pair<Repetition, StreamOrder>> orders;
    for (Repetition repetition : repetitionsOf(section))
      orders.emplace_back(repetition, StreamOrder());
    const auto issue = [&](Operation *op) {
      for (auto &[repetition, order] : orders)
        if (isIssued(op, repetition))
          order.issue(op);
    };
    Operation *before = nullptr;
    for (Operation &op : llvm::make_early_inc_range(section.getBody().front())) {
      const std::optional<StreamKind> kind = streams->kindOf(&op);
      const bool isOnSideStream =
          isa<LaunchOp, FillOp, CopyOp>(op) && (kind == StreamKind::gather || kind == StreamKind::host);
      const bool isOrdered = llvm::all_of(orders, [&](const auto &each) {
        return !isIssued(&op, each.first) || each.second.isOrdered(streams->nameOf(StreamKind::compute), streamOf(&op));
      });
      if (isOnSideStream && !(before && streamOf(before) == streamOf(&op) && whenOf(before) == whenOf(&op)) &&
          !isOrdered) {
        OpBuilder builder(&op);
        order(builder, &op, compute, op.getAttrOfType<FlatSymbolRefAttr>("stream"), events);
        issue(op.getPrevNode()->getPrevNode());
        issue(op.getPrevNode());
      }
      issue(&op);
      before = isOnSideStream ? &op : nullptr;
    }
  }

  /// The next collective must be on the same stream: only the order of the stream orders it after a chained await.
  static LogicalResult checkChain(AwaitOp await, FlatSymbolRefAttr stream) {
    for (Operation *op = await->getNextNode(); op; op = op->getNextNode())
      if (auto next = dyn_cast<CollectiveOp>(op))
        return next.getStreamAttr() == stream
                   ? success()
                   : LogicalResult(await.emitOpError("'chained' requires the next collective on stream '")
                                   << stream.getValue() << "' but it is on '" << next.getStreamAttr().getValue()
                                   << "'");
    return await.emitOpError("'chained' requires a collective after it");
  }

  const Streams *streams = nullptr;
  /// The stream of the host; null without host work.
  FlatSymbolRefAttr host;
  FlatSymbolRefAttr compute;
};

} // namespace
