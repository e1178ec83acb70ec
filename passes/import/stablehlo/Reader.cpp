//===- Reader.cpp - a program from a module of StableHLO ------------------------------------===//

#include "passes/import/stablehlo/Reader.h"

#include "passes/import/stablehlo/Masks.h"
#include "passes/import/stablehlo/Origins.h"
#include "passes/import/stablehlo/Translation.h"

#include "runtime/base/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;
using exported::InputSpec;

namespace {

/// Steps of a loop, calls within calls, and ops that are read, each as often as its function is called.
constexpr std::int64_t mostSteps = 512, deepestCalls = 64, mostOps = 1 << 20;

/// Ops that may read a mask of random numbers.
constexpr llvm::StringLiteral readersOfMasks[] = {"broadcast_in_dim", "convert", "dynamic_slice", "not",
                                                  "reshape",          "select",  "slice",         "transpose"};

struct TypeOrReason {
  TensorMeta meta;
  std::string reason;
};

TypeOrReason typeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {{}, "it has a value that is no tensor"};
  if (!tensor.hasStaticShape())
    return {{}, "it has a tensor with a dynamic dim"};
  const Type element = tensor.getElementType();
  std::optional<ScalarType> scalar;
  if (element.isF32())
    scalar = ScalarType::f32;
  else if (element.isF64())
    scalar = ScalarType::f64;
  else if (element.isF16())
    scalar = ScalarType::f16;
  else if (element.isBF16())
    scalar = ScalarType::bf16;
  else if (element.isSignlessInteger(1))
    scalar = ScalarType::boolean;
  else if (element.isSignlessInteger(32))
    scalar = ScalarType::i32;
  else if (element.isSignlessInteger(64))
    scalar = ScalarType::i64;
  else if (element.isUnsignedInteger(8))
    scalar = ScalarType::u8;
  if (!scalar) {
    std::string text;
    llvm::raw_string_ostream(text) << element;
    return {{}, concat("it has a tensor of the type ", text)};
  }
  // A size of 0 would make a product of sizes that overflows look small.
  std::int64_t elements = 1;
  for (std::int64_t size : tensor.getShape())
    if (llvm::MulOverflow(elements, std::max<std::int64_t>(size, 1), elements) || elements > (std::int64_t(1) << 48))
      return {{}, "it has a tensor of more than 2^48 elements"};
  return {metaOf(*scalar, tensor.getShape()), {}};
}

class Reader {
public:
  Reader(ModuleOp module, const std::string &file) : module(module), file(file) { graph.program.file = file; }

  Status arguments(func::FuncOp main, const ArgumentNames *names);
  Status body(func::FuncOp main);
  exported::Program take() { return std::move(graph.program); }

private:
  ModuleOp module;
  const std::string &file;
  Translation graph;
  llvm::DenseMap<Value, std::string> names;
  std::int64_t depth = 0, opsRead = 0;
  /// Names of values that could not be translated, or follow from one.
  llvm::StringSet<> refused;

  Status failed(const std::string &why) { return inputError(concat(file, ": ", why)); }

  /// Reads the ops of a block with the values of its arguments; the operands of its terminator.
  Result<std::vector<std::string>> block(Block &block, const std::vector<std::string> &arguments,
                                         const exported::Origin &call);
  Status operation(Operation &op, const exported::Origin &call);
  Status inlined(Operation &op, Region &region, const std::vector<std::string> &operands);
  /// Unrolls a loop.
  Status loop(Operation &op, std::vector<std::string> values);
  Status branch(Operation &op, const std::vector<std::string> &operands);
  void refuse(Operation &op, const std::string &why, const std::string &remedy);
  /// Results without a value, because an operand has none.
  void refuseLike(Operation &op, const std::string &operand);
  void bind(Operation &op, const std::vector<std::string> &results);
};

} // namespace

Status Reader::arguments(func::FuncOp main, const ArgumentNames *given) {
  const std::size_t count = given ? given->parameters.size() + given->inputs.size() : 0;
  if (given && count != main.getNumArguments())
    return failed(concat("@", main.getSymName().str(), " has ", main.getNumArguments(),
                         " arguments, but the file of --parameters has ", count, " names"));
  std::set<std::string> known;
  for (BlockArgument argument : main.getArguments()) {
    const unsigned index = argument.getArgNumber();
    auto parameter = main.getArgAttrOfType<StringAttr>(index, parameterName);
    auto input = main.getArgAttrOfType<StringAttr>(index, inputName);
    std::string name;
    bool isParameter = parameter != nullptr;
    if (given) {
      isParameter = index < given->parameters.size();
      name = isParameter ? given->parameters[index] : given->inputs[index - given->parameters.size()];
    } else if (parameter || input) {
      name = (parameter ? parameter : input).getValue().str();
    } else {
      return failed(concat("argument ", index, " of @", main.getSymName().str(), " has no name"))
          .withNote("--parameters reads the names of parameters and inputs from a JSON file: {\"parameters\": [...], "
                    "\"inputs\": [...]}, in the order of the arguments");
    }
    if (name.empty() || !known.insert(name).second)
      return failed(concat("'", printable(name), "' is the name of several arguments, or empty"));
    // A key of random numbers, whose type a model has not.
    if (argument.use_empty())
      continue;
    TypeOrReason type = typeOf(argument.getType());
    if (!type.reason.empty())
      return failed(concat("argument '", printable(name), "': ", type.reason));
    if (isParameter && type.meta.type != ScalarType::f32 && type.meta.type != ScalarType::f64)
      return failed(concat("parameter '", printable(name), "' has the type ", exported::nameOf(type.meta.type).str(),
                           ", expected float32"))
          .withNote("cast the parameters to float32 before the export, and set precision.compute in the recipe");
    names[argument] = graph.addInput(isParameter ? InputSpec::Kind::parameter : InputSpec::Kind::user, name, type.meta);
  }
  return Status::ok();
}

