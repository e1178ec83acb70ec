//===- Recompute.cpp - model-recompute ----------------------------------------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"
#include "passes/recipe/RecipeAttr.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace sluice {
#define GEN_PASS_DEF_RECOMPUTE
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Forward and backward ops that belong together, in program order.
struct Group {
  llvm::SmallVector<Operation *> forward, backward;
};

class Regions {
public:
  Regions(func::FuncOp function, RecomputePolicy policy) : function(function), policy(policy) {}

  void run() {
    // Each invocation of a block is a group.
    llvm::MapVector<std::pair<StringAttr, Attribute>, Group> groups;
    Builder builder(function.getContext());
    for (Operation &op : function.getBody().front().without_terminator()) {
      llvm::StringRef key = keyOf(&op);
      if (key.empty())
        continue;
      if (model::isOfPhase(&op, Phase::forward))
        groups[{builder.getStringAttr(key), op.getAttr(model::invocationName)}].forward.push_back(&op);
      else if (model::isOfPhase(&op, Phase::backward))
        groups[{builder.getStringAttr(key), op.getAttr(model::invocationName)}].backward.push_back(&op);
    }
    for (auto &[key, group] : groups)
      if (!group.backward.empty())
        make(key.first.getValue(), group);
  }

private:
  func::FuncOp function;
  RecomputePolicy policy;

  llvm::StringRef keyOf(Operation *op) const {
    return model::outermostBlock(
        textAttribute(op, policy == RecomputePolicy::block ? model::blockName : model::checkpointName));
  }

  void make(llvm::StringRef key, const Group &group) {
    llvm::DenseSet<Operation *> backward(group.backward.begin(), group.backward.end());
    const auto isBackward = [&](Operation *user) { return backward.contains(user); };
    llvm::SmallVector<Value> wanted;
    llvm::DenseSet<Operation *> needed;
    // Reads of parameters are not saved: regions capture them and the backward reads them directly.
    for (Operation *op : llvm::reverse(group.forward))
      if (!isa<model::ReadOp>(op) &&
          llvm::any_of(op->getUsers(), [&](Operation *user) { return isBackward(user) || needed.contains(user); }))
        needed.insert(op);
    for (Operation *op : group.forward)
      if (needed.contains(op))
        for (Value result : op->getResults())
          if (llvm::any_of(result.getUsers(), isBackward))
            wanted.push_back(result);
    if (wanted.empty())
      return;

    Operation *first = group.backward.front();
    OpBuilder builder(first);
    llvm::StringRef name = policy == RecomputePolicy::block ? key : model::blockOf(group.forward.front());
    auto region = model::RecomputeOp::create(builder, first->getLoc(), ValueRange(wanted).getTypes(),
                                             builder.getStringAttr(name));
    region->setAttr(model::blockName, builder.getStringAttr(name));
    model::setPhase(region, Phase::backward);
    region.getBody().getBlocks().clear();
    builder.createBlock(&region.getBody());
    IRMapping mapping;
    for (Operation *op : group.forward)
      if (needed.contains(op))
        model::setPhase(builder.clone(*op, mapping), Phase::backward);
    model::YieldOp::create(builder, first->getLoc(),
                           llvm::map_to_vector(wanted, [&](Value value) { return mapping.lookup(value); }));
    for (auto [value, again] : llvm::zip(wanted, region.getResults())) {
      Value replaced = value;
      replaced.replaceUsesWithIf(again, [&](OpOperand &use) { return isBackward(use.getOwner()); });
    }
  }
};

struct RecomputePass : sluice::impl::RecomputeBase<RecomputePass> {
  using RecomputeBase::RecomputeBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), policy);
    if (failed(recipe))
      return signalPassFailure();
    if (recipe->recompute.policy == RecomputePolicy::none)
      return;
    // A group's regions are created once: their ops are not backward ops of another group.
    for (func::FuncOp function : entryFunctions(getOperation(), EntryKind::train))
      if (function.getBody().front().getOps<model::RecomputeOp>().empty())
        Regions(function, recipe->recompute.policy).run();
  }
};

} // namespace
