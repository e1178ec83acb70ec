//===- EmitProgram.cpp - the unsharded program in compact form ----------------------===//
//
// Ops in order, regions flattened: what a region yields stands for its results.
//
//===----------------------------------------------------------------------===//
#include "passes/emit/EmitContext.h"

#include "dialect/model/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;

namespace sluice {
namespace {

class ProgramWriter {
public:
  ProgramWriter(EmitContext &context) : context(context), program(*context.plan.program) {}

  void write(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      auto id = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), model::idName);
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), model::inputName);
      if (!id)
        continue;
      define(argument, id.getInt(), name ? name.getValue() : "");
      program.inputs.push_back(id.getInt());
    }
    writeBlock(function.getBody().front());
    for (Value value : function.getBody().front().getTerminator()->getOperands())
      program.outputs.push_back(ids.lookup(value));
  }

private:
  void define(Value value, std::int64_t id, llvm::StringRef name) {
    ids[value] = id;
    if (id <= 0)
      return;
    while (program.values.size() < static_cast<std::size_t>(id)) {
      program.values.push_back(std::make_unique<plan::ProgramValueT>());
    }
    auto type = cast<RankedTensorType>(value.getType());
    plan::ProgramValueT &written = *program.values[id - 1];
    written.name = name.str();
    written.dtype = dtypeOf(type.getElementType());
    written.shape.assign(type.getShape().begin(), type.getShape().end());
  }

  void writeBlock(Block &block) {
    for (Operation &op : block) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        continue;
      if (op.getNumRegions() > 0) {
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            writeBlock(inner);
        // Its results are what it yields.
        Operation *yield = op.getRegion(0).front().getTerminator();
        for (auto [result, value] : llvm::zip(op.getResults(), yield->getOperands()))
          ids[result] = ids.lookup(value);
        if (auto numbers = op.getAttrOfType<DenseI64ArrayAttr>(model::idsName))
          for (auto [result, id] : llvm::zip(op.getResults(), numbers.asArrayRef())) {
            const std::int64_t inner = ids.lookup(result);
            define(result, id, "");
            ids[result] = inner;
          }
        continue;
      }
      writeOp(op);
    }
  }

  void writeOp(Operation &op) {
    auto written = std::make_unique<plan::ProgramOpT>();
    written->op = op.getName().getStringRef().str();
    for (Value operand : op.getOperands())
      written->operands.push_back(ids.lookup(operand));
    auto numbers = op.getAttrOfType<DenseI64ArrayAttr>(model::idsName);
    std::string name;
    llvm::SmallVector<NamedAttribute> attributes;
    for (NamedAttribute attribute : op.getAttrs()) {
      if (attribute.getName().strref().starts_with("model."))
        continue;
      if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue())) {
        // A parameter, by its place in the plan's list.
        name = symbol.getValue().str();
        attributes.emplace_back(attribute.getName(), IntegerAttr::get(IntegerType::get(op.getContext(), 64),
                                                                       context.parameters.lookup(symbol.getValue())));
        continue;
      }
      attributes.push_back(attribute);
    }
    if (auto state = op.getAttrOfType<StringAttr>("state"); state && !name.empty())
      name.append(".").append(state.str());
    written->attributes = attributesOf(attributes);
    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      const std::int64_t id = numbers && std::int64_t(index) < numbers.size() ? numbers[index] : 0;
      define(result, id, name);
      written->results.push_back(id);
    }
    written->phase = enumOf<plan::Phase>(stringifyPhase(model::phaseOf(&op)), plan::EnumNamesPhase());
    written->block = model::blockOf(&op).str();
    program.ops.push_back(std::move(written));
  }

  EmitContext &context;
  plan::ProgramT &program;
  llvm::DenseMap<Value, std::int64_t> ids;
};

} // namespace

void emitProgram(EmitContext &context) {
  context.plan.program = std::make_unique<plan::ProgramT>();
  for (auto nested : context.module.getOps<ModuleOp>()) {
    if (!nested->hasAttr(model::unshardedName))
      continue;
    ProgramWriter writer(context);
    for (auto function : nested.getOps<func::FuncOp>())
      writer.write(function);
  }
}

} // namespace sluice