Status Reader::body(func::FuncOp main) {
  std::vector<std::string> arguments;
  for (BlockArgument argument : main.getArguments())
    arguments.push_back(names.lookup(argument));
  ++depth;
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> results, block(main.front(), arguments, {}));
  for (auto [index, result] : llvm::enumerate(results)) {
    auto name = main.getResultAttrOfType<StringAttr>(static_cast<unsigned>(index), outputName);
    graph.program.graph.outputs.push_back(tensor(result));
    graph.program.outputs.push_back({result, name ? name.getValue().str() : ""});
  }
  return Status::ok();
}

Result<std::vector<std::string>> Reader::block(Block &block, const std::vector<std::string> &arguments,
                                               const exported::Origin &call) {
  if (arguments.size() != block.getNumArguments() || block.empty())
    return failed("a region or function has another number of arguments than its op has operands");
  for (auto [argument, name] : llvm::zip_equal(block.getArguments(), arguments))
    names[argument] = name;
  for (Operation &op : block.getOperations()) {
    if (++opsRead > mostOps || static_cast<std::int64_t>(graph.program.graph.nodes.size()) > mostOps)
      return failed(concat("more than ", mostOps, " ops after calls are inlined and loops are unrolled"));
    if (&op == &block.back())
      break;
    SLUICE_RETURN_IF_ERROR(operation(op, call));
  }
  std::vector<std::string> results;
  for (Value value : block.back().getOperands()) {
    results.push_back(names.lookup(value));
    if (results.back().empty())
      return failed("a region or function returns a value that no op before has");
  }
  return results;
}

void Reader::bind(Operation &op, const std::vector<std::string> &results) {
  for (auto [value, name] : llvm::zip(op.getResults(), results))
    names[value] = name;
}

void Reader::refuse(Operation &op, const std::string &why, const std::string &remedy) {
  std::vector<TensorMeta> metas;
  for (Type type : op.getResultTypes())
    metas.push_back(typeOf(type).meta);
  const std::vector<std::string> results = graph.emitProblem(metas, why, remedy);
  for (const std::string &result : results)
    refused.insert(result);
  bind(op, results);
}

void Reader::refuseLike(Operation &op, const std::string &operand) {
  std::vector<std::string> results;
  for (Type type : op.getResultTypes()) {
    results.push_back(graph.emit("alias.default", {{"self", tensor(operand)}}, typeOf(type).meta));
    refused.insert(results.back());
  }
  bind(op, results);
}

Status Reader::inlined(Operation &op, Region &region, const std::vector<std::string> &operands) {
  if (region.getBlocks().size() != 1)
    return failed(concat("'", printable(graph.spelling), "' has a region or function of several blocks"));
  if (depth >= deepestCalls)
    return failed(concat("calls nest deeper than ", deepestCalls));
  ++depth;
  const exported::Origin origin = graph.origin;
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> results, block(region.front(), operands, origin));
  --depth;
  if (results.size() != op.getNumResults())
    return failed(concat("'", printable(op.getName().getStringRef().str()),
                         "' has another number of results than its region or function"));
  bind(op, results);
  return Status::ok();
}

Status Reader::loop(Operation &op, std::vector<std::string> values) {
  if (op.getNumRegions() != 2 || !op.getRegion(0).hasOneBlock() || !op.getRegion(1).hasOneBlock() ||
      op.getNumResults() != values.size())
    return failed("a loop without its two regions");
  if (depth >= deepestCalls)
    return failed(concat("calls nest deeper than ", deepestCalls));
  const exported::Origin origin = graph.origin;
  const std::string spelling = graph.spelling;
  ++depth;
  for (std::int64_t step = 0;; ++step) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> condition, block(op.getRegion(0).front(), values, origin));
    graph.origin = origin;
    graph.spelling = spelling;
    const std::optional<double> goesOn =
        condition.size() == 1 ? graph.splat(condition.front()) : std::optional<double>();
    if (!goesOn || (*goesOn != 0 && step == mostSteps)) {
      const std::string most = concat("a loop of more than ", mostSteps, " steps");
      refuse(op, goesOn ? most : "a loop whose number of steps depends on data", "use jax.lax.scan with fewer steps");
      break;
    }
    if (*goesOn == 0) {
      bind(op, values);
      break;
    }
    SLUICE_ASSIGN_OR_RETURN(values, block(op.getRegion(1).front(), values, origin));
    if (values.size() != op.getNumResults())
      return failed("a loop whose body returns another number of values than it reads");
  }
  --depth;
  return Status::ok();
}

