//===- DifferentiateFunction.cpp - model-differentiate-function ----------------------------------===//

#include "passes/model/Gradient.h"

#include "dialect/model/Attributes.h"
#include "passes/model/Passes.h"

namespace sluice {
#define GEN_PASS_DEF_DIFFERENTIATEFUNCTION
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

bool isFloat(Type type) { return isa<FloatType>(cast<ShapedType>(type).getElementType()); }

struct DifferentiateFunctionPass : sluice::impl::DifferentiateFunctionBase<DifferentiateFunctionPass> {
  using sluice::impl::DifferentiateFunctionBase<DifferentiateFunctionPass>::DifferentiateFunctionBase;

  void runOnOperation() override {
    auto source = SymbolTable(getOperation()).lookup<func::FuncOp>(function);
    if (!source || source.isExternal()) {
      getOperation().emitError("function '") << function << "' has no body to differentiate";
      return signalPassFailure();
    }
    llvm::SmallVector<std::int64_t> arguments(wrt.begin(), wrt.end());
    if (arguments.empty())
      for (auto [index, type] : llvm::enumerate(source.getArgumentTypes()))
        if (isFloat(type))
          arguments.push_back(index);
    for (std::int64_t index : arguments)
      if (index < 0 || index >= source.getNumArguments() || !isFloat(source.getArgumentTypes()[index])) {
        source.emitError("argument ") << index << " to differentiate by is not a float tensor";
        return signalPassFailure();
      }
    if (failed(build(source, arguments)))
      signalPassFailure();
  }

  LogicalResult build(func::FuncOp source, ArrayRef<std::int64_t> arguments) {
    auto derivative = source.clone();
    derivative.setName((source.getName() + "_vjp").str());
    SymbolTable(getOperation()).insert(derivative, std::next(source->getIterator()));
    flattenBlocks(derivative);
    Block &body = derivative.getBody().front();
    Operation *terminator = body.getTerminator();
    auto ops = llvm::to_vector(llvm::make_pointer_range(body.without_terminator()));
    InsertionRecorder recorder;
    OpBuilder builder(terminator, &recorder);
    ReverseMode reverse(builder);
    for (std::int64_t index : arguments)
      reverse.addLeaf(body.getArgument(index));
    reverse.markActive(ops);

    llvm::SmallVector<Attribute> resultAttributes;
    llvm::SmallVector<Type> resultTypes;
    auto named = [&](llvm::StringRef attribute, const llvm::Twine &name) {
      return builder.getDictionaryAttr(builder.getNamedAttr(attribute, builder.getStringAttr(name)));
    };
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      if (!isFloat(value.getType()))
        continue;
      const unsigned number = derivative.getNumArguments();
      DictionaryAttr attributes = named(model::inputName, "cotangent." + outputName(source, index));
      if (failed(derivative.insertArgument(number, value.getType(), attributes, value.getLoc())))
        return failure();
      // The cotangent of a result that depends on no leaf is unused.
      if (reverse.isActive(value))
        reverse.accumulate(value, body.getArgument(number));
    }
    if (failed(reverse.run(ops)))
      return failure();

    llvm::SmallVector<Value> gradients;
    for (std::int64_t index : arguments) {
      Value argument = body.getArgument(index);
      Value gradient = reverse.cotangent(argument);
      if (!gradient)
        gradient =
            model::ConstantOp::create(builder, argument.getLoc(), argument.getType(), builder.getF64FloatAttr(0.0));
      gradients.push_back(gradient);
      resultTypes.push_back(argument.getType());
      auto input = source.getArgAttrOfType<StringAttr>(index, model::inputName);
      resultAttributes.push_back(
          named(model::outputName, "grad." + (input ? input.getValue().str() : std::to_string(index))));
    }
    terminator->setOperands(gradients);
    derivative.setFunctionType(builder.getFunctionType(derivative.getArgumentTypes(), resultTypes));
    derivative.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
    for (Operation *op : recorder.created)
      if (!op->hasAttr(model::blockName))
        op->setAttr(model::blockName, builder.getStringAttr(""));
    eraseDead(llvm::to_vector(llvm::make_pointer_range(body.without_terminator())));
    return success();
  }

  static std::string outputName(func::FuncOp source, unsigned index) {
    auto output = source.getResultAttrOfType<StringAttr>(index, model::outputName);
    return output ? output.getValue().str() : std::to_string(index);
  }
};

} // namespace
