//===- EmitProgram.cpp - the unsharded program in compact form ----------------------===//
//
// Ops in order, regions flattened: the results of a region are its yielded values.
//
//===----------------------------------------------------------------------===//
#include "passes/emit/EmitContext.h"

#include "dialect/model/Attributes.h"
#include "dialect/model/SavedTensors.h"
#include "dialect/rules/Roles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;

namespace sluice {
namespace {

class ProgramWriter {
public:
  explicit ProgramWriter(plan::ProgramT &program) : program(program) { nameOf(""); }

  void write(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      auto id = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), model::idName);
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), model::inputName);
      if (!id)
        continue;
      define(argument, id.getInt());
      program.inputs.push_back(id.getInt());
      program.input_names.push_back(nameOf(name ? name.getValue() : ""));
      const bool isConstant = function.getArgAttr(argument.getArgNumber(), model::valuesName) != nullptr;
      program.input_roles.push_back(planEnum<plan::PortRole>(isConstant ? PortRole::constant
                                                             : name     ? impliedPortRole(PortDirection::input, name)
                                                                        : PortRole::data));
    }
    writeBlock(function.getBody().front());
    for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands()) {
      auto name = function.getResultAttrOfType<StringAttr>(result.getOperandNumber(), model::outputName);
      program.outputs.push_back(ids.lookup(result.get()));
      program.output_names.push_back(nameOf(name ? name.getValue() : ""));
    }
    auto entry = std::make_unique<plan::ProgramFunctionT>();
    entry->name = nameOf(function.getSymName());
    entry->ops_end = program.op_kinds.size();
    entry->inputs_end = program.inputs.size();
    entry->outputs_end = program.outputs.size();
    program.functions.push_back(std::move(entry));
  }

private:
  std::uint32_t nameOf(llvm::StringRef name) { return indexOf(names, program.names, name); }

  void define(Value value, std::int64_t id) {
    ids[value] = id;
    if (id <= 0)
      return;
    auto [type, isNew] = types.try_emplace(value.getType(), program.types.size());
    if (isNew) {
      auto tensor = cast<RankedTensorType>(value.getType());
      auto written = std::make_unique<plan::ProgramTypeT>();
      written->dtype = dtypeOf(tensor.getElementType());
      written->shape.assign(tensor.getShape().begin(), tensor.getShape().end());
      program.types.push_back(std::move(written));
    }
    if (program.values.size() < static_cast<std::size_t>(id))
      program.values.resize(id);
    program.values[id - 1] = type->second;
  }

  void writeBlock(Block &block) {
    for (Operation &op : block) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        continue;
      if (op.getNumRegions() > 0) {
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            writeBlock(inner);
        // Its results are its yielded values.
        Operation *yield = op.getRegion(0).front().getTerminator();
        for (auto [result, value] : llvm::zip(op.getResults(), yield->getOperands()))
          ids[result] = ids.lookup(value);
        if (auto numbers = op.getAttrOfType<DenseI64ArrayAttr>(model::idsName))
          for (auto [result, id] : llvm::zip(op.getResults(), numbers.asArrayRef())) {
            const std::int64_t inner = ids.lookup(result);
            define(result, id);
            ids[result] = inner;
          }
        continue;
      }
      writeOp(op);
    }
  }

  /// The attributes that determine the computation of the op, except the parameter or state, which becomes `symbol`.
  /// Not by Operation::getAttrs(): the context would keep a dictionary for each op.
  NamedAttrList settingsOf(Operation &op, StringAttr &symbol) {
    NamedAttrList settings;
    auto add = [&](StringAttr key, Attribute value) {
      if (auto reference = dyn_cast<FlatSymbolRefAttr>(value))
        symbol = reference.getAttr();
      else
        settings.append(key, value);
    };
    for (StringAttr key : op.getName().getAttributeNames())
      if (std::optional<Attribute> value = op.getInherentAttr(key); value && *value)
        add(key, *value);
    for (NamedAttribute attribute : op.getDiscardableAttrs())
      if (!isa_and_present<model::ModelDialect>(attribute.getNameDialect()))
        add(attribute.getName(), attribute.getValue());
    // It is no part of the computation: of the ops that a recompute region repeats, both have it.
    if (Attribute saved = op.getAttr(model::savedName))
      settings.append("saved", saved);
    return settings;
  }

  std::uint32_t kindOf(Operation &op, const NamedAttrList &settings) {
    const Phase phase = model::phaseOf(&op);
    const auto key =
        std::tuple(op.getName().getIdentifier(), static_cast<unsigned>(phase), settings.getDictionary(op.getContext()));
    auto [kind, isNew] = kinds.try_emplace(key, program.kinds.size());
    if (isNew) {
      auto written = std::make_unique<plan::ProgramKindT>();
      written->op = op.getName().getStringRef().str();
      written->attributes = attributesOf(settings);
      written->phase = planEnum<plan::Phase>(phase);
      program.kinds.push_back(std::move(written));
    }
    return kind->second;
  }

  void writeOp(Operation &op) {
    StringAttr symbol;
    program.op_kinds.push_back(kindOf(op, settingsOf(op, symbol)));
    program.op_blocks.push_back(nameOf(model::blockOf(&op)));
    program.op_symbols.push_back(nameOf(symbol ? symbol.getValue() : ""));
    for (Value operand : op.getOperands())
      program.operands.push_back(ids.lookup(operand));
    program.operand_ends.push_back(program.operands.size());
    auto numbers = op.getAttrOfType<DenseI64ArrayAttr>(model::idsName);
    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      const std::int64_t id = numbers && std::int64_t(index) < numbers.size() ? numbers[index] : 0;
      define(result, id);
      program.results.push_back(id);
    }
    program.result_ends.push_back(program.results.size());
  }

  plan::ProgramT &program;
  llvm::DenseMap<Value, std::int64_t> ids;
  llvm::DenseMap<Type, std::uint32_t> types;
  llvm::DenseMap<std::tuple<StringAttr, unsigned, DictionaryAttr>, std::uint32_t> kinds;
  llvm::StringMap<std::uint32_t> names;
};

} // namespace

void emitProgram(EmitContext &context) {
  for (auto nested : llvm::make_early_inc_range(context.module.getOps<ModuleOp>())) {
    if (!nested->hasAttr(model::unshardedName))
      continue;
    context.plan.program = std::make_unique<plan::ProgramT>();
    ProgramWriter writer(*context.plan.program);
    for (auto function : nested.getOps<func::FuncOp>())
      writer.write(function);
    nested.erase();
  }
}

} // namespace sluice
