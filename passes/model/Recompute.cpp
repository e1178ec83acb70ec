//===- Recompute.cpp - model-recompute ----------------------------------------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"
#include "passes/model/RecomputeRules.h"
#include "passes/recipe/Keys.h"
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
  Regions(func::FuncOp function, const Recipe::Recompute &settings) : function(function), rules(settings) {}

  void run() {
    // Each invocation of a block is a group.
    llvm::MapVector<std::tuple<llvm::StringRef, unsigned, Attribute>, Group> groups;
    for (Operation &op : function.getBody().front().without_terminator()) {
      const bool isForward = model::isOfPhase(&op, Phase::forward);
      if (!isForward && !model::isOfPhase(&op, Phase::backward))
        continue;
      const RecomputeRules::Region region = rules.regionOf(&op);
      if (region.path.empty())
        continue;
      Group &group = groups[{region.path, region.isCheckpoint ? 1U : 0U, op.getAttr(model::invocationName)}];
      (isForward ? group.forward : group.backward).push_back(&op);
    }
    for (auto &[key, group] : groups)
      if (!group.forward.empty() && !group.backward.empty())
        make(std::get<unsigned>(key) != 0 ? model::blockOf(group.forward.front()) : std::get<llvm::StringRef>(key),
             group);
  }

private:
  func::FuncOp function;
  RecomputeRules rules;

  void make(llvm::StringRef name, const Group &group) {
    llvm::DenseSet<Operation *> backward(group.backward.begin(), group.backward.end());
    const auto isBackward = [&](Operation *user) { return backward.contains(user); };
    llvm::SmallVector<Value> wanted;
    llvm::DenseSet<Operation *> needed;
    // Reads of parameters are not saved: regions capture them and the backward reads them directly.
    for (Operation *op : llvm::reverse(group.forward))
      if (!isa<model::ReadOp>(op) && !rules.isKept(op) &&
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
    FailureOr<Recipe> recipe = recipeFor(getOperation(), policy, save);
    if (failed(recipe))
      return signalPassFailure();
    if (Status status = checkRecomputeNames(getOperation(), *recipe); !status.isOk()) {
      emitError(UnknownLoc::get(&getContext())) << status.message();
      return signalPassFailure();
    }
    if (recipe->recompute.policy.isEverywhere(RecomputePolicy::none))
      return;
    if (recipe->recompute.policy.isEverywhere(RecomputePolicy::budget)) {
      emitError(UnknownLoc::get(&getContext())) << recipe->refuseOpenChoice(keys::recomputePolicy).message();
      return signalPassFailure();
    }
    // A group's regions are created once: their ops are not backward ops of another group.
    for (func::FuncOp function : entryFunctions(getOperation(), EntryKind::train))
      if (function.getBody().front().getOps<model::RecomputeOp>().empty())
        Regions(function, recipe->recompute).run();
  }
};

} // namespace
