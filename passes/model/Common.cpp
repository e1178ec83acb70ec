//===- Common.cpp - helpers of the model passes ----------------------------------------===//

#include "passes/model/Common.h"

#include "passes/recipe/RecipeAttr.h"

using namespace mlir;

llvm::SmallVector<func::FuncOp> sluice::entryFunctions(ModuleOp module, std::optional<EntryKind> kind) {
  llvm::SmallVector<func::FuncOp> functions;
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    std::optional<EntryKind> entry = model::entryOf(function);
    if (entry && (!kind || entry == kind))
      functions.push_back(function);
  }
  return functions;
}

llvm::StringSet<> sluice::parametersMatching(ModuleOp module, llvm::ArrayRef<std::string> globs, llvm::StringRef key) {
  llvm::StringSet<> names;
  for (const std::string &glob : globs) {
    bool isUsed = false;
    for (auto parameter : module.getOps<model::ParameterOp>()) {
      bool isNamed = matchesGlob(glob, parameter.getSymName());
      if (ArrayAttr aliases = parameter.getAliasesAttr())
        for (auto alias : aliases.getAsRange<StringAttr>())
          isNamed |= matchesGlob(glob, alias.getValue());
      if (isNamed)
        names.insert(parameter.getSymName());
      isUsed |= isNamed;
    }
    if (!isUsed)
      module.emitWarning("glob '") << glob << "' of '" << key << "' matches no parameter";
  }
  return names;
}

FloatType sluice::elementType(MLIRContext *context, Precision precision) {
  switch (precision) {
  case Precision::f32:
    return Float32Type::get(context);
  case Precision::bf16:
    return BFloat16Type::get(context);
  case Precision::f16:
    return Float16Type::get(context);
  case Precision::f64:
    return Float64Type::get(context);
  }
  llvm_unreachable("a precision");
}

sluice::PortRole sluice::inputRole(func::FuncOp function, unsigned index) {
  if (function.getArgAttr(index, model::valuesName))
    return PortRole::constant;
  auto input = function.getArgAttrOfType<StringAttr>(index, model::inputName);
  return input ? impliedPortRole(PortDirection::input, input) : PortRole::data;
}

Value sluice::findInput(func::FuncOp function, PortRole role) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (inputRole(function, i) == role)
      return function.getArgument(i);
  return {};
}

bool sluice::hasInput(ModuleOp module, PortRole role) {
  return llvm::any_of(module.getOps<func::FuncOp>(),
                      [&](func::FuncOp function) { return static_cast<bool>(findInput(function, role)); });
}

Value sluice::addInput(func::FuncOp function, Type type, PortRole role) {
  Builder builder(function.getContext());
  unsigned index = function.getNumArguments();
  auto attributes =
      builder.getDictionaryAttr(builder.getNamedAttr(model::inputName, builder.getStringAttr(nameOf(role))));
  (void)function.insertArgument(index, type, attributes, function.getLoc());
  return function.getArgument(index);
}

void sluice::addOutput(func::FuncOp function, Value value, llvm::StringRef name) {
  Builder builder(function.getContext());
  Operation *terminator = function.getBody().front().getTerminator();
  auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(model::outputName, builder.getStringAttr(name)));
  (void)function.insertResult(function.getNumResults(), value.getType(), attributes);
  terminator->insertOperands(terminator->getNumOperands(), value);
}

void sluice::copyScope(llvm::ArrayRef<Operation *> ops, Operation *source) {
  for (Operation *op : ops) {
    op->setAttr(model::blockName, StringAttr::get(op->getContext(), model::blockOf(source)));
    model::copyAttribute(source, model::checkpointName, op);
  }
}

void sluice::setUpdatePhase(llvm::ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    model::setPhase(op, Phase::update);
    op->setAttr(model::blockName, StringAttr::get(op->getContext()));
  }
}

llvm::StringRef sluice::textAttribute(Operation *op, llvm::StringRef name) {
  auto text = op->getAttrOfType<StringAttr>(name);
  return text ? text.getValue() : llvm::StringRef();
}

bool sluice::hasPhase(func::FuncOp function, Phase phase) {
  return llvm::any_of(function.getBody().front(), [&](Operation &op) { return model::isOfPhase(&op, phase); });
}
