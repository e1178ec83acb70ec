//===- OrderUpdates.cpp - what the next step gathers first is updated first ------------------===//
//
// Parameters of the unit that is gathered first are updated first, so that its gather of the next step need not wait for
// the updates of the others. Each update is a chain of its own (copies between spaces with it), so their order changes no
// number. Where nothing is gathered, nothing moves.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Passes.h"

#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

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
  function.walk([&](Operation *op) {
    if (isa<spmd::AllGatherStartOp, spmd::CopyStartOp>(op) && !spmd::unitOf(op).empty())
      order.try_emplace(spmd::unitOf(op), order.size());
  });
  return order;
}

struct OrderUpdates : sluice::impl::OrderUpdatesBase<OrderUpdates> {
  void runOnOperation() override {
    llvm::DenseMap<StringAttr, StringRef> unitOfParameter;
    for (auto unit : getOperation().getOps<spmd::UnitOp>())
      for (auto parameter : unit.getParameters().getAsRange<FlatSymbolRefAttr>())
        unitOfParameter[parameter.getAttr()] = unit.getSymName();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto sections = llvm::to_vector(function.getOps<spmd::SectionOp>());
      const llvm::StringMap<unsigned> order = orderOfUse(function);
      if (sections.empty() || order.empty())
        continue;
      // What makes a new parameter or state in the last section, and the place of its unit.
      llvm::DenseMap<Operation *, unsigned> places;
      Block &block = sections.back().getBody().front();
      Operation *end = function.getBody().front().getTerminator();
      for (OpOperand &result : end->getOpOperands()) {
        auto donated = function.getResultAttrOfType<IntegerAttr>(result.getOperandNumber(), spmd::donatesName);
        auto made = dyn_cast<OpResult>(result.get());
        if (!donated || !made || made.getOwner() != sections.back())
          continue;
        auto parameter =
            function.getArgAttrOfType<FlatSymbolRefAttr>(donated.getInt(), spmd::parameterName);
        Operation *maker = block.getTerminator()->getOperand(made.getResultNumber()).getDefiningOp();
        if (!parameter || !maker || maker->getBlock() != &block)
          continue;
        auto place = order.find(unitOfParameter.lookup(parameter.getAttr()));
        places[maker] = place == order.end() ? order.size() : place->second;
      }
      if (!places.empty())
        sort(block, places);
    }
  }

  static void sort(Block &block, const llvm::DenseMap<Operation *, unsigned> &places) {
    llvm::SmallVector<Operation *> makers, all;
    for (Operation &op : block.without_terminator()) {
      all.push_back(&op);
      if (places.contains(&op))
        makers.push_back(&op);
    }
    llvm::stable_sort(makers, [&](Operation *a, Operation *b) { return places.lookup(a) < places.lookup(b); });
    llvm::SetVector<Operation *> sorted;
    // What stands before the first update stays there.
    for (Operation *op : all) {
      if (places.contains(op))
        break;
      sorted.insert(op);
    }
    for (Operation *maker : makers)
      insertWithOperands(maker, sorted);
    for (Operation *op : all)
      insertWithOperands(op, sorted);
    for (Operation *op : sorted)
      op->moveBefore(block.getTerminator());
  }

  /// An op behind all of the block that it reads.
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
