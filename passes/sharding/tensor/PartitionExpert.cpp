//===- PartitionExpert.cpp - the model as one rank of the axis expert computes it ---------===//
//
// Ahead of the axis tensor: experts are split by number, and what is of rows of data by rows. Where rows meet experts
// is told by the ops' sharding rules alone, as for every other split.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/tensor/ParameterPlan.h"
#include "passes/sharding/tensor/Rows.h"
#include "passes/sharding/tensor/SplitModule.h"

namespace sluice {
#define GEN_PASS_DEF_PARTITIONEXPERT
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Rows of a micro-batch, as the entry's inputs have them; 0 without such inputs.
std::int64_t rowsOf(func::FuncOp entry) {
  auto inputs = tensor::inputsOfRows(entry);
  return inputs.empty() ? 0 : cast<RankedTensorType>(inputs.front().getType()).getDimSize(0);
}

struct PartitionExpert : sluice::impl::PartitionExpertBase<PartitionExpert> {
  using PartitionExpertBase::PartitionExpertBase;
  void runOnOperation() override;
};

} // namespace

void PartitionExpert::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<Recipe> found = recipeFor(module, meshExpert, experts);
  if (failed(found))
    return signalPassFailure();
  const Recipe &recipe = *found;
  std::int64_t ranks = recipe.mesh.expert;
  auto unknown = UnknownLoc::get(&getContext());
  auto entries = tensor::entriesOf(module);
  // Partitioned before.
  if (spmd::meshOf(module) || tensor::isSplitAlong(module, tensor::expertAxis) ||
      llvm::any_of(entries, [](func::FuncOp entry) { return entry->hasAttr(spmd::rowsName); }))
    return;
  bool isAsked = !recipe.sharding.expert.empty();
  if (ranks == 1) {
    if (isAsked)
      emitRemark(unknown) << recipe.origin("sharding.expert")
                          << ": 'sharding.expert' has no effect where 'mesh.expert' is 1";
    return;
  }
  if (!isAsked)
    emitRemark(unknown) << recipe.origin("mesh.expert")
                        << ": 'mesh.expert' splits rows alone where 'sharding.expert' names no parameter";
  Result<tensor::ParameterSplits> splits = tensor::planExperts(module, recipe, ranks);
  if (!splits.isOk()) {
    emitError(unknown) << splits.status().message();
    return signalPassFailure();
  }
  tensor::Wishes wishes;
  wishes.splits = *splits;
  wishes.axis = {tensor::expertAxis, ranks};
  wishes.key = "sharding.expert";
  wishes.origin = recipe.origin(isAsked ? "sharding.expert" : "mesh.expert");
  tensor::Reasons reasons;
  for (func::FuncOp entry : entries) {
    wishes.byRows = rowsOf(entry) != 0 && rowsOf(entry) % ranks == 0;
    if (wishes.byRows) {
      entry->setAttr(spmd::rowsName, StringAttr::get(&getContext(), tensor::expertAxis));
    } else if (model::entryOf(entry) == EntryKind::train) {
      emitError(unknown) << recipe.origin("mesh.expert") << ": value of 'mesh.expert', expected a divisor of the rows of entry point '"
                         << entry.getSymName() << "' (" << rowsOf(entry) << ") but got " << ranks;
      return signalPassFailure();
    } else {
      emitRemark(entry.getLoc()) << recipe.origin("mesh.expert") << ": entry point '" << entry.getSymName() << "' has "
                                 << rowsOf(entry) << " rows, which the " << ranks
                                 << " ranks of 'expert' do not divide: each of them computes them all";
    }
    if (failed(tensor::splitEntry(entry, wishes, reasons)))
      return signalPassFailure();
  }
  tensor::remark(reasons);
  tensor::splitParameters(module, *splits, tensor::expertAxis);
}
