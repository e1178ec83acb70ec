//===- FuseLoss.cpp - plan-fuse-loss --------------------------------------------------===//
//
// Replaces a cross entropy and its gradient by one launch that reads the logits once.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/rules/KernelCall.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/schedule/BufferUses.h"

namespace sluice {
#define GEN_PASS_DEF_FUSELOSS
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::plan_ir;

namespace {

/// True for a launch of the kernel.
bool launches(LaunchOp launch, KernelId kernel) {
  return launch && launch.getKernel() == StringRef(kernelName(kernel));
}

ViewAttr viewOf(ArrayAttr views, unsigned index) { return cast<ViewAttr>(views[index]); }

struct FuseLoss : sluice::impl::FuseLossBase<FuseLoss> {
  using FuseLossBase::FuseLossBase;

  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), deviceKind);
    if (failed(recipe))
      return signalPassFailure();
    if (recipe->target.device != TargetDevice::cuda)
      return;
    for (auto entry : getOperation().getOps<EntryOp>()) {
      const BufferUses uses = usesOf(entry);
      SmallVector<std::pair<LaunchOp, LaunchOp>> pairs;
      forEachInstruction(entry, [&](Operation *op, int64_t position, SectionOp) {
        auto gradient = dyn_cast<LaunchOp>(op);
        if (!launches(gradient, KernelId::cross_entropy_grad))
          return;
        if (LaunchOp loss = lossBefore(gradient, position, uses))
          pairs.push_back({loss, gradient});
      });
      for (auto [loss, gradient] : pairs)
        fuse(loss, gradient);
    }
  }

  /// The launch of the loss of these logits and targets, if it can run at the gradient's position; null otherwise.
  static LaunchOp lossBefore(LaunchOp gradient, int64_t position, const BufferUses &uses) {
    const ArrayAttr inputs = gradient.getInputs();
    const ViewAttr logits = viewOf(inputs, 1), targets = viewOf(inputs, 2), lse = viewOf(inputs, 3);
    // The last write of the log-sum-exp before the gradient.
    LaunchOp loss;
    int64_t from = 0;
    for (const BufferUse &use : uses.lookup(lse.getBuffer().getAttr()))
      if (use.writes && use.position < position) {
        loss = dyn_cast<LaunchOp>(use.op);
        from = use.position;
      }
    if (!launches(loss, KernelId::cross_entropy) || loss->getBlock() != gradient->getBlock() ||
        whenOf(loss) != whenOf(gradient) || loss.getSettings() != gradient.getSettings() ||
        viewOf(loss.getInputs(), 0) != logits || viewOf(loss.getInputs(), 1) != targets ||
        viewOf(loss.getOutputs(), 1) != lse)
      return {};
    const auto isUnusedBetween = [&](ViewAttr view, bool allowsReads) {
      return llvm::none_of(uses.lookup(view.getBuffer().getAttr()), [&](const BufferUse &use) {
        return use.position > from && use.position < position && (use.writes || !allowsReads);
      });
    };
    const bool canMove = isUnusedBetween(logits, true) && isUnusedBetween(targets, true) &&
                         isUnusedBetween(lse, false) && isUnusedBetween(viewOf(loss.getOutputs(), 0), false);
    return canMove ? loss : LaunchOp();
  }

  /// In place of the gradient: the loss is not read before.
  static void fuse(LaunchOp loss, LaunchOp gradient) {
    Builder builder(gradient.getContext());
    const ArrayAttr of = gradient.getInputs();
    const Attribute inputs[] = {of[1], of[2], of[0]};
    const Attribute outputs[] = {loss.getOutputs()[0], loss.getOutputs()[1], gradient.getOutputs()[0]};
    const auto id = [](ArrayRef<int64_t> ids, unsigned index) { return index < ids.size() ? ids[index] : 0; };
    const int64_t inputValues[] = {id(gradient.getInputValues(), 1), id(gradient.getInputValues(), 2),
                                   id(gradient.getInputValues(), 0)};
    const int64_t outputValues[] = {id(loss.getOutputValues(), 0), id(loss.getOutputValues(), 1),
                                    id(gradient.getOutputValues(), 0)};
    std::uint64_t traffic = 0;
    for (ArrayRef<Attribute> views : {ArrayRef(inputs), ArrayRef(outputs)})
      for (Attribute view : views)
        traffic += static_cast<std::uint64_t>(cast<ViewAttr>(view).elements() *
                                              ViewAttr::elementBytes(cast<ViewAttr>(view).getElementType()));
    gradient->setLoc(builder.getFusedLoc({loss.getLoc(), gradient.getLoc()}));
    gradient.setKernel(kernelName(KernelId::cross_entropy_and_grad));
    gradient.setInputsAttr(builder.getArrayAttr(inputs));
    gradient.setOutputsAttr(builder.getArrayAttr(outputs));
    gradient.setInputValues(inputValues);
    gradient.setOutputValues(outputValues);
    gradient.setMayAlias({0, 2});
    gradient.setFlops(loss.getFlops() + gradient.getFlops());
    gradient.setTraffic(traffic);
    loss.erase();
  }
};

} // namespace
