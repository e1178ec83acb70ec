//===- EmitTables.cpp - tables of a plan --------------------------------------------===//
#include "dialect/plan/Accesses.h"
#include "dialect/rules/Roles.h"
#include "passes/emit/EmitContext.h"

#include "dialect/model/Model.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"

using namespace mlir;

namespace sluice {
namespace {

template <typename Op, typename Visit> void forEach(EmitContext &context, Visit &&visit) {
  for (Op op : context.module.getOps<Op>())
    visit(op);
}

void emitMesh(EmitContext &context) {
  forEach<spmd::MeshOp>(context, [&](spmd::MeshOp mesh) {
    for (auto [name, role, size] : llvm::zip(mesh.getAxes().getAsRange<StringAttr>(),
                                             mesh.getRoles().getAsRange<spmd::AxisRoleAttr>(), mesh.getSizes())) {
      auto axis = std::make_unique<plan::AxisT>();
      axis->name = name.str();
      axis->size = size;
      axis->role = planEnum<plan::AxisRole>(role.getValue());
      context.axes[name.getValue()] = context.plan.mesh.size();
      // The other axes divide the work on the same rows.
      if (dividesRows(role.getValue()))
        context.plan.data_axes.push_back(context.plan.mesh.size());
      context.plan.mesh.push_back(std::move(axis));
    }
  });
}

void emitStreams(EmitContext &context) {
  forEach<plan_ir::StreamOp>(context, [&](plan_ir::StreamOp op) {
    auto stream = std::make_unique<plan::StreamT>();
    stream->name = op.getName().str();
    stream->processor = planEnum<plan::Processor>(op.getProcessor());
    stream->kind = planEnum<plan::StreamKind>(op.getKind());
    stream->workspace = op.getWorkspace();
    stream->priority = op.getPriority();
    context.streams[op.getName()] = context.plan.streams.size();
    context.plan.streams.push_back(std::move(stream));
  });
}

void emitArenas(EmitContext &context) {
  forEach<plan_ir::ArenaOp>(context, [&](plan_ir::ArenaOp op) {
    auto arena = std::make_unique<plan::ArenaT>();
    arena->space = planEnum<plan::Space>(op.getSpace());
    arena->bytes = op.getBytes();
    arena->persistent = op.getPersistent();
    arena->peak_live = op.getPeakLive();
    arena->workspace = op.getWorkspace();
    arena->alignment = op.getAlignment();
    arena->pinned = op.getPinned();
    context.plan.arenas.push_back(std::move(arena));
  });
}

void emitBuffers(EmitContext &context) {
  forEach<plan_ir::BufferOp>(context, [&](plan_ir::BufferOp op) {
    auto buffer = std::make_unique<plan::BufferT>();
    auto type = cast<RankedTensorType>(op.getType());
    buffer->name = op.getSymName().str();
    buffer->space = planEnum<plan::Space>(op.getSpace());
    buffer->class_ = planEnum<plan::BufferClass>(op.getBufferClass());
    buffer->dtype = dtypeOf(type.getElementType());
    buffer->shape.assign(type.getShape().begin(), type.getShape().end());
    buffer->bytes = op.getBytes();
    if (!op.getOffset()) {
      context.error(op) << "has no offset after memory planning";
      return;
    }
    buffer->offset = *op.getOffset();
    if (op.getEntry()) {
      buffer->entry = context.entries.lookup(*op.getEntry());
      buffer->begin = op.getBegin().value_or(0);
      buffer->reserved_from = op.getReservedFrom().value_or(0);
      buffer->end = op.getEnd().value_or(0);
    }
    if (op.getUnit())
      if (auto unit = context.units.find(*op.getUnit()); unit != context.units.end())
        buffer->unit = unit->second;
    context.buffers[op.getSymNameAttr()] = context.plan.buffers.size();
    context.plan.buffers.push_back(std::move(buffer));
  });
}

void emitUnits(EmitContext &context) {
  forEach<spmd::UnitOp>(context, [&](spmd::UnitOp op) {
    auto unit = std::make_unique<plan::UnitT>();
    unit->name = op.getName().str();
    unit->root = op.getRoot();
    unit->reshard_after_forward = op.getReshardAfterForward();
    if (auto divisor = op.getDivideAttr())
      unit->gradient_divisor = divisor.getValueAsDouble();
    const std::uint32_t index = context.plan.units.size();
    context.units[op.getName()] = index;
    for (auto parameter : op.getParameters().getAsRange<FlatSymbolRefAttr>()) {
      auto it = context.parameters.find(parameter.getValue());
      if (it == context.parameters.end()) {
        context.error(op) << "parameter '" << parameter.getValue() << "' is not in the module";
        return;
      }
      unit->parameters.push_back(it->second);
      context.plan.parameters[it->second]->unit = index;
    }
    context.plan.units.push_back(std::move(unit));
  });
}

/// Null: weights that are loaded give the parameter its values.
std::unique_ptr<plan::InitializerT> initializerOf(model::ParameterOp op) {
  if (!op.getInit())
    return nullptr;
  auto initializer = std::make_unique<plan::InitializerT>();
  initializer->kind = planEnum<plan::InitializerKind>(*op.getInit());
  initializer->a = op.getA().convertToDouble();
  initializer->b = op.getB().convertToDouble();
  initializer->zero_row = op.getPadding().value_or(-1);
  return initializer;
}

void emitParameters(EmitContext &context) {
  std::uint64_t key = 0;
  forEach<model::ParameterOp>(context, [&](model::ParameterOp op) {
    const std::uint64_t ownKey = key++;
    if (op.isState())
      return;
    auto parameter = std::make_unique<plan::ParameterT>();
    auto type = cast<RankedTensorType>(op.getType());
    parameter->name = op.getSymName().str();
    if (op.getAliases())
      for (auto alias : op.getAliases()->getAsRange<StringAttr>())
        parameter->aliases.push_back(alias.str());
    parameter->dtype = dtypeOf(type.getElementType());
    parameter->shape.assign(type.getShape().begin(), type.getShape().end());
    if (auto sharding = op->getAttrOfType<spmd::ShardingAttr>(spmd::shardingName)) {
      const auto dim = spmd::shardedDim(sharding)->dim;
      const spmd::DimShardingAttr split = sharding.getDims()[dim];
      const auto global = spmd::globalType(type, sharding).getShape();
      parameter->split = std::make_unique<plan::TensorSplitT>();
      parameter->split->dim = dim;
      parameter->split->axes = {context.axes.lookup(split.getAxes().front().getValue())};
      parameter->split->segments = split.getSegments();
      parameter->split->extent = split.localExtent();
      parameter->shape.assign(global.begin(), global.end());
    }
    parameter->frozen = op.getFrozen();
    parameter->requires_grad = !op.getFrozen();
    parameter->key = ownKey;
    parameter->initializer = initializerOf(op);
    context.parameters[op.getSymName()] = context.plan.parameters.size();
    context.plan.parameters.push_back(std::move(parameter));
  });
}

/// Creates a variable for each state that is not a parameter, with its buffer.
void emitVariables(EmitContext &context) {
  llvm::StringMap<std::uint32_t> holders;
  forEach<plan_ir::BufferOp>(context, [&](plan_ir::BufferOp op) {
    if (op.getParameter() && !op.getState())
      holders[*op.getParameter()] = context.buffers.lookup(op.getSymNameAttr());
  });
  forEach<model::ParameterOp>(context, [&](model::ParameterOp op) {
    if (!op.isState())
      return;
    auto holder = holders.find(op.getSymName());
    if (holder == holders.end()) {
      context.error(op) << "state '" << op.getSymName() << "' has no buffer";
      return;
    }
    auto variable = std::make_unique<plan::VariableT>();
    variable->name = op.getSymName().str();
    variable->buffer = holder->second;
    variable->initializer = initializerOf(op);
    context.plan.variables.push_back(std::move(variable));
  });
}

/// Sets the buffer and the sharding of each parameter.
void bindParameters(EmitContext &context) {
  std::vector<bool> held(context.plan.parameters.size());
  SymbolTable symbols(context.module);
  forEach<plan_ir::BufferOp>(context, [&](plan_ir::BufferOp op) {
    if (!op.getParameter())
      return;
    if (auto declared = symbols.lookup<model::ParameterOp>(*op.getParameter()); declared && declared.isState())
      return;
    auto it = context.parameters.find(*op.getParameter());
    if (it == context.parameters.end()) {
      context.error(op) << "parameter '" << *op.getParameter() << "' is not in the module";
      return;
    }
    plan::ParameterT &parameter = *context.plan.parameters[it->second];
    const std::uint32_t buffer = context.buffers.lookup(op.getSymNameAttr());
    if (op.getState()) {
      auto state = std::make_unique<plan::StateT>();
      state->name = op.getState()->str();
      state->buffer = buffer;
      const auto at = std::ranges::upper_bound(parameter.states, state->name, {}, &plan::StateT::name);
      parameter.states.insert(at, std::move(state));
      return;
    }
    held[it->second] = true;
    parameter.buffer = buffer;
    if (plan_ir::ValidAttr valid = op.getValidAttr()) {
      // A shard with another rank than the parameter is sharded by elements (`flat`).
      const bool isFlat = cast<RankedTensorType>(op.getType()).getRank() != std::int64_t(parameter.shape.size());
      parameter.dim = isFlat ? std::int32_t(parameter.shape.size()) : std::int32_t(valid.getDim());
      parameter.chunk = valid.getChunk();
      parameter.axes = validOf(context, valid)->axes;
    }
  });
  for (auto [index, isHeld] : llvm::enumerate(held))
    if (!isHeld)
      context.error(context.module) << "parameter '" << context.plan.parameters[index]->name << "' has no buffer";
}

/// A parameter that no step updates, since its loss does not depend on it, is frozen in the plan: the checker requires
/// exactly one update of every other parameter.
void freezeWithoutUpdate(EmitContext &context) {
  llvm::DenseSet<std::uint32_t> written;
  forEach<plan_ir::EntryOp>(context, [&](plan_ir::EntryOp entry) {
    const auto isInit = [](plan_ir::SectionOp section) { return section.getKind() == SectionKind::init; };
    if (llvm::any_of(entry.getBody().getOps<plan_ir::SectionOp>(), isInit))
      return;
    plan_ir::forEachInstruction(entry, [&](Operation *instruction, std::int64_t, plan_ir::SectionOp) {
      for (const plan_ir::Access &access : plan_ir::accessesOf(instruction))
        if (access.writes)
          written.insert(context.buffers.lookup(access.view.getBuffer().getAttr()));
    });
  });
  for (auto &parameter : context.plan.parameters)
    if (!written.contains(parameter->buffer))
      parameter->frozen = true;
}

} // namespace

void emitTables(EmitContext &context) {
  std::uint32_t entries = 0;
  forEach<plan_ir::EntryOp>(context, [&](plan_ir::EntryOp op) { context.entries[op.getSymName()] = entries++; });
  emitMesh(context);
  emitStreams(context);
  emitArenas(context);
  emitParameters(context);
  emitUnits(context);
  emitBuffers(context);
  emitVariables(context);
  bindParameters(context);
  freezeWithoutUpdate(context);
}

} // namespace sluice
