//===- OrderUpdates.cpp - spmd-order-updates -------------------------------------------------===//
//
// Parameters of the unit that is gathered first are updated first, so that its gather of the next step need not wait
// for the updates of the others. The updates (with their copies between spaces) are independent, so their order changes
// no number. Without gathers the pass changes nothing.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Passes.h"
#include "passes/schedule/Updates.h"

namespace sluice {
#define GEN_PASS_DEF_ORDERUPDATES
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Units in the order of their first gather, or copy where nothing is gathered.
llvm::StringMap<unsigned> orderOfUse(func::FuncOp function) {
  llvm::StringMap<unsigned> order;
  function.walk([&](spmd::CollectiveOpInterface op) {
    if ((op.isUnshard() || op.isCopy()) && !spmd::unitOf(op).empty())
      order.try_emplace(spmd::unitOf(op), order.size());
  });
  return order;
}

struct OrderUpdates : sluice::impl::OrderUpdatesBase<OrderUpdates> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      const llvm::StringMap<unsigned> order = orderOfUse(function);
      if (order.empty())
        continue;
      // Each update, and the place of its unit.
      llvm::DenseMap<Operation *, unsigned> places;
      for (const auto &[producer, update] : updatesOf(function)) {
        auto place = order.find(update.unit);
        places[producer] = place == order.end() ? order.size() : place->second;
      }
      if (!places.empty())
        sort(*places.begin()->first->getBlock(), places);
    }
  }

  static void sort(Block &block, const llvm::DenseMap<Operation *, unsigned> &places) {
    llvm::SmallVector<Operation *> producers, all;
    for (Operation &op : block.without_terminator()) {
      all.push_back(&op);
      if (places.contains(&op))
        producers.push_back(&op);
    }
    llvm::stable_sort(producers, [&](Operation *a, Operation *b) { return places.lookup(a) < places.lookup(b); });
    llvm::SetVector<Operation *> sorted;
    // Ops before the first update keep their position.
    for (Operation *op : all) {
      if (places.contains(op))
        break;
      sorted.insert(op);
    }
    for (Operation *producer : producers)
      insertWithOperands(producer, sorted);
    for (Operation *op : all)
      insertWithOperands(op, sorted);
    for (Operation *op : sorted)
      op->moveBefore(block.getTerminator());
  }

  /// Moves an op after all ops of the block that it reads.
  static void insertWithOperands(Operation *op, llvm::SetVector<Operation *> &sorted) {
    if (sorted.contains(op))
      return;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *before = operand.getDefiningOp(); before && before != op && before->getBlock() == op->getBlock())
          insertWithOperands(before, sorted);
    });
    sorted.insert(op);
  }
};

} // namespace
