//===- ShardParameters.cpp - the recipe's shardings of parameters and inputs ----------------===//
//
// Sets `spmd.sharding` along one axis: of parameters as `sharding.tensor` or `sharding.expert` states, and along the
// axis expert also of inputs, by rows. Types stay global.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Utils.h"
#include "passes/sharding/tensor/ParameterPlan.h"
#include "passes/sharding/tensor/Rows.h"

namespace sluice {
#define GEN_PASS_DEF_SHARDPARAMETERS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::tensor;

namespace {

struct ShardParameters : sluice::impl::ShardParametersBase<ShardParameters> {
  using ShardParametersBase::ShardParametersBase;
  void runOnOperation() override;

private:
  /// Remarks on keys without effect; false where the axis has one rank.
  bool hasRanks(const Recipe &recipe, std::int64_t ranks, bool shardsParameters);
  LogicalResult shardInputs(const Recipe &recipe, std::int64_t ranks);
};

/// The rows of a micro-batch, from the entry's inputs; 0 without such inputs.
std::int64_t rowsOf(func::FuncOp entry) {
  auto inputs = inputsOfRows(entry);
  return inputs.empty() ? 0 : cast<RankedTensorType>(inputs.front().getType()).getDimSize(0);
}

} // namespace

bool ShardParameters::hasRanks(const Recipe &recipe, std::int64_t ranks, bool shardsParameters) {
  auto unknown = UnknownLoc::get(&getContext());
  std::string key = "sharding." + axis.getValue(), size = "mesh." + axis.getValue();
  if (ranks == 1) {
    if (axis == tensorAxis && recipe.sharding.sequence)
      emitRemark(unknown) << recipe.origin("sharding.sequence")
                          << ": 'sharding.sequence' has no effect where 'mesh.tensor' is 1";
    if (shardsParameters)
      emitRemark(unknown) << recipe.origin(key) << ": '" << key << "' has no effect where '" << size << "' is 1";
    return false;
  }
  if (!shardsParameters && axis == tensorAxis)
    emitRemark(unknown)
        << recipe.origin(size)
        << ": 'mesh.tensor' shards nothing where 'sharding.tensor' names no parameter: its ranks all compute the same";
  if (!shardsParameters && axis == expertAxis)
    emitRemark(unknown) << recipe.origin(size)
                        << ": 'mesh.expert' shards only rows where 'sharding.expert' names no parameter";
  return true;
}

LogicalResult ShardParameters::shardInputs(const Recipe &recipe, std::int64_t ranks) {
  for (func::FuncOp entry : entriesOf(getOperation())) {
    std::int64_t rows = rowsOf(entry);
    if (rows != 0 && rows % ranks == 0) {
      auto sharding = AxisSharding::sharded(/*dim=*/0, /*segments=*/1, rows / ranks, /*priority=*/1);
      for (BlockArgument input : inputsOfRows(entry))
        entry.setArgAttr(input.getArgNumber(), spmd::shardingName,
                         withAxis(nullptr, sharding, axis, cast<RankedTensorType>(input.getType())));
      continue;
    }
    if (model::entryOf(entry) == EntryKind::train)
      return emitError(UnknownLoc::get(&getContext()))
             << recipe.origin("mesh.expert")
             << ": value of 'mesh.expert', expected a divisor of the rows of entry point '" << entry.getSymName()
             << "' (" << rows << ") but got " << ranks;
    emitRemark(entry.getLoc()) << recipe.origin("mesh.expert") << ": entry point '" << entry.getSymName() << "' has "
                               << rows << " rows, which the " << ranks
                               << " ranks of 'expert' do not divide: every rank computes all rows";
  }
  return success();
}

void ShardParameters::runOnOperation() {
  ModuleOp module = getOperation();
  if (axis != tensorAxis && axis != expertAxis) {
    emitError(module.getLoc()) << "option 'axis', expected tensor or expert but got " << axis;
    return signalPassFailure();
  }
  // A second run changes nothing.
  if (spmd::meshOf(module) || isLocal(module, axis) || isToPartition(module, axis))
    return;
  FailureOr<Recipe> found = recipeFor(module, meshTensor, meshExpert, tensorPlan, sequence, experts);
  if (failed(found))
    return signalPassFailure();
  const Recipe &recipe = *found;
  bool isExpert = axis == expertAxis;
  std::int64_t ranks = isExpert ? recipe.mesh.expert : recipe.mesh.tensor;
  if (!hasRanks(recipe, ranks, isExpert ? !recipe.sharding.expert.empty() : shardsParameters(recipe)))
    return;
  Result<ParameterShardings> shardings =
      isExpert ? planExperts(module, recipe, ranks) : planParameters(module, recipe, ranks);
  if (!shardings.isOk()) {
    emitError(UnknownLoc::get(&getContext())) << shardings.status().message();
    return signalPassFailure();
  }
  for (auto parameter : module.getOps<model::ParameterOp>())
    if (auto planned = shardings->find(parameter.getSymName()); planned != shardings->end())
      parameter->setAttr(spmd::shardingName, withAxis(parameterSharding(parameter), planned->second, axis,
                                                      cast<RankedTensorType>(parameter.getType())));
  if (isExpert && failed(shardInputs(recipe, ranks)))
    signalPassFailure();
}
