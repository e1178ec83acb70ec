//===- PartitionTensor.cpp - the model as one rank of the tensor axis computes it ---------===//
//
// Ahead of units and shards, which then see a smaller model: parameters are those of one tensor rank, and
// `spmd.tensor` on each that is split says of what it is a part.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Model.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Inline.h"
#include "passes/sharding/tensor/ParameterPlan.h"

namespace sluice {
#define GEN_PASS_DEF_PARTITIONTENSOR
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct PartitionTensor : sluice::impl::PartitionTensorBase<PartitionTensor> {
  void runOnOperation() override;
  void splitParameters(const tensor::ParameterSplits &splits);
};

} // namespace

void PartitionTensor::splitParameters(const tensor::ParameterSplits &splits) {
  Builder builder(&getContext());
  for (auto parameter : getOperation().getOps<model::ParameterOp>()) {
    auto found = splits.find(parameter.getSymName());
    if (found == splits.end())
      continue;
    const tensor::Layout &layout = found->second;
    RankedTensorType whole = cast<RankedTensorType>(parameter.getType());
    parameter->setAttr(tensor::splitName,
                       builder.getDictionaryAttr({builder.getNamedAttr("dim", builder.getI64IntegerAttr(layout.dim)),
                                                  builder.getNamedAttr("segments", builder.getI64IntegerAttr(layout.segments)),
                                                  builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr(whole.getShape()))}));
    parameter.setTypeAttr(TypeAttr::get(tensor::localType(whole, layout)));
  }
}

void PartitionTensor::runOnOperation() {
  ModuleOp module = getOperation();
  RecipeView recipe(module);
  std::int64_t ranks = recipe.integer("mesh.tensor");
  bool isAsked = tensor::asksForSplits(recipe);
  auto unknown = UnknownLoc::get(&getContext());
  // Partitioned before.
  if (spmd::meshOf(module) || llvm::any_of(module.getOps<model::ParameterOp>(), [](model::ParameterOp parameter) {
        return parameter->hasAttr(tensor::splitName);
      }))
    return;
  if (ranks == 1) {
    if (recipe.boolean("sharding.sequence"))
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
  Result<tensor::ParameterSplits> splits = tensor::planParameters(module, recipe, ranks);
  if (!splits.isOk()) {
    emitError(unknown) << splits.status().message();
    return signalPassFailure();
  }
  tensor::Wishes wishes{*splits, ranks, recipe.origin("sharding.tensor"), recipe.boolean("sharding.sequence"), 0};
  if (auto sequence = module->getAttrOfType<IntegerAttr>("model.sequence"))
    wishes.sequence = sequence.getInt();
  tensor::Reasons reasons;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(spmd::entryName) || function.isExternal())
      continue;
    inlineRecompute(function.front());
    if (failed(tensor::propagate(function, wishes, reasons)))
      return signalPassFailure();
  }
  if (wishes.bySequence && llvm::none_of(reasons.list, [](const auto &reason) {
        return StringRef(reason.first).starts_with("reduce_scatter");
      }))
    emitRemark(unknown) << recipe.origin("sharding.sequence")
                        << ": 'sharding.sequence' has no effect where no split completes values of a sequence";
  for (const auto &[text, reason] : reasons.list)
    emitRemark(reason.where) << text << " (" << reason.times << (reason.times == 1 ? " time)" : " times)");
  splitParameters(*splits);
}
