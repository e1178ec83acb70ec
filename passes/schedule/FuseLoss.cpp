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

/// A loss, its gradient, and the launch between them that writes the factor of the gradient, or null.
struct LossAndGradient {
  LaunchOp loss, factor, gradient;
};

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
      SmallVector<LossAndGradient> pairs;
      forEachInstruction(entry, [&](Operation *op, int64_t position, SectionOp) {
        auto gradient = dyn_cast<LaunchOp>(op);
        if (!launches(gradient, KernelId::cross_entropy_grad))
          return;
        if (std::optional<LossAndGradient> pair = pairOf(gradient, position, uses))
          pairs.push_back(*pair);
      });
      for (const LossAndGradient &pair : pairs)
        fuse(pair);
    }
  }

  /// With the loss of the gradient's logits and targets, if the gradient can run at its position.
  static std::optional<LossAndGradient> pairOf(LaunchOp gradient, int64_t position, const BufferUses &uses) {
    const ArrayAttr inputs = gradient.getInputs();
    const ViewAttr logits = viewOf(inputs, 1), targets = viewOf(inputs, 2), lse = viewOf(inputs, 3);
    // The last write of the log-sum-exp before the gradient.
    LossAndGradient pair{{}, {}, gradient};
    int64_t from = 0;
    for (const BufferUse &use : uses.lookup(lse.getBuffer().getAttr()))
      if (use.writes && use.position < position) {
        pair.loss = dyn_cast<LaunchOp>(use.op);
        from = use.position;
      }
    LaunchOp loss = pair.loss;
    if (!launches(loss, KernelId::cross_entropy) || loss->getBlock() != gradient->getBlock() ||
        whenOf(loss) != whenOf(gradient) || loss.getSettings() != gradient.getSettings() ||
        viewOf(loss.getInputs(), 0) != logits || viewOf(loss.getInputs(), 1) != targets ||
        viewOf(loss.getOutputs(), 1) != lse)
      return std::nullopt;
    const auto usesBetween = [&](ViewAttr view) {
      SmallVector<BufferUse> between;
      for (const BufferUse &use : uses.lookup(view.getBuffer().getAttr()))
        if (use.position > from && use.position < position)
          between.push_back(use);
      return between;
    };
    for (ViewAttr read : {logits, targets})
      if (llvm::any_of(usesBetween(read), [](const BufferUse &use) { return use.writes; }))
        return std::nullopt;
    if (!usesBetween(viewOf(gradient.getOutputs(), 0)).empty())
      return std::nullopt;
    // A factor that needs no operand can be written before the loss.
    const SmallVector<BufferUse> ofFactor = usesBetween(viewOf(inputs, 0));
    if (ofFactor.empty())
      return pair;
    pair.factor = dyn_cast<LaunchOp>(ofFactor.front().op);
    const bool canMove = ofFactor.size() == 1 && pair.factor && pair.factor.getInputs().empty() &&
                         pair.factor->getBlock() == loss->getBlock();
    return canMove ? std::optional(pair) : std::nullopt;
  }

  static void fuse(const LossAndGradient &pair) {
    LaunchOp loss = pair.loss, gradient = pair.gradient, factor = pair.factor;
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
    if (factor)
      factor->moveBefore(loss);
    loss->setLoc(builder.getFusedLoc({loss.getLoc(), gradient.getLoc()}));
    loss.setKernel(kernelName(KernelId::cross_entropy_and_grad));
    loss.setInputsAttr(builder.getArrayAttr(inputs));
    loss.setOutputsAttr(builder.getArrayAttr(outputs));
    loss.setInputValues(inputValues);
    loss.setOutputValues(outputValues);
    loss.setMayAlias({0, 2});
    loss.setFlops(loss.getFlops() + gradient.getFlops());
    loss.setTraffic(traffic);
    gradient.erase();
  }
};

} // namespace
