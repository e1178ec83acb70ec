//===- FuseColumnSums.cpp - plan-fuse-column-sums -------------------------------------===//
//
// Replaces the gradient of a layer norm and the sum of its dx over rows by one launch.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/rules/KernelCall.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/schedule/BufferUses.h"

#include "llvm/ADT/MapVector.h"

namespace sluice {
#define GEN_PASS_DEF_FUSECOLUMNSUMS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::plan_ir;

namespace {

/// The combination of a kernel and the sum of its first result over rows; null if the launch is no such sum.
const KernelRecord *combinationWith(LaunchOp sum) {
  for (const KernelRecord &record : catalogue())
    if (record.parts.size() == 2 && !record.parts.begin()[1].names.empty() &&
        sum.getKernel() == StringRef(kernelName(record.parts.begin()[1].kernel)))
      return &record;
  return nullptr;
}

/// True for a sum over all dims but the last, without division.
bool isSumOverRows(LaunchOp launch) {
  const auto dims = launch.getSettings().getAs<DenseI64ArrayAttr>("dims");
  const auto mean = launch.getSettings().getAs<IntegerAttr>("mean");
  const size_t rank = cast<ViewAttr>(launch.getInputs()[0]).getShape().size();
  return dims && rank > 1 && llvm::equal(dims.asArrayRef(), llvm::seq<int64_t>(0, rank - 1)) &&
         cast<ViewAttr>(launch.getOutputs()[0]).getShape().size() == 1 && (!mean || mean.getValue().isZero());
}

/// The gradient of a layer norm whose dx the sum reads; null if they cannot be one launch at the gradient's position.
LaunchOp gradientOf(LaunchOp sum, const KernelRecord &both, int64_t position, const BufferUses &uses) {
  const auto dx = cast<ViewAttr>(sum.getInputs()[0]), result = cast<ViewAttr>(sum.getOutputs()[0]);
  LaunchOp gradient;
  int64_t from = 0;
  for (const BufferUse &use : uses.lookup(dx.getBuffer().getAttr()))
    if (use.writes && use.position < position) {
      gradient = dyn_cast<LaunchOp>(use.op);
      from = use.position;
    }
  const bool canMove = gradient && gradient.getKernel() == StringRef(kernelName(both.parts.begin()->kernel)) &&
                       cast<ViewAttr>(gradient.getOutputs()[0]) == dx && gradient->getBlock() == sum->getBlock() &&
                       whenOf(gradient) == whenOf(sum) && streamOf(gradient) == streamOf(sum) &&
                       windowIsFree(uses.lookup(result.getBuffer().getAttr()), result, result, from, position);
  return canMove ? gradient : LaunchOp();
}

void fuse(LaunchOp gradient, LaunchOp sum) {
  const KernelRecord *both = combinationWith(sum);
  Builder builder(gradient.getContext());
  SmallVector<Attribute> outputs(gradient.getOutputs().begin(), gradient.getOutputs().end());
  SmallVector<int64_t> values(gradient.getOutputValues());
  values.resize(outputs.size());
  outputs.push_back(sum.getOutputs()[0]);
  values.push_back(sum.getOutputValues().empty() ? 0 : sum.getOutputValues()[0]);
  const auto result = cast<ViewAttr>(sum.getOutputs()[0]);
  gradient->setLoc(builder.getFusedLoc({gradient.getLoc(), sum.getLoc()}));
  gradient.setKernel(both->name);
  gradient.setOutputsAttr(builder.getArrayAttr(outputs));
  gradient.setOutputValues(values);
  gradient.setFlops(gradient.getFlops() + sum.getFlops());
  gradient.setTraffic(gradient.getTraffic() +
                      static_cast<std::uint64_t>(result.elements() * ViewAttr::elementBytes(result.getElementType())));
  sum.erase();
}

struct FuseColumnSums : sluice::impl::FuseColumnSumsBase<FuseColumnSums> {
  using FuseColumnSumsBase::FuseColumnSumsBase;

  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), deviceKind);
    if (failed(recipe))
      return signalPassFailure();
    if (recipe->target.device != TargetDevice::cuda)
      return;
    for (auto entry : getOperation().getOps<EntryOp>()) {
      const BufferUses uses = usesOf(entry);
      llvm::MapVector<LaunchOp, LaunchOp> sums;
      forEachInstruction(entry, [&](Operation *op, int64_t position, SectionOp) {
        auto sum = dyn_cast<LaunchOp>(op);
        const KernelRecord *both = sum ? combinationWith(sum) : nullptr;
        if (!both || !isSumOverRows(sum))
          return;
        if (LaunchOp gradient = gradientOf(sum, *both, position, uses))
          sums.insert({gradient, sum});
      });
      for (auto [gradient, sum] : sums)
        fuse(gradient, sum);
    }
  }
};

} // namespace
