//===- InitEntry.cpp - the entry point that computes the initial weights --------------------===//

#include "passes/sharding/InitEntry.h"

#include "dialect/model/Attributes.h"
#include "dialect/rules/Roles.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/tensor/AxisOptions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sluice;

namespace {

/// The initial value of a parameter. `key` keys its random numbers, with the seed and each element's global index.
Value initialValue(OpBuilder &builder, model::ParameterOp parameter, Type type, Value seed, std::int64_t key) {
  Location loc = parameter.getLoc();
  InitializerKind init = *parameter.getInit();
  // The range of global elements of the padding row, which is zero.
  DenseI64ArrayAttr zeros;
  if (std::optional<std::int64_t> row = parameter.getPadding()) {
    auto local = cast<RankedTensorType>(parameter.getType());
    std::int64_t columns = spmd::globalType(local, tensor::parameterSharding(parameter)).getDimSize(1);
    zeros = builder.getDenseI64ArrayAttr({*row * columns, (*row + 1) * columns});
  }
  auto constant = [&](const APFloat &value) -> Value { return model::ConstantOp::create(builder, loc, type, value); };
  if (init == InitializerKind::normal)
    return model::RandomNormalOp::create(builder, loc, type, seed, /*step_and_row=*/ValueRange(),
                                         builder.getI64IntegerAttr(key), parameter.getAAttr(), parameter.getBAttr(),
                                         zeros);
  if (init == InitializerKind::uniform)
    return model::RandomUniformOp::create(builder, loc, type, seed, /*step_and_row=*/ValueRange(),
                                          builder.getI64IntegerAttr(key), parameter.getAAttr(), parameter.getBAttr(),
                                          zeros);
  if (init == InitializerKind::constant)
    return constant(parameter.getA());
  return constant(APFloat(init == InitializerKind::ones ? 1.0 : 0.0));
}

/// The initial shard of a parameter that is sharded along a model-parallel axis: random numbers are keyed by global
/// element.
Value initialShard(OpBuilder &builder, model::ParameterOp parameter, const Placement &placement, Value seed,
                   std::int64_t key) {
  spmd::ShardingAttr sharding = tensor::parameterSharding(parameter);
  std::int64_t dim = spmd::shardedDim(sharding)->dim;
  spmd::DimShardingAttr along = sharding.getDims()[dim];
  auto local = cast<RankedTensorType>(parameter.getType());
  std::int64_t segments = along.getSegments(), total = along.segmentExtent();
  // With the segments as a separate dim, each rank has one chunk of a dim.
  SmallVector<std::int64_t> shape(local.getShape());
  if (segments > 1) {
    shape[dim] /= segments;
    shape.insert(shape.begin() + dim, segments);
    ++dim;
  }
  auto segmented = RankedTensorType::get(shape, local.getElementType());
  Value value = initialValue(builder, parameter, segmented, seed, key);
  Operation *op = value.getDefiningOp();
  StringAttr axis = along.getAxes().front();
  spmd::ShardingAttr position = spmd::shardingAlong(segmented.getRank(), {dim, shape[dim], total, axis});
  // Ops of random numbers have one operand, the seed.
  if (op->getNumOperands() > 0)
    op->setAttr(spmd::localShardingsName,
                builder.getArrayAttr({spmd::ShardingAttr::replicated(builder.getContext(), 0), position}));
  if (std::int64_t ranks = *spmd::axisSize(placement.mesh(), axis.getValue()); shape[dim] * ranks != total) {
    // The padding of a shard is zero.
    SmallVector<std::int64_t> none(shape.size(), 0), dense(shape.size(), 1);
    auto pad = model::PadOp::create(builder, parameter.getLoc(), segmented, value, none, none, dense, APFloat(0.0));
    pad->setAttr(
        spmd::localShardingsName,
        builder.getArrayAttr({position, spmd::ShardingAttr::replicated(builder.getContext(), segmented.getRank())}));
    value = pad.getResult();
  }
  auto reshape = [&](RankedTensorType type) {
    if (value.getType() != type)
      value = model::ReshapeOp::create(builder, parameter.getLoc(), type, value).getResult();
  };
  reshape(local);
  if (RankedTensorType shard = placement.local(parameter.getSymName(), local); shard != local) {
    reshape(spmd::globalType(shard));
    value = spmd::AllSliceOp::create(builder, parameter.getLoc(), shard, value).getResult();
  }
  return value;
}

} // namespace

