//===- PartitionTensor.cpp - the model as one rank of the tensor axis computes it ---------===//
//
// Ahead of units and shards, which then see a smaller model: parameters are those of one tensor rank, and
// `spmd.tensor` on each that is split says of what it is a part.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/model/Model.h"
#include "dialect/spmd/Mesh.h"
#include "passes/sharding/tensor/ParameterPlan.h"
#include "passes/sharding/tensor/SplitModule.h"

namespace sluice {
#define GEN_PASS_DEF_PARTITIONTENSOR
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct PartitionTensor : sluice::impl::PartitionTensorBase<PartitionTensor> {
  using PartitionTensorBase::PartitionTensorBase;
  void runOnOperation() override;
};

} // namespace

void PartitionTensor::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<Recipe> found = recipeFor(module, meshTensor, splits, sequence);
  if (failed(found))
    return signalPassFailure();
  const Recipe &recipe = *found;
  std::int64_t ranks = recipe.mesh.tensor;
  bool isAsked = tensor::asksForSplits(recipe);
  auto unknown = UnknownLoc::get(&getContext());
  // Partitioned before.
  if (spmd::meshOf(module) || tensor::isSplitAlong(module, tensor::tensorAxis))
    return;
  if (ranks == 1) {
    if (recipe.sharding.sequence)
      emitRemark(unknown) << recipe.origin("sharding.sequence")
                          << ": 'sharding.sequence' has no effect where 'mesh.tensor' is 1";
    if (isAsked)
      emitRemark(unknown) << recipe.origin("sharding.tensor")
                          << ": 'sharding.tensor' has no effect where 'mesh.tensor' is 1";
    return;
  }
  if (!isAsked)
    emitRemark(unknown) << recipe.origin("mesh.tensor")
                        << ": 'mesh.tensor' splits nothing where 'sharding.tensor' names no parameter: its ranks all do "
                           "the same";
  Result<tensor::ParameterSplits> plan = tensor::planParameters(module, recipe, ranks);
  if (!plan.isOk()) {
    emitError(unknown) << plan.status().message();
    return signalPassFailure();
  }
  tensor::Wishes wishes;
  wishes.splits = *plan;
  wishes.axis = {tensor::tensorAxis, ranks};
  wishes.key = "sharding.tensor";
  wishes.origin = recipe.origin("sharding.tensor");
  wishes.bySequence = recipe.sharding.sequence;
  if (auto sequence = module->getAttrOfType<IntegerAttr>(model::sequenceName))
    wishes.sequence = sequence.getInt();
  tensor::Reasons reasons;
  for (func::FuncOp entry : tensor::entriesOf(module))
    if (failed(tensor::splitEntry(entry, wishes, reasons)))
      return signalPassFailure();
  if (wishes.bySequence && llvm::none_of(reasons.list, [](const auto &reason) {
        return StringRef(reason.first).starts_with("reduce_scatter");
      }))
    emitRemark(unknown) << recipe.origin("sharding.sequence")
                        << ": 'sharding.sequence' has no effect where no split completes values of a sequence";
  tensor::remark(reasons);
  tensor::splitParameters(module, *plan, tensor::tensorAxis);
}
