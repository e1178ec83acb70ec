//===- ReturnRankLosses.cpp - the loss of each rank becomes an output ------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/rules/Roles.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Reshards.h"

namespace sluice {
#define GEN_PASS_DEF_RETURNRANKLOSSES
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct ReturnRankLosses : sluice::impl::ReturnRankLossesBase<ReturnRankLosses> {
  using ReturnRankLossesBase::ReturnRankLossesBase;

  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), perRank);
    if (failed(recipe))
      return signalPassFailure();
    if (recipe->loss.perRank)
      for (auto function : getOperation().getOps<func::FuncOp>())
        returnRankLoss(function);
  }

  /// The loss is the mean over the ranks of the value that is returned here.
  static void returnRankLoss(func::FuncOp function) {
    // A second run changes nothing.
    std::optional<unsigned> loss = resultOf(function, PortRole::loss);
    if (!loss || resultOf(function, PortRole::rank_loss))
      return;
    Operation *terminator = function.front().getTerminator();
    auto result = dyn_cast<OpResult>(terminator->getOperand(*loss));
    auto section = result ? dyn_cast<spmd::SectionOp>(result.getOwner()) : spmd::SectionOp();
    if (!section)
      return;
    SmallVector<Value> values(section.getYield().getValues());
    auto mean = values[result.getResultNumber()].getDefiningOp<spmd::ReshardOp>();
    if (!mean || !isReduction(mean))
      return;
    values.push_back(mean.getOperands().front());
    Value rankLoss = section.replaceYields(values).getResults().back();
    terminator->insertOperands(terminator->getNumOperands(), rankLoss);
    Builder builder(function.getContext());
    const NamedAttribute name(spmd::outputName, builder.getStringAttr(nameOf(PortRole::rank_loss)));
    (void)function.insertResult(function.getNumResults(), rankLoss.getType(), builder.getDictionaryAttr(name));
  }

  static std::optional<unsigned> resultOf(func::FuncOp function, PortRole role) {
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (auto found = function.getResultAttrOfType<StringAttr>(index, spmd::outputName);
          found && impliedPortRole(PortDirection::output, found) == role)
        return index;
    return std::nullopt;
  }
};

} // namespace
