//===- InitEntry.cpp - the entry point that makes the initial weights ------------------------===//

#include "passes/sharding/InitEntry.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/tensor/AxisOptions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sluice;

namespace {

/// The initial value of a parameter. `key` keys its random numbers, with the seed and each element's global index.
Value initialValue(OpBuilder &builder, model::ParameterOp parameter, Type type, Value seed, std::int64_t key) {
  Location loc = parameter.getLoc();
  InitializerKind init = parameter.getInit();
  // The padding row, by global elements.
  DenseI64ArrayAttr zeros;
  if (std::optional<std::int64_t> row = parameter.getPadding()) {
    auto local = cast<RankedTensorType>(parameter.getType());
    std::int64_t columns = spmd::globalType(local, tensor::parameterSharding(parameter)).getDimSize(1);
    zeros = builder.getDenseI64ArrayAttr({*row * columns, (*row + 1) * columns});
  }
  auto constant = [&](const APFloat &value) -> Value { return model::ConstantOp::create(builder, loc, type, value); };
  if (init == InitializerKind::normal)
    return model::RandomNormalOp::create(builder, loc, type, seed, builder.getI64IntegerAttr(key), parameter.getAAttr(),
                                         parameter.getBAttr(), zeros);
  if (init == InitializerKind::uniform)
    return model::RandomUniformOp::create(builder, loc, type, seed, builder.getI64IntegerAttr(key),
                                          parameter.getAAttr(), parameter.getBAttr(), zeros);
  if (init == InitializerKind::constant)
    return constant(parameter.getA());
  return constant(APFloat(init == InitializerKind::ones ? 1.0 : 0.0));
}

/// A rank's part of a parameter that is split over an axis of parts, by the elements' places in all of it.
Value initialPart(OpBuilder &builder, model::ParameterOp parameter, const Placement &placement, Value seed,
                  std::int64_t key) {
  spmd::ShardingAttr sharding = tensor::parameterSharding(parameter);
  std::int64_t dim = spmd::shardedDim(sharding)->dim;
  spmd::DimShardingAttr split = sharding.getDims()[dim];
  auto local = cast<RankedTensorType>(parameter.getType());
  std::int64_t segments = split.getSegments(), total = split.segmentExtent();
  // Segments in a dim of their own: then each rank has a part of one dim.
  SmallVector<std::int64_t> shape(local.getShape());
  if (segments > 1) {
    shape[dim] /= segments;
    shape.insert(shape.begin() + dim, segments);
    ++dim;
  }
  auto apart = RankedTensorType::get(shape, local.getElementType());
  Value value = initialValue(builder, parameter, apart, seed, key);
  Operation *maker = value.getDefiningOp();
  StringAttr axis = split.getAxes().front();
  spmd::ShardingAttr position = spmd::shardingAlong(apart.getRank(), {dim, shape[dim], total, axis});
  // Random numbers have one operand, the seed.
  if (maker->getNumOperands() > 0)
    maker->setAttr(spmd::localShardingsName,
                   builder.getArrayAttr({spmd::ShardingAttr::replicated(builder.getContext(), 0), position}));
  SmallVector<Operation *> made = {maker};
  if (std::int64_t ranks = *spmd::axisSize(placement.mesh(), axis.getValue()); shape[dim] * ranks != total) {
    // Zeros where a rank's part is smaller than others'.
    SmallVector<std::int64_t> none(shape.size(), 0), dense(shape.size(), 1);
    auto pad = model::PadOp::create(builder, parameter.getLoc(), apart, value, none, none, dense, APFloat(0.0));
    pad->setAttr(
        spmd::localShardingsName,
        builder.getArrayAttr({position, spmd::ShardingAttr::replicated(builder.getContext(), apart.getRank())}));
    value = pad.getResult();
    made.push_back(pad);
  }
  auto shaped = [&](RankedTensorType type) {
    if (value.getType() == type)
      return;
    value = model::ReshapeOp::create(builder, parameter.getLoc(), type, value).getResult();
    made.push_back(value.getDefiningOp());
  };
  StringRef name = parameter.getSymName();
  shaped(local);
  if (RankedTensorType shard = placement.local(name, local); shard != local) {
    shaped(placement.cutType(name, local));
    value = spmd::AllSliceOp::create(builder, parameter.getLoc(), shard, value).getResult();
    made.push_back(value.getDefiningOp());
  }
  for (Operation *op : made)
    model::setPhase(op, Phase::update);
  return value;
}

} // namespace

DictionaryAttr Persistent::argumentAttributes() const {
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

void sluice::addInitEntry(ModuleOp module, const Placement &placement, ArrayRef<Persistent> persistent) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto seedType = RankedTensorType::get({}, builder.getI64Type());
  SmallVector<Type> types, inputs;
  for (const Persistent &piece : persistent) {
    types.push_back(piece.local);
    inputs.push_back(piece.type);
  }
  inputs.push_back(seedType);

  auto function = func::FuncOp::create(builder, module.getLoc(), "init", builder.getFunctionType(inputs, types));
  function->setAttr(model::entryName, builder.getAttr<model::EntryKindAttr>(EntryKind::init));
  Block *entry = function.addEntryBlock();
  SmallVector<DictionaryAttr> arguments, results;
  for (auto [index, piece] : llvm::enumerate(persistent)) {
    arguments.push_back(piece.argumentAttributes());
    results.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(spmd::donatesName, builder.getI64IntegerAttr(index))));
  }
  arguments.push_back(builder.getDictionaryAttr(builder.getNamedAttr(spmd::inputName, builder.getStringAttr("seed"))));
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);

  builder.setInsertionPointToEnd(entry);
  auto section = spmd::SectionOp::create(builder, module.getLoc(), types, "init", 1);
  func::ReturnOp::create(builder, module.getLoc(), section.getResults());
  Block *body = builder.createBlock(&section.getBody());
  SmallVector<Value> values;
  llvm::StringMap<std::int64_t> keys;
  for (model::ParameterOp parameter : placement.parameters())
    keys.insert({parameter.getSymName(), static_cast<std::int64_t>(keys.size())});
  Value seed = entry->getArgument(persistent.size());
  for (const Persistent &piece : persistent) {
    model::ParameterOp parameter = piece.parameter;
    if (bool isDrawn =
            parameter.getInit() == InitializerKind::normal || parameter.getInit() == InitializerKind::uniform;
        isDrawn && piece.state.empty() && tensor::parameterSharding(parameter)) {
      values.push_back(initialPart(builder, parameter, placement, seed, keys[parameter.getSymName()]));
      continue;
    }
    // States start at zero.
    values.push_back(piece.state.empty()
                         ? initialValue(builder, parameter, piece.local, seed, keys[parameter.getSymName()])
                         : Value(model::ConstantOp::create(builder, parameter.getLoc(), piece.local, APFloat(0.0))));
    model::setPhase(values.back().getDefiningOp(), Phase::update);
  }
  builder.setInsertionPointToEnd(body);
  spmd::YieldOp::create(builder, module.getLoc(), values);
}
