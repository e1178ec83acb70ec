//===- FlattenBlocks.cpp - blocks become paths on their ops -----------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"

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
  unsigned inlined = 0;
  unsigned checkpoints = 0;

  /// Ops of `block` stand in the module `path` and the checkpoint region `checkpoint`.
  void flatten(Block &block, const std::string &path, const std::string &checkpoint) {
    Builder builder(block.getParentOp()->getContext());
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto inner = dyn_cast<model::BlockOp>(op)) {
        dissolve(&op, inner.getBody().front(), join(path, inner.getName()), checkpoint);
      } else if (auto inner = dyn_cast<model::CheckpointOp>(op)) {
        dissolve(&op, inner.getBody().front(), path, join(checkpoint, std::to_string(checkpoints++)));
      } else if (!op.hasTrait<OpTrait::IsTerminator>()) {
        if (!op.hasAttr(names::block))
          op.setAttr(names::block, builder.getStringAttr(path));
        if (!checkpoint.empty() && !op.hasAttr(names::checkpoint))
          op.setAttr(names::checkpoint, builder.getStringAttr(checkpoint));
      }
    }
  }

  void dissolve(Operation *region, Block &body, const std::string &path, const std::string &checkpoint) {
    flatten(body, path, checkpoint);
    Operation *yield = body.getTerminator();
    region->replaceAllUsesWith(yield->getOperands());
    yield->erase();
    region->getBlock()->getOperations().splice(region->getIterator(), body.getOperations());
    region->erase();
    ++inlined;
  }
};

struct FlattenBlocksPass : sluice::impl::FlattenBlocksBase<FlattenBlocksPass> {
  void runOnOperation() override {
    for (func::FuncOp function : entryFunctions(getOperation()))
      inlined += flattenBlocks(function);
  }
};

} // namespace

unsigned sluice::flattenBlocks(func::FuncOp function) {
  Flattener flattener;
  flattener.flatten(function.getBody().front(), "", "");
  return flattener.inlined;
}
