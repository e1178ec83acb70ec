//===- Outputs.cpp - the outputs of an imported module, and entry points for them ----------===//

#include "passes/import/export/Outputs.h"

#include "dialect/model/Attributes.h"
#include "dialect/model/Evaluation.h"
#include "dialect/rules/Roles.h"
#include "runtime/base/Text.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

static const TensorMeta *metaOf(const Program &program, llvm::StringRef value) {
  const auto found = program.graph.tensors.find(value);
  return found == program.graph.tensors.end() ? nullptr : &found->second;
}

static const std::string &ownName(const OutputSpec &output) { return output.name.empty() ? output.value : output.name; }

Result<std::string> exported::findLoss(const Program &program, const std::string &wanted) {
  // Of no dims, and of one element.
  std::vector<const OutputSpec *> scalars, single;
  std::string names;
  for (const OutputSpec &output : program.outputs) {
    const TensorMeta *meta = metaOf(program, output.value);
    const std::string &name = ownName(output);
    names += (names.empty() ? "'" : ", '") + printable(name) + "'";
    const bool isScalar = meta && isFloat(meta->type) && !meta->isComplex &&
                          llvm::all_of(meta->sizes, [](std::int64_t size) { return size == 1; });
    if (name == (wanted.empty() ? "loss" : wanted))
      return isScalar ? Result<std::string>(output.value)
                      : inputError(concat("output '", printable(name), "' is no scalar of floats, as a loss must be"));
    if (isScalar)
      (meta->sizes.empty() ? scalars : single).push_back(&output);
  }
  if (scalars.empty())
    scalars = single;
  if (wanted.empty() && scalars.size() == 1)
    return scalars.front()->value;
  return inputError(concat("no output is the loss", wanted.empty() ? "" : concat(": there is no '", wanted, "'"),
                           "; the outputs are ", names.empty() ? "none" : names))
      .withNote("name it with --loss, or return {\"loss\": ...} from forward");
}

/// A value of the graph, or the last one of a module.
static std::string valueOf(const Program &program, const std::string &name) {
  if (metaOf(program, name))
    return name;
  std::string last;
  for (const Node &node : program.graph.nodes)
    if (llvm::is_contained(node.origin.modules, name) && !node.outputs.empty() && metaOf(program, node.outputs.front()))
      last = node.outputs.front();
  return last;
}

Result<std::vector<OutputSpec>> exported::findOtherOutputs(const Program &program, llvm::StringRef loss,
                                                           const std::vector<std::string> &names) {
  std::vector<OutputSpec> outputs;
  const auto add = [&](const std::string &value, const std::string &name) {
    if (llvm::none_of(outputs, [&](const OutputSpec &each) { return each.name == name; }))
      outputs.push_back({value, name});
  };
  for (const OutputSpec &output : program.outputs)
    if (metaOf(program, output.value) && output.value != loss)
      add(output.value, ownName(output));
  for (const std::string &name : names) {
    const std::string value = valueOf(program, name);
    if (value.empty())
      return inputError(
                 concat("--add-output ", printable(name), ": the module has no value and no submodule of the name"))
          .withNote("the path of a submodule, such as 'layers.0', is the value that it returns");
    add(value, name);
  }
  for (const OutputSpec &output : outputs)
    if (const PortRole role = impliedPortRole(PortDirection::output, output.name);
        role != PortRole::data && role != PortRole::logits)
      return inputError(concat("output '", output.name, "' has a name that is reserved"))
          .withNote("return it by another name, or pass --train-only");
  return outputs;
}

/// What a value is a part or another form of.
static Value sourceOf(Value value) {
  for (Operation *op = value.getDefiningOp(); isa_and_nonnull<model::ReshapeOp, model::CastOp, model::SliceOp>(op);
       op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

/// The function returns the results with these numbers; what computes others is removed.
static void keepResults(func::FuncOp function, llvm::ArrayRef<unsigned> kept) {
  auto result = cast<func::ReturnOp>(function.front().getTerminator());
  llvm::SmallVector<Value> values;
  for (unsigned index : kept)
    values.push_back(result.getOperand(index));
  result->setOperands(values);
  function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(),
                                     llvm::to_vector(ValueRange(values).getTypes())));
  IRRewriter rewriter(function.getContext());
  (void)runRegionDCE(rewriter, function->getRegions());
}

/// A copy of the function in the form outside training with the results of these numbers.
static llvm::LogicalResult addForward(func::FuncOp train, llvm::StringRef name, llvm::ArrayRef<unsigned> results,
                                      llvm::ArrayRef<OutputSpec> outputs) {
  if (results.empty())
    return success();
  func::FuncOp forward = train.clone();
  OpBuilder builder(train->getContext());
  forward.setName(name);
  forward->setAttr(model::entryName, builder.getAttr<model::EntryKindAttr>(EntryKind::forward));
  forward.removeResAttrsAttr();
  train->getParentOfType<ModuleOp>().push_back(forward);
  keepResults(forward, results);
  for (auto [index, result] : llvm::enumerate(results))
    forward.setResultAttr(static_cast<unsigned>(index), model::outputName,
                          builder.getStringAttr(outputs[result - 1].name));
  return model::makeEvaluation(forward);
}

llvm::LogicalResult exported::separateOutputs(func::FuncOp train, std::vector<OutputSpec> &outputs) {
  const auto isLogits = [](const OutputSpec &output) { return output.name == sluice::nameOf(PortRole::logits); };
  const ValueRange values = train.front().getTerminator()->getOperands().drop_front();
  if (llvm::none_of(outputs, isLogits))
    train.walk([&](model::CrossEntropyOp loss) {
      for (auto [output, value] : llvm::zip_equal(outputs, values))
        // The output has no key in a dict.
        if (output.name == output.value && sourceOf(value) == sourceOf(loss.getLogits())) {
          output.name = sluice::nameOf(PortRole::logits);
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
  llvm::SmallVector<unsigned> logits, rest;
  for (auto [index, output] : llvm::enumerate(outputs))
    (isLogits(output) ? logits : rest).push_back(static_cast<unsigned>(index) + 1);
  if (failed(addForward(train, "logits", logits, outputs)) || failed(addForward(train, "forward", rest, outputs)))
    return failure();
  keepResults(train, {0});
  return success();
}
