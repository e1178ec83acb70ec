//===- FlattenBlocks.cpp - model-flatten-blocks -----------------------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace sluice {
#define GEN_PASS_DEF_FLATTENBLOCKS
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

std::string join(llvm::StringRef path, llvm::StringRef name) {
  return path.empty() ? name.str() : (path + "/" + name).str();
}

struct Flattener {
  unsigned checkpoints = 0;
  /// For each outermost block the number of invocations so far, and the current invocation.
  llvm::StringMap<std::int64_t> counts;
  std::int64_t invocation = 0;

  /// Ops of `block` are in the module `path` and the checkpoint region `checkpoint`.
  void flatten(Block &block, const std::string &path, const std::string &checkpoint) {
    Builder builder(block.getParentOp()->getContext());
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto inner = dyn_cast<model::BlockOp>(op)) {
        if (path.empty())
          invocation = counts[inner.getName()]++;
        inlineRegion(&op, inner.getBody().front(), join(path, inner.getName()), checkpoint);
        if (path.empty())
          invocation = 0;
      } else if (auto inner = dyn_cast<model::CheckpointOp>(op)) {
        inlineRegion(&op, inner.getBody().front(), path, join(checkpoint, std::to_string(checkpoints++)));
      } else if (!op.hasTrait<OpTrait::IsTerminator>()) {
        if (!op.hasAttr(model::blockName))
          op.setAttr(model::blockName, builder.getStringAttr(path));
        if (invocation > 0 && !op.hasAttr(model::invocationName))
          op.setAttr(model::invocationName, builder.getI64IntegerAttr(invocation));
        if (!checkpoint.empty() && !op.hasAttr(model::checkpointName))
          op.setAttr(model::checkpointName, builder.getStringAttr(checkpoint));
      }
    }
  }

  void inlineRegion(Operation *region, Block &body, const std::string &path, const std::string &checkpoint) {
    flatten(body, path, checkpoint);
    Operation *yield = body.getTerminator();
    region->replaceAllUsesWith(yield->getOperands());
    yield->erase();
    region->getBlock()->getOperations().splice(region->getIterator(), body.getOperations());
    region->erase();
  }
};

/// If blocks have several invocations, the ops between them belong to one as well: to the latest that they depend on,
/// or the earliest that depends on them.
void numberInvocations(func::FuncOp function) {
  llvm::DenseMap<Operation *, std::int64_t> invocations;
  llvm::SmallVector<Operation *> between;
  auto isNumbered = [](Operation *op) { return op && !model::blockOf(op).empty(); };
  auto set = [&](Operation *op, std::int64_t invocation) {
    invocations[op] = invocation;
    if (invocation > 0)
      op->setAttr(model::invocationName, Builder(op->getContext()).getI64IntegerAttr(invocation));
  };
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (isNumbered(&op)) {
      invocations[&op] = model::invocationOf(&op);
      continue;
    }
    std::int64_t latest = -1;
    for (Value operand : op.getOperands())
      if (auto found = invocations.find(operand.getDefiningOp()); found != invocations.end())
        latest = std::max(latest, found->second);
    if (latest >= 0)
      set(&op, latest);
    else
      between.push_back(&op);
  }
  for (Operation *op : llvm::reverse(between)) {
    std::int64_t earliest = -1;
    for (Operation *user : op->getUsers())
      if (auto found = invocations.find(user); found != invocations.end())
        earliest = earliest < 0 ? found->second : std::min(earliest, found->second);
    set(op, std::max<std::int64_t>(earliest, 0));
  }
}

struct FlattenBlocksPass : sluice::impl::FlattenBlocksBase<FlattenBlocksPass> {
  void runOnOperation() override {
    for (func::FuncOp function : entryFunctions(getOperation()))
      flattenBlocks(function);
  }
};

} // namespace

void sluice::flattenBlocks(func::FuncOp function) {
  Flattener flattener;
  flattener.flatten(function.getBody().front(), "", "");
  if (llvm::any_of(flattener.counts, [](const auto &block) { return block.second > 1; }))
    numberInvocations(function);
}
