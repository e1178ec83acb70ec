//===- SinkWaits.cpp - spmd-sink-waits --------------------------------------------------------===//
//
// A wait frees the memory of a reduction's input, and blocks the compute stream until the reduction is done. So it is
// placed where the next input would exceed `schedule.reduce_buffers`. So is the wait for a copy of reduced gradients.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"
#include "passes/recipe/Keys.h"
#include "passes/recipe/RecipeAttr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_SINKWAITS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// The collectives that reduce one unit's gradients, and the waits of the compute stream.
struct Reduction {
  StringRef unit;
  Operation *start = nullptr;
  SmallVector<spmd::WaitOp> waits;
};

std::vector<Reduction> findReductions(Block &block) {
  std::vector<Reduction> reductions;
  for (Operation &op : block) {
    auto start = dyn_cast<spmd::CollectiveOpInterface>(op);
    if (!start || !start.isReduction() || spmd::unitOf(&op).empty())
      continue;
    if (reductions.empty() || reductions.back().unit != spmd::unitOf(&op))
      reductions.push_back({spmd::unitOf(&op), &op, {}});
    for (Operation *user : op.getUsers())
      if (auto wait = dyn_cast<spmd::WaitOp>(user); wait && !wait.getChained())
        reductions.back().waits.push_back(wait);
  }
  return reductions;
}

/// The first start of a chain.
Operation *firstOf(Operation *start) {
  while (auto before = start->getOperand(0).getDefiningOp<spmd::WaitOp>()) {
    if (!before.getChained())
      break;
    start = before.getStart();
  }
  return start;
}

/// The copies of reduced gradients to host memory. The wait ends the use of the source and of the input of its
/// reduction.
std::vector<Reduction> findCopies(Block &block) {
  std::vector<Reduction> copies;
  for (auto start : block.getOps<spmd::CollectiveOpInterface>())
    if (start.getDestinationSpace() == MemorySpace::host && model::phaseOf(start) == Phase::backward)
      copies.push_back({spmd::unitOf(start), firstOf(start), {cast<spmd::WaitOp>(*start->user_begin())}});
  return copies;
}

/// Ops of the block that use the values of a wait, directly or not, in the order of the block: sums, factors, further
/// reductions.
SmallVector<Operation *> opsAfter(spmd::WaitOp wait, Block &block) {
  SmallVector<Operation *> tail;
  llvm::SmallPtrSet<Operation *, 8> found = {wait};
  SmallVector<Operation *> pending = {wait};
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val()->getUsers())
      if (user->getBlock() == &block && user != block.getTerminator() && found.insert(user).second) {
        tail.push_back(user);
        pending.push_back(user);
      }
  llvm::sort(tail, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return tail;
}

/// Moves an op and keeps the op order of the block valid, which Operation::moveBefore would invalidate.
void moveBefore(Operation *op, Operation *place) {
  op->remove();
  place->getBlock()->getOperations().insert(Block::iterator(place), op);
}

/// True if the operands of each op of the tail are results of the tail, of the wait, or of an op before the wait or
/// outside the section.
bool isMovable(ArrayRef<Operation *> tail, spmd::WaitOp wait) {
  return llvm::all_of(tail, [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return !producer || producer == wait || llvm::is_contained(tail, producer) ||
             producer->getBlock() != wait->getBlock() || producer->isBeforeInBlock(wait);
    });
  });
}

void sink(Block &block, const std::vector<Reduction> &reductions, std::size_t buffers) {
  for (std::size_t i = 0; i < reductions.size(); ++i)
    for (spmd::WaitOp wait : reductions[i].waits) {
      Operation *place = i + buffers < reductions.size() ? reductions[i + buffers].start : block.getTerminator();
      SmallVector<Operation *> tail = opsAfter(wait, block);
      if (!isMovable(tail, wait)) {
        for (Operation *user : wait->getUsers())
          if (user->getBlock() == &block && user->isBeforeInBlock(place))
            place = user;
        tail.clear();
      }
      if (place->isBeforeInBlock(wait))
        continue;
      moveBefore(wait, place);
      for (Operation *op : tail)
        moveBefore(op, place);
    }
}

struct SinkWaits : sluice::impl::SinkWaitsBase<SinkWaits> {
  using SinkWaitsBase::SinkWaitsBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), reduceBuffers);
    if (failed(recipe))
      return signalPassFailure();
    const auto *number = std::get_if<std::int64_t>(&recipe->schedule.reduceBuffers);
    if (!number) {
      emitError(UnknownLoc::get(&getContext())) << recipe->refuseOpenChoice(keys::reduceBuffers).message();
      return signalPassFailure();
    }
    const auto buffers = static_cast<std::size_t>(*number);
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto section : function.getOps<spmd::SectionOp>())
        for (auto *find : {findReductions, findCopies})
          sink(section.getBody().front(), find(section.getBody().front()), buffers);
  }
};

} // namespace
