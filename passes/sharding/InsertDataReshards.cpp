//===- InsertDataReshards.cpp - reads and reductions along the data axes as reshards ------------===//
//
// Ops of the forward and backward work on one rank's rows of data and take parameters replicated, so each read becomes
// a reshard of the parameter's argument. What the ranks compute from their rows is partial over the data axes: a
// gradient becomes a reshard to the sharding of its parameter, the mean of a scalar one to replicated.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/model/Model.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Placement.h"
#include "passes/sharding/Reshards.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_INSERTDATARESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Replaces what names parameters and means in the sections of one function.
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
      for (auto gradient : llvm::to_vector(body.getOps<model::GradientOp>()))
        replaceGradient(gradient);
      for (auto mean : llvm::make_early_inc_range(body.getOps<model::StepMeanOp>()))
        replaceMean(mean);
    }
  }

private:
  void replaceRead(model::ReadOp read);
  void replaceGradient(model::GradientOp gradient);
  void replaceMean(model::StepMeanOp mean);
  /// Replaces an op by a reshard of a value, which keeps the op's attributes that any op of a section has.
  spmd::ReshardOp replace(Operation *op, Value value, Type type, spmd::ShardingAttr source,
                          spmd::ShardingAttr destination);
  void nameUnit(spmd::ReshardOp reshard, StringRef parameter) {
    spmd::UnitOp unit = placement.units()[placement.unitOf(parameter)];
    reshard.setUnitAttr(unit.getSymNameAttr());
    reshard->setAttr(spmd::parameterName, FlatSymbolRefAttr::get(reshard.getContext(), parameter));
  }
  /// The sharding of a value of which each rank has a term of the mean over the data axes, and that is partial over
  /// others.
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
  /// By parameter, the argument that holds its shard.
  llvm::StringMap<Value> argumentOf;
};

} // namespace

spmd::ReshardOp ReshardInserter::replace(Operation *op, Value value, Type type, spmd::ShardingAttr source,
                                         spmd::ShardingAttr destination) {
  OpBuilder builder(op);
  auto reshard = spmd::ReshardOp::create(builder, op->getLoc(), type, value, builder.getArrayAttr({source}),
                                         builder.getArrayAttr({destination}), StringAttr());
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    reshard->setAttr(attribute.getName(), attribute.getValue());
  op->getResult(0).replaceAllUsesWith(reshard.getResults()[0]);
  op->erase();
  return reshard;
}

/// The cast to the element type of the readers comes first: the gather then moves fewer bytes.
void ReshardInserter::replaceRead(model::ReadOp read) {
  if (read->use_empty())
    return read->erase();
  StringRef parameter = read.getParameter();
  Value value = argumentOf.lookup(parameter);
  Type type = read.getType();
  if (value.getType() != type) {
    OpBuilder builder(read);
    auto cast = model::CastOp::create(builder, read.getLoc(), type, value);
    if (Attribute ids = read->getAttr(model::idsName))
      cast->setAttr(model::idsName, ids);
    value = cast.getResult();
  }
  spmd::ShardingAttr sharding = placement.sharding(parameter);
  auto replicated = spmd::ShardingAttr::replicated(read.getContext(), sharding.getDims().size());
  std::string name = parameter.str();
  nameUnit(replace(read, value, type, sharding, replicated), name);
}

/// A gradient that is partial along an axis of parts is so in the sharding that `model.gradient` takes it in.
void ReshardInserter::replaceGradient(model::GradientOp gradient) {
  StringRef parameter = gradient.getParameter();
  Type type = gradient.getType();
  std::string name = parameter.str();
  ArrayRef<spmd::PartialAxis> others;
  if (auto taken = dyn_cast_or_null<ArrayAttr>(gradient->removeAttr(spmd::operandShardingsName)))
    others = cast<spmd::ShardingAttr>(taken[0]).getPartialAxes();
  nameUnit(replace(gradient, gradient.getLocal(), type, partialMean(type, others), placement.sharding(parameter)),
           name);
}

void ReshardInserter::replaceMean(model::StepMeanOp mean) {
  // A mean over ranks is of no block.
  mean->removeAttr(model::blockName);
  mean->removeAttr(model::invocationName);
  replace(mean, mean.getLocal(), mean.getType(), partialMean(mean.getType()),
          spmd::ShardingAttr::replicated(mean.getContext(), 0));
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
