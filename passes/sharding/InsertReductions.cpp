//===- InsertReductions.cpp - gradients and scalars of a step cross ranks ----------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/sharding/Scopes.h"
#include "passes/sharding/UnitReduction.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_INSERTREDUCTIONS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// By unit, its last release in the backward.
llvm::StringMap<spmd::ReleaseOp> backwardReleases(Block &body) {
  llvm::StringMap<spmd::ReleaseOp> last;
  for (auto release : body.getOps<spmd::ReleaseOp>())
    if (isBackward(release))
      last[spmd::unitOf(release)] = release;
  return last;
}

/// Each unit's gradients are reduced behind the release at the end of its backward.
void reduceSection(spmd::SectionOp section, const Placement &placement, bool forceSum) {
  Block &body = section.getBody().front();
  SectionScopes found = findScopes(section, placement);
  std::vector<SmallVector<UnitGradient>> ofUnit(found.units.size());
  llvm::StringMap<unsigned> order;
  for (model::ParameterOp parameter : placement.parameters())
    order.insert({parameter.getSymName(), order.size()});
  for (auto gradient : body.getOps<model::GradientOp>()) {
    auto type = cast<RankedTensorType>(gradient.getType());
    ofUnit[placement.unitOf(gradient.getParameter())].push_back(
        {gradient, gradient.getLocal(), placement.local(gradient.getParameter(), type)});
  }
  for (auto &gradients : ofUnit)
    llvm::stable_sort(gradients, [&](const UnitGradient &a, const UnitGradient &b) {
      return order[model::GradientOp(a.op).getParameter()] < order[model::GradientOp(b.op).getParameter()];
    });
  const llvm::StringMap<spmd::ReleaseOp> releases = backwardReleases(body);
  SmallVector<Operation *> done;
  for (const UnitEvent &event : placeUnitEvents(found.scopes, found.units)) {
    if (event.kind != UnitEvent::Kind::reduce)
      continue;
    spmd::UnitOp unit = placement.units()[event.unit];
    OpBuilder builder(found.at(event.position, body));
    if (auto release = releases.lookup(unit.getSymName()))
      builder.setInsertionPointAfter(release);
    reduceUnit(unit, section, placement, forceSum, ofUnit[event.unit], builder, done);
  }
  for (Operation *op : done)
    op->erase();
}

/// The mean over micro-batches and ranks of a scalar that the section before has made.
LogicalResult reduceStepMean(model::StepMeanOp mean, const Placement &placement) {
  OpBuilder builder(mean);
  Value value = mean.getLocal();
  if (auto section = value.getDefiningOp<spmd::SectionOp>(); section && section.getRepeat() > 1) {
    auto yield = cast<spmd::YieldOp>(section.getBody().front().getTerminator());
    OpOperand &yielded = yield->getOpOperand(cast<OpResult>(value).getResultNumber());
    yielded.set(addedUp(yielded.get(), section));
    auto scale = model::ScaleOp::create(builder, mean.getLoc(), value.getType(), value,
                                        builder.getF64FloatAttr(1.0 / static_cast<double>(section.getRepeat())));
    model::setPhase(scale, Phase::update);
    value = scale.getResult();
  }
  auto start = spmd::AllReduceStartOp::create(builder, mean.getLoc(), spmd::TokenType::get(builder.getContext()), value,
                                              placement.dataAxes(), ReductionKind::mean, APFloat(1.0), StringAttr());
  auto wait = spmd::WaitOp::create(builder, mean.getLoc(), value.getType(), start.getToken());
  model::setPhase(start, Phase::update);
  model::setPhase(wait, Phase::update);
  if (Attribute ids = mean->getAttr(model::idsName))
    wait->setAttr(model::idsName, ids);
  mean.getMean().replaceAllUsesWith(wait.getValues()[0]);
  mean.erase();
  return success();
}

struct InsertReductions : sluice::impl::InsertReductionsBase<InsertReductions> {
  using InsertReductionsBase::InsertReductionsBase;
  void runOnOperation() override {
    Placement placement(getOperation());
    FailureOr<Recipe> recipe = recipeFor(getOperation(), forceSum);
    if (failed(recipe))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto section : function.getOps<spmd::SectionOp>()) {
        Block &body = section.getBody().front();
        if (!body.getOps<model::GradientOp>().empty())
          reduceSection(section, placement, recipe->gradient.forceSum);
        for (auto mean : llvm::make_early_inc_range(body.getOps<model::StepMeanOp>()))
          if (failed(reduceStepMean(mean, placement)))
            return signalPassFailure();
      }
  }
};

} // namespace