Status Reader::branch(Operation &op, const std::vector<std::string> &operands) {
  const std::optional<double> index = operands.size() == 1 ? graph.splat(operands.front()) : std::nullopt;
  if (!index || op.getNumRegions() == 0) {
    refuse(op, "control flow that depends on data", "compute all branches and choose with jnp.where");
    return Status::ok();
  }
  const auto regions = static_cast<double>(op.getNumRegions());
  const bool isIf = op.getName().getStringRef() == "stablehlo.if";
  const double chosen = isIf ? (*index != 0 ? 0 : 1) : *index < 0 || *index >= regions ? regions - 1 : *index;
  return inlined(op, op.getRegion(static_cast<unsigned>(std::min(chosen, regions - 1))), {});
}

Status Reader::operation(Operation &op, const exported::Origin &call) {
  llvm::StringRef name = op.getName().getStringRef();
  graph.origin = originOf(op.getLoc(), call);
  graph.spelling = name.str();
  std::vector<std::string> operands;
  for (Value operand : op.getOperands()) {
    operands.push_back(names.lookup(operand));
    if (operands.back().empty())
      return failed(concat("'", printable(name.str()), "' reads a value that no op before has"));
  }
  if (name == "func.call" || name == "stablehlo.composite") {
    auto callee = op.getAttrOfType<FlatSymbolRefAttr>(name == "func.call" ? "callee" : "decomposition");
    if (auto properties = llvm::dyn_cast_or_null<DictionaryAttr>(op.getPropertiesAsAttribute()); !callee && properties)
      callee = properties.getAs<FlatSymbolRefAttr>(name == "func.call" ? "callee" : "decomposition");
    auto function = callee ? module.lookupSymbol<func::FuncOp>(callee.getAttr()) : func::FuncOp();
    if (!function || function.isExternal())
      return failed(concat("'", printable(name.str()), "' of a function that the module does not define"));
    return inlined(op, function.getBody(), operands);
  }
  if (name == "stablehlo.while")
    return loop(op, std::move(operands));
  if (name == "stablehlo.case" || name == "stablehlo.if")
    return branch(op, operands);
  if (name == "stablehlo.optimization_barrier" && operands.size() == op.getNumResults()) {
    bind(op, operands);
    return Status::ok();
  }
  for (const std::string &operand : operands)
    if (refused.contains(operand)) {
      refuseLike(op, operand);
      return Status::ok();
    }
  std::vector<TensorMeta> metas;
  for (Type type : op.getResultTypes()) {
    TypeOrReason read = typeOf(type);
    if (!read.reason.empty()) {
      refuse(op, read.reason, "");
      return Status::ok();
    }
    metas.push_back(std::move(read.meta));
  }
  if (metas.empty())
    return Status::ok();
  OpCall read(graph, op, std::move(operands), std::move(metas));
  std::string key = name.str();
  if (name.consume_front("stablehlo."))
    key = name.str();
  if (key == "custom_call") {
    auto target = llvm::dyn_cast_or_null<StringAttr>(read.attribute("call_target_name"));
    key = "@" + (target ? target.getValue().str() : "");
    graph.spelling = key;
  }
  const TableEntry *entry = findOp(key);
  if (!entry) {
    refuse(op, "it is not supported",
           llvm::StringRef(key).starts_with("rng")
               ? "random numbers are those of jax.random.bernoulli, in a program of sluice.jax.export"
               : "");
    return Status::ok();
  }
  if (!llvm::is_contained(readersOfMasks, key) &&
      llvm::any_of(read.allOperands(), [&](const std::string &operand) { return isMask(graph, operand); })) {
    refuse(op, maskUse.str(), maskRemedy.str());
    return Status::ok();
  }
  entry->translate(read);
  const bool fits =
      read.results().size() == op.getNumResults() &&
      llvm::all_of(llvm::enumerate(read.results()), [&](const auto &made) {
        const TensorMeta &meta = read.result(static_cast<unsigned>(made.index()));
        return graph.sizes(made.value()) == llvm::ArrayRef(meta.sizes) && graph.type(made.value()) == meta.type;
      });
  if (!fits)
    read.refuseShapes();
  if (read.isRefused())
    refuse(op, read.problem(), read.remedy());
  else
    bind(op, read.results());
  return Status::ok();
}

Result<exported::Program> stablehlo::readModule(ModuleOp module, const ArgumentNames *names, const std::string &file) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || !main.getBody().hasOneBlock())
    return inputError(concat(file, ": module without a function @main of one block"));
  Reader reader(module, file);
  SLUICE_RETURN_IF_ERROR(reader.arguments(main, names));
  SLUICE_RETURN_IF_ERROR(reader.body(main));
  exported::Program program = reader.take();
  formDropouts(program);
  numberScopes(program);
  placeByParameters(program);
  return program;
}
