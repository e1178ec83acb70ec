//===- InsertDataReshards.cpp - reads and reductions along the data axes as reshards ------------===//
//
// Ops of the forward and backward work on one rank's rows of data and require replicated parameters, so each read
// becomes a reshard of the parameter's argument. Gradients and means are partial over the data axes, since each rank
// has other rows: a gradient becomes a reshard to the sharding of its parameter, the mean of a scalar one to
// replicated.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Reshards.h"
#include "passes/sharding/Utils.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_INSERTDATARESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Replaces the reads, gradients and means in the sections of one function.
class ReshardInserter {
public:
  ReshardInserter(func::FuncOp function, const Placement &placement) : function(function), placement(placement) {
    for (BlockArgument argument : function.getArguments()) {
      auto parameter = function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(), spmd::parameterName);
      if (parameter && !function.getArgAttr(argument.getArgNumber(), spmd::stateName))
        argumentOf[parameter.getValue()] = argument;
    }
  }

  void run() {
    for (auto section : function.getOps<spmd::SectionOp>()) {
      Block &body = section.getBody().front();
      for (auto read : llvm::make_early_inc_range(body.getOps<model::ReadOp>()))
        replaceRead(read);
      for (auto sum : llvm::make_early_inc_range(body.getOps<model::AddOp>()))
        addBeforeReduction(sum);
      for (auto gradient : llvm::to_vector(body.getOps<model::GradientOp>()))
        replaceGradient(gradient);
      for (auto mean : llvm::make_early_inc_range(body.getOps<model::StepMeanOp>()))
        replaceMean(mean);
    }
  }

private:
  void replaceRead(model::ReadOp read);
  void addBeforeReduction(model::AddOp sum);
  void replaceGradient(model::GradientOp gradient);
  void replaceMean(model::StepMeanOp mean);
  /// Replaces an op by a reshard of a value, with the discardable attributes of the op.
  spmd::ReshardOp replace(Operation *op, Value value, spmd::ShardingAttr source, spmd::ShardingAttr destination);
  void nameUnit(spmd::ReshardOp reshard, StringRef parameter) {
    spmd::UnitOp unit = placement.units()[placement.unitOf(parameter)];
    reshard.setUnitAttr(unit.getNameAttr());
    reshard->setAttr(spmd::parameterName, FlatSymbolRefAttr::get(reshard.getContext(), parameter));
  }
  /// The sharding of a term of the mean over the data axes, which is also partial over others.
  spmd::ShardingAttr partialMean(Type type, ArrayRef<spmd::PartialAxis> others = {}) {
    SmallVector<spmd::PartialAxis> axes;
    for (auto axis : placement.dataAxes().getAsRange<StringAttr>())
      axes.push_back({axis, PartialReduction::mean});
    axes.append(others.begin(), others.end());
    auto replicated = spmd::ShardingAttr::replicated(type.getContext(), cast<RankedTensorType>(type).getRank());
    return spmd::ShardingAttr::get(type.getContext(), replicated.getDims(), axes);
  }

  func::FuncOp function;
  const Placement &placement;
  /// The argument of each parameter.
  llvm::StringMap<Value> argumentOf;
};

} // namespace

spmd::ReshardOp ReshardInserter::replace(Operation *op, Value value, spmd::ShardingAttr source,
                                         spmd::ShardingAttr destination) {
  OpBuilder builder(op);
  auto reshard =
      spmd::ReshardOp::create(builder, op->getLoc(), op->getResultTypes(), value, builder.getArrayAttr({source}),
                              builder.getArrayAttr({destination}), StringAttr());
  reshard->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(reshard);
  op->erase();
  return reshard;
}

/// The cast to the element type of the readers is before the reshard, so that the gather moves fewer bytes.
void ReshardInserter::replaceRead(model::ReadOp read) {
  if (read->use_empty())
    return read->erase();
  StringRef parameter = read.getParameter();
  Value value = argumentOf.lookup(parameter);
  if (value.getType() != read.getType()) {
    OpBuilder builder(read);
    auto cast = model::CastOp::create(builder, read.getLoc(), read.getType(), value);
    model::copyAttribute(read, model::idsName, cast);
    value = cast.getResult();
  }
  spmd::ShardingAttr sharding = placement.sharding(parameter);
  auto replicated = spmd::ShardingAttr::replicated(read.getContext(), sharding.getDims().size());
  nameUnit(replace(read, value, sharding, replicated), parameter);
}

/// The backward scope of the root is the full backward: its gradients of several passes are added before they are
/// reduced.
void ReshardInserter::addBeforeReduction(model::AddOp sum) {
  auto gradient = sum.getLhs().getDefiningOp<model::GradientOp>();
  auto later = sum.getRhs().getDefiningOp<model::GradientOp>();
  if (!gradient || !later || !spmd::UnitOp(placement.units()[placement.unitOf(later.getParameter())]).getRoot() ||
      gradient->getAttr(spmd::operandShardingsName) != later->getAttr(spmd::operandShardingsName))
    return;
  OpBuilder builder(later);
  auto terms = model::AddOp::create(builder, sum.getLoc(), gradient.getLocal(), later.getLocal());
  copyTags(later, terms);
  later->setOperand(0, terms.getResult());
  if (Attribute ids = sum->getAttr(model::idsName))
    later->setAttr(model::idsName, ids);
  sum.replaceAllUsesWith(later.getMean());
  sum.erase();
  gradient.erase();
}

/// `spmd.operand_shardings` of model.gradient names the model-parallel axes along which the gradient is partial.
void ReshardInserter::replaceGradient(model::GradientOp gradient) {
  StringRef parameter = gradient.getParameter();
  ArrayRef<spmd::PartialAxis> others;
  if (auto required = dyn_cast_or_null<ArrayAttr>(gradient->removeAttr(spmd::operandShardingsName)))
    others = cast<spmd::ShardingAttr>(required[0]).getPartialAxes();
  spmd::ShardingAttr source = partialMean(gradient.getType(), others);
  nameUnit(replace(gradient, gradient.getLocal(), source, placement.sharding(parameter)), parameter);
}

void ReshardInserter::replaceMean(model::StepMeanOp mean) {
  // A mean over ranks is in no block.
  mean->removeAttr(model::blockName);
  mean->removeAttr(model::invocationName);
  replace(mean, mean.getLocal(), partialMean(mean.getType()), spmd::ShardingAttr::replicated(mean.getContext(), 0));
}

namespace {

struct InsertDataReshards : sluice::impl::InsertDataReshardsBase<InsertDataReshards> {
  void runOnOperation() override {
    Placement placement(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      ReshardInserter(function, placement).run();
  }
};

} // namespace
