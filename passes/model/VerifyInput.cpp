//===- VerifyInput.cpp - model-verify-input ----------------------------------------------------===//

#include "dialect/spmd/Names.h"
#include "passes/model/Common.h"
#include "passes/model/Passes.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/solver/PackingProblem.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace sluice {
#define GEN_PASS_DEF_VERIFYINPUT
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct VerifyInputPass : sluice::impl::VerifyInputBase<VerifyInputPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(recipeFor(module)))
      return signalPassFailure();
    for (auto parameter : module.getOps<model::ParameterOp>())
      if (failed(verifyParameter(parameter)) || failed(verifyNotReserved(parameter)))
        return signalPassFailure();
    for (Operation &op : *module.getBody())
      if (!isa<model::ParameterOp, func::FuncOp>(op)) {
        op.emitError("op '") << op.getName() << "' is outside a function";
        return signalPassFailure();
      }
    bool hasEntry = false;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (!function->hasAttr(model::entryName)) {
        function.emitError("missing 'model.entry' on function '@") << function.getName() << "': train, eval or forward";
        return signalPassFailure();
      }
      hasEntry = true;
      if (failed(verifyNotReserved(function)) || failed(verifyFunction(function)))
        return signalPassFailure();
    }
    if (!hasEntry) {
      module.emitError("module has no function with 'model.entry'");
      signalPassFailure();
    }
  }

  /// A tensor of more bytes than an arena can have.
  static bool isTooLarge(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return false;
    std::int64_t bytes = std::max(1u, tensor.getElementTypeBitWidth() / 8);
    if (llvm::is_contained(tensor.getShape(), 0))
      return false;
    for (std::int64_t extent : tensor.getShape())
      if (__builtin_mul_overflow(bytes, extent, &bytes))
        return true;
    return static_cast<std::uint64_t>(bytes) > maxArenaBytes;
  }

  /// The compiler adds entry points of these names, next to the functions and parameters of the model.
  template <typename Op> static LogicalResult verifyNotReserved(Op op) {
    const bool isInit = op.getSymName() == "init";
    if (!isInit && (op.getSymName() != evaluationName || isa<func::FuncOp>(op)))
      return success();
    InFlightDiagnostic error = op.emitError() << "symbol '" << op.getSymName() << "' is reserved for the entry point "
                                              << (isInit ? "that computes the initial weights" : "of evaluation");
    error.attachNote() << "rename the " << (isa<func::FuncOp>(op) ? "function" : "parameter");
    return failure();
  }

  static LogicalResult verifyParameter(model::ParameterOp parameter) {
    if (failed(verifyAttributes(parameter)))
      return failure();
    auto type = cast<RankedTensorType>(parameter.getType());
    if (isTooLarge(type))
      return parameter.emitOpError("tensor, expected at most 256 TiB but got ") << type;
    if (type.getNumElements() == 0)
      return parameter.emitOpError("tensor has no elements: ") << type;
    return success();
  }

  /// "'a', 'b' or 'c'", or "none".
  static std::string alternatives(llvm::ArrayRef<llvm::StringRef> names) {
    std::string text;
    for (auto [index, name] : llvm::enumerate(names))
      text += (index == 0 ? "" : index + 1 == names.size() ? " or " : ", ") + ("'" + name + "'").str();
    return text.empty() ? "none" : text;
  }

  /// Attributes without a dialect that the op does not declare.
  static LogicalResult verifyAttributes(Operation *op) {
    llvm::SmallVector<llvm::StringRef> known;
    for (StringAttr name : op->getName().getAttributeNames())
      if (name.getValue() != "operandSegmentSizes" && name.getValue() != "resultSegmentSizes")
        known.push_back(name.getValue());
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      if (!attribute.getName().strref().contains('.') && !llvm::is_contained(known, attribute.getName().strref()))
        return op->emitOpError("unknown attribute, expected ")
               << alternatives(known) << " but got '" << attribute.getName().strref() << "'";
    return success();
  }
  static LogicalResult verifyNames(func::FuncOp function) {
    auto check = [&](llvm::StringSet<> &seen, StringAttr name, llvm::StringRef place, llvm::StringRef attribute,
                     unsigned index, Type type) -> LogicalResult {
      if (!isa<RankedTensorType>(type) || !cast<RankedTensorType>(type).hasStaticShape())
        return function.emitError() << place << " " << index << " of '@" << function.getName()
                                    << "', expected a static tensor but got " << type;
      if (isTooLarge(type))
        return function.emitError() << place << " " << index << " of '@" << function.getName()
                                    << "', expected at most 256 TiB but got " << type;
      if (!name || name.getValue().empty())
        return function.emitError() << "missing '" << attribute << "' on " << place << " " << index << " of '@"
                                    << function.getName() << "'";
      if (!seen.insert(name.getValue()).second)
        return function.emitError() << place << " " << index << " of '@" << function.getName()
                                    << "' has the same name as another: '" << name.getValue() << "'";
      return success();
    };
    llvm::StringSet<> inputs, outputs;
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (failed(check(inputs, function.getArgAttrOfType<StringAttr>(index, model::inputName), "argument",
                       model::inputName, index, type)))
        return failure();
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      if (failed(check(outputs, function.getResultAttrOfType<StringAttr>(index, model::outputName), "result",
                       model::outputName, index, type)))
        return failure();
    return success();
  }

  static LogicalResult verifyConstant(func::FuncOp function, unsigned index, llvm::StringRef name) {
    auto values = function.getArgAttrOfType<DenseElementsAttr>(index, model::valuesName);
    const Type type = function.getArgumentTypes()[index];
    if (values.getType() != type)
      return function.emitError("constant '")
             << name << "' of '@" << function.getName() << "', expected values of type " << type << " but got "
             << values.getType();
    std::int64_t bytes = 0;
    for (unsigned i = 0; i <= index; ++i)
      if (inputRole(function, i) == PortRole::constant) {
        auto tensor = cast<RankedTensorType>(function.getArgumentTypes()[i]);
        bytes += tensor.getNumElements() * llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
      }
    if (bytes > model::mostConstantBytes)
      return function.emitError("constants of '@")
             << function.getName() << "', expected at most " << model::mostConstantBytes << " bytes but got " << bytes
             << " up to '" << name << "': a larger one is a parameter that 'parameters.frozen' names";
    return success();
  }

  /// Names of inputs that the runtime sets.
  static LogicalResult verifyStepInputs(func::FuncOp function) {
    auto integer = RankedTensorType::get({}, IntegerType::get(function.getContext(), 64));
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      llvm::StringRef name = function.getArgAttrOfType<StringAttr>(i, model::inputName).getValue();
      const PortRole role = inputRole(function, i);
      if (role == PortRole::constant) {
        if (failed(verifyConstant(function, i, name)))
          return failure();
        continue;
      }
      if (isDeclaredByModel(role) && function.getArgumentTypes()[i] != integer)
        return function.emitError("input '") << name << "' of '@" << function.getName() << "', expected " << integer
                                             << " but got " << function.getArgumentTypes()[i];
      if (isWrittenByHost(role) && !isDeclaredByModel(role))
        return function.emitError("argument ") << i << " of '@" << function.getName() << "' has the name '" << name
                                               << "', which is reserved for an input of the update";
      if (model::entryOf(function) == EntryKind::eval && isDeclaredByModel(role) && isEqualOnAllRanks(role))
        return function.emitError("argument ")
               << i << " of '@" << function.getName() << "' has the name '" << name
               << "', which is reserved for an input of training: an evaluation has none";
    }
    return success();
  }

  /// The trainer feeds one row per sample: all inputs of data have the rows of the micro-batch as first dim.
  static LogicalResult verifyRows(func::FuncOp function) {
    auto batch = function->getAttrOfType<IntegerAttr>(model::batchName);
    if (!batch)
      batch = function->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(model::batchName);
    std::int64_t rows = batch ? batch.getInt() : 0;
    std::string origin = "'model.batch'";
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      const std::string name = function.getArgAttrOfType<StringAttr>(i, model::inputName).str();
      if (isDeclaredByModel(inputRole(function, i)))
        continue;
      auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
      const bool isScalar = type.getRank() == 0;
      if (!isScalar && rows == 0) {
        rows = type.getDimSize(0);
        origin = "input '" + name + "'";
      }
      if (!isScalar && type.getDimSize(0) == rows)
        continue;
      InFlightDiagnostic error = function.emitError("input '") << name << "' of '@" << function.getName() << "' ";
      if (isScalar)
        error << "has no dim of rows: " << type;
      else
        error << "has another number of rows than " << origin << ", expected " << rows << " but got "
              << type.getDimSize(0);
      error.attachNote() << "the first dim of an input is the rows of one rank's micro-batch; a constant has "
                            "'model.values', or is a parameter that 'parameters.frozen' names";
      return failure();
    }
    return success();
  }

  static LogicalResult verifyFunction(func::FuncOp function) {
    std::optional<EntryKind> kind = model::entryOf(function);
    bool hasLoss = kind == EntryKind::train || kind == EntryKind::eval;
    if (!hasLoss && kind != EntryKind::forward)
      return function.emitError("'model.entry' of '@")
             << function.getName() << "', expected train, eval or forward but got "
             << function->getAttr(model::entryName);
    if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
      return function.emitError("entry point '@") << function.getName() << "', expected a body of one block";
    if (failed(verifyNames(function)))
      return failure();
    if (failed(verifyStepInputs(function)))
      return failure();
    if (hasLoss) {
      auto scalar = RankedTensorType::get({}, Float32Type::get(function.getContext()));
      if (function.getNumResults() != 1 || function.getResultTypes()[0] != scalar)
        return function.emitError("results of the ")
               << stringifyEntryKind(*kind) << " entry point '@" << function.getName()
               << "', expected one loss of type " << scalar << " but got " << function.getFunctionType();
      // The runtime reads the loss by its role, which the name implies.
      if (llvm::StringRef name = function.getResultAttrOfType<StringAttr>(0, model::outputName).getValue();
          impliedPortRole(PortDirection::output, name) != PortRole::loss)
        return function.emitError("result 0 of the ")
               << stringifyEntryKind(*kind) << " entry point '@" << function.getName()
               << "', expected the name 'loss' but got '" << name << "'";
      if (failed(verifyRows(function)))
        return failure();
    }
    WalkResult result = function.getBody().walk([&](Operation *op) -> WalkResult {
      for (Type type : op->getResultTypes())
        if (isTooLarge(type))
          return op->emitOpError("result, expected at most 256 TiB but got ") << type;
      if (failed(verifyAttributes(op)))
        return WalkResult::interrupt();
      if (auto block = dyn_cast<model::BlockOp>(op);
          block && block.getName() == spmd::rootUnit && !block->getParentOfType<model::BlockOp>()) {
        InFlightDiagnostic error = block.emitOpError("has the name of the unit of the parameters in no block: '")
                                   << spmd::rootUnit << "'";
        error.attachNote() << "rename the block";
        return error;
      }
      bool isStructure = isa<model::ReadOp, model::BlockOp, model::CheckpointOp, model::YieldOp, func::ReturnOp>(op);
      if (auto read = dyn_cast<model::ReadOp>(op); read && read.getState())
        return op->emitError("read of the optimizer state '")
               << *read.getState() << "' before the optimizer is applied";
      if (auto write = dyn_cast<model::WriteOp>(op)) {
        auto parameter = SymbolTable::lookupNearestSymbolFrom<model::ParameterOp>(op, write.getParameterAttr());
        if (write.getState() || !parameter || !parameter.isState())
          return op->emitError("write of '@") << write.getParameter() << "', which is not declared as 'state'";
        isStructure = true;
      }
      if (!isStructure && !isa<KernelOpInterface>(op))
        return op->emitError("op '") << op->getName() << "' in an entry point is not a compute op of the model dialect";
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted() || failed(verifySources(function)));
  }

  /// A state may get the value of another one as it was read, but the copies have an order only without cycles. A
  /// parameter is gathered for the ops that compute with it.
  static LogicalResult verifySources(func::FuncOp function) {
    std::map<llvm::StringRef, llvm::StringRef> sources;
    const WalkResult result = function.walk([&](model::WriteOp write) -> WalkResult {
      Value value = write.getValue();
      while (auto view = value.getDefiningOp<ViewOpInterface>())
        value = view->getOperand(0);
      auto read = value.getDefiningOp<model::ReadOp>();
      if (!read || read.getParameter() == write.getParameter())
        return WalkResult::advance();
      auto source = SymbolTable::lookupNearestSymbolFrom<model::ParameterOp>(read, read.getParameterAttr());
      if (source && !source.isState())
        return write.emitError("state '") << write.getParameter() << "' is a copy of the parameter '"
                                          << read.getParameter() << "', expected a value that an op computes";
      sources[write.getParameter()] = read.getParameter();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    for (const auto &[state, source] : sources) {
      auto next = sources.find(source);
      for (std::size_t steps = 0; next != sources.end() && next->first != state && steps < sources.size(); ++steps)
        next = sources.find(next->second);
      if (next != sources.end() && next->first == state)
        return function.emitError("states '") << state << "' and '" << source << "' of '@" << function.getName()
                                              << "' exchange their values, expected a new value for one of them";
    }
    return success();
  }
};

} // namespace