DictionaryAttr PersistentTensor::argumentAttributes() const {
  model::ParameterOp declared = parameter;
  Builder builder(declared.getContext());
  NamedAttrList list;
  list.set(spmd::parameterName, FlatSymbolRefAttr::get(declared.getSymNameAttr()));
  if (!state.empty())
    list.set(spmd::stateName, builder.getStringAttr(state));
  // Arguments have global types until spmd-localize-update.
  if (local != type)
    list.set(spmd::shardingName, spmd::shardingOf(local));
  if (inHost)
    list.set(spmd::spaceName, builder.getAttr<spmd::MemorySpaceAttr>(MemorySpace::host));
  return list.getDictionary(builder.getContext());
}

void sluice::addInitEntry(ModuleOp module, const Placement &placement, ArrayRef<PersistentTensor> tensors) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto seedType = RankedTensorType::get({}, builder.getI64Type());
  SmallVector<Type> types, inputs;
  for (const PersistentTensor &persistent : tensors) {
    types.push_back(persistent.local);
    inputs.push_back(persistent.type);
  }
  inputs.push_back(seedType);

  auto function = func::FuncOp::create(builder, module.getLoc(), "init", builder.getFunctionType(inputs, types));
  function->setAttr(model::entryName, builder.getAttr<model::EntryKindAttr>(EntryKind::init));
  Block *entry = function.addEntryBlock();
  SmallVector<DictionaryAttr> arguments, results;
  for (auto [index, persistent] : llvm::enumerate(tensors)) {
    arguments.push_back(persistent.argumentAttributes());
    results.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(spmd::donatesName, builder.getI64IntegerAttr(index))));
  }
  arguments.push_back(
      builder.getDictionaryAttr(builder.getNamedAttr(spmd::inputName, builder.getStringAttr(nameOf(PortRole::seed)))));
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);

  builder.setInsertionPointToEnd(entry);
  auto section = spmd::SectionOp::create(builder, module.getLoc(), types, stringifySectionKind(SectionKind::init),
                                         SectionKind::init, 1);
  func::ReturnOp::create(builder, module.getLoc(), section.getResults());
  Block *body = builder.createBlock(&section.getBody());
  SmallVector<Value> values;
  llvm::StringMap<std::int64_t> keys;
  for (model::ParameterOp parameter : placement.parameters())
    keys.insert({parameter.getSymName(), static_cast<std::int64_t>(keys.size())});
  Value seed = entry->getArgument(tensors.size());
  for (const PersistentTensor &persistent : tensors) {
    model::ParameterOp parameter = persistent.parameter;
    const std::int64_t key = keys[parameter.getSymName()];
    if (!persistent.state.empty())
      values.push_back(
          model::ConstantOp::create(builder, parameter.getLoc(), persistent.local, APFloat(0.0)).getResult());
    else if (!parameter.getInit())
      // Weights that are loaded give it its values.
      values.push_back(entry->getArgument(values.size()));
    else if (parameter.isRandom() && tensor::parameterSharding(parameter))
      values.push_back(initialShard(builder, parameter, placement, seed, key));
    else
      values.push_back(initialValue(builder, parameter, persistent.local, seed, key));
  }
  for (Operation &op : *body)
    model::setPhase(&op, Phase::update);
  builder.setInsertionPointToEnd(body);
  spmd::YieldOp::create(builder, module.getLoc(), values);
}
