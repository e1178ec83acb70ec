//===- FuseLoss.cpp - plan-fuse-loss --------------------------------------------------===//
//
// Replaces a cross entropy and its gradient by one launch that reads the logits once, or computes each chunk of them
// once.
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

ViewAttr viewOf(ArrayAttr views, unsigned index) { return cast<ViewAttr>(views[index]); }

/// The combination of a loss and its gradient: the last output of the first part is the last input of the second one.
bool isLossAndGradient(const KernelRecord &record) {
  return record.parts.size() == 2 && record.parts.begin()[1].names.empty();
}
/// It computes the logits of a chunk once, where its parts compute them twice.
bool isChunked(const KernelRecord &record) { return record.work == KernelWork::chunkedProduct; }

/// True for a launch of the part.
bool launches(LaunchOp launch, const PartRecord &part) {
  return launch && launch.getKernel() == StringRef(kernelName(part.kernel));
}

/// A loss, its gradient, and the launch between them that writes the factor of the gradient, or null.
struct LossAndGradient {
  const KernelRecord *both;
  LaunchOp loss, factor, gradient;
};

struct FuseLoss : sluice::impl::FuseLossBase<FuseLoss> {
  using FuseLossBase::FuseLossBase;

  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), deviceKind);
    if (failed(recipe))
      return signalPassFailure();
    // A CPU gains nothing from logits in memory that are read once.
    const bool readsLogits = recipe->target.device == TargetDevice::cuda;
    for (auto entry : getOperation().getOps<EntryOp>()) {
      const BufferUses uses = usesOf(entry);
      SmallVector<LossAndGradient> pairs;
      forEachInstruction(entry, [&](Operation *op, int64_t position, SectionOp) {
        auto gradient = dyn_cast<LaunchOp>(op);
        for (const KernelRecord &both : catalogue())
          if (isLossAndGradient(both) && launches(gradient, both.parts.begin()[1]) && (readsLogits || isChunked(both)))
            if (std::optional<LossAndGradient> pair = pairOf(both, gradient, position, uses))
              pairs.push_back(*pair);
      });
      for (const LossAndGradient &pair : pairs)
        fuse(pair);
    }
  }

  /// With the loss of the gradient's operands, if the gradient can run at its position. The inputs of a gradient are
  /// its factor, those of the loss, and the log-sum-exp.
  static std::optional<LossAndGradient> pairOf(const KernelRecord &both, LaunchOp gradient, int64_t position,
                                               const BufferUses &uses) {
    const ArrayAttr inputs = gradient.getInputs();
    const ArrayRef<Attribute> operands = inputs.getValue().drop_front().drop_back();
    const ViewAttr lse = viewOf(inputs, inputs.size() - 1);
    // The last write of the log-sum-exp before the gradient.
    LossAndGradient pair{&both, {}, {}, gradient};
    int64_t from = 0;
    for (const BufferUse &use : uses.lookup(lse.getBuffer().getAttr()))
      if (use.writes && use.position < position) {
        pair.loss = dyn_cast<LaunchOp>(use.op);
        from = use.position;
      }
    LaunchOp loss = pair.loss;
    if (!launches(loss, *both.parts.begin()) || loss->getBlock() != gradient->getBlock() ||
        whenOf(loss) != whenOf(gradient) || loss.getSettings() != gradient.getSettings() ||
        loss.getInputs().getValue() != operands || viewOf(loss.getOutputs(), 1) != lse)
      return std::nullopt;
    const auto usesBetween = [&](ViewAttr view) {
      SmallVector<BufferUse> between;
      for (const BufferUse &use : uses.lookup(view.getBuffer().getAttr()))
        if (use.position > from && use.position < position)
          between.push_back(use);
      return between;
    };
    for (Attribute read : operands)
      if (llvm::any_of(usesBetween(cast<ViewAttr>(read)), [](const BufferUse &use) { return use.writes; }))
        return std::nullopt;
    for (Attribute written : gradient.getOutputs())
      if (!usesBetween(cast<ViewAttr>(written)).empty())
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
    SmallVector<Attribute> inputs(loss.getInputs().getValue()), outputs(loss.getOutputs().getValue());
    inputs.push_back(gradient.getInputs()[0]);
    llvm::append_range(outputs, gradient.getOutputs());
    const auto id = [](ArrayRef<int64_t> ids, size_t index) { return index < ids.size() ? ids[index] : 0; };
    SmallVector<int64_t> inputValues, outputValues;
    for (size_t k = 1; k < inputs.size(); ++k)
      inputValues.push_back(id(gradient.getInputValues(), k));
    inputValues.push_back(id(gradient.getInputValues(), 0));
    for (size_t k = 0; k < outputs.size(); ++k)
      outputValues.push_back(k < 2 ? id(loss.getOutputValues(), k) : id(gradient.getOutputValues(), k - 2));
    // Inputs of the gradient come one place earlier, its outputs after those of the loss.
    SmallVector<int64_t> mayAlias(gradient.getMayAlias());
    for (size_t k = 0; k < mayAlias.size(); k += 2) {
      --mayAlias[k];
      mayAlias[k + 1] += 2;
    }
    std::uint64_t traffic = 0;
    for (ArrayRef<Attribute> views : {ArrayRef<Attribute>(inputs), ArrayRef<Attribute>(outputs)})
      for (Attribute view : views)
        traffic += static_cast<std::uint64_t>(cast<ViewAttr>(view).elements() *
                                              ViewAttr::elementBytes(cast<ViewAttr>(view).getElementType()));
    if (factor)
      factor->moveBefore(loss);
    loss->setLoc(builder.getFusedLoc({loss.getLoc(), gradient.getLoc()}));
    loss.setKernel(pair.both->name);
    loss.setInputsAttr(builder.getArrayAttr(inputs));
    loss.setOutputsAttr(builder.getArrayAttr(outputs));
    loss.setInputValues(inputValues);
    loss.setOutputValues(outputValues);
    loss.setMayAlias(mayAlias);
    // Both compute the logits of a chunk.
    const std::uint64_t logits =
        isChunked(*pair.both)
            ? 2 * std::uint64_t(viewOf(loss.getInputs(), 0).elements() * viewOf(loss.getInputs(), 1).getShape()[0])
            : 0;
    loss.setFlops(loss.getFlops() + gradient.getFlops() - std::min(loss.getFlops(), logits));
    loss.setTraffic(traffic);
    gradient.erase();
  }
};

} // namespace
