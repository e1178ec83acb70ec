//===- EntryImport.cpp - entry points from one program of an archive -----------------------===//

#include "passes/import/export/EntryImport.h"

#include "passes/import/export/Archive.h"
#include "passes/import/export/Outputs.h"
#include "passes/import/export/PlaceConstants.h"
#include "passes/import/export/Recognize.h"

#include "dialect/model/Attributes.h"
#include "dialect/model/Evaluation.h"
#include "dialect/rules/Roles.h"
#include "runtime/base/Text.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

Status EntryImport::problems(const std::set<std::size_t> &blocking) const {
  // The first problem in the order of the program is the message; the others are notes.
  Status status = Status::ok();
  for (std::size_t index : blocking) {
    const Problem &problem = graphImport.problems()[index];
    const Origin &origin = problem.origin;
    const std::string place = origin.line > 0 ? concat(printable(origin.file), ":", origin.line, ": ") : "";
    const std::string path = origin.modules.empty() || origin.modules.back().empty()
                                 ? ""
                                 : concat(", in '", printable(origin.modules.back()), "'");
    const std::string count = problem.count > 1 ? concat(" (", problem.count, " times)") : "";
    const std::string text = concat(place, "'", printable(problem.op), "': ", problem.why, path, count);
    if (status.isOk())
      status = inputError(concat(program.file, ": ", text));
    else
      status.addNote(text);
    if (!origin.source.empty())
      status.addNote(concat(place, printable(origin.source)));
    if (!problem.remedy.empty())
      status.addNote(problem.remedy);
  }
  return status;
}

/// The limit of an input of integers: the rows of the table or the classes of the loss that it indexes.
static std::int64_t limitOf(Value input) {
  std::int64_t limit = 0;
  for (Operation *user : input.getUsers()) {
    std::int64_t here = 0;
    if (auto lookup = dyn_cast<model::EmbeddingOp>(user); lookup && lookup.getIndices() == input)
      here = Call::shapeOf(lookup.getTable())[0];
    else if (auto loss = dyn_cast<model::CrossEntropyOp>(user); loss && loss.getTargets() == input)
      here = Call::shapeOf(loss.getLogits()).back();
    else if (isa<model::ReshapeOp, model::SliceOp, model::TransposeOp>(user))
      here = limitOf(user->getResult(0));
    limit = limit == 0 || here == 0 ? std::max(limit, here) : std::min(limit, here);
  }
  return limit;
}

Status EntryImport::finishInputs(func::FuncOp entry, std::optional<std::int64_t> &rows) {
  for (unsigned index = entry.getNumArguments(); index-- > 0;) {
    BlockArgument argument = entry.getArgument(index);
    if (argument.use_empty()) {
      if (failed(entry.eraseArgument(index)))
        return internalError("an argument that cannot be erased");
      continue;
    }
    const auto type = cast<RankedTensorType>(argument.getType());
    const std::string name = entry.getArgAttrOfType<StringAttr>(index, model::inputName).str();
    const bool isOfData =
        !entry.getArgAttr(index, model::valuesName) && !isDeclaredByModel(impliedPortRole(PortDirection::input, name));
    if (!isOfData)
      continue;
    if (type.getRank() == 0 || (rows && type.getShape().front() != *rows))
      return inputError(concat(program.file, ": input '", printable(name), "' has the shape [",
                               formatShape(type.getShape()),
                               "], but the first dim of each input is the rows of the batch"));
    rows = type.getShape().front();
    const auto tokens = options.tokens.find(name);
    if (const std::int64_t limit = tokens != options.tokens.end() ? tokens->second : limitOf(argument); limit > 0)
      entry.setArgAttr(index, model::limitName, builder.getI64IntegerAttr(limit));
  }
  return Status::ok();
}

Status EntryImport::begin() {
  builder.setInsertionPointToEnd(module.getBody());
  llvm::SmallVector<Type> types;
  llvm::SmallVector<const InputSpec *> inputs;
  for (const InputSpec &input : program.inputs) {
    if (input.kind != InputSpec::Kind::user)
      continue;
    const auto meta = program.graph.tensors.find(input.value);
    if (meta == program.graph.tensors.end())
      return inputError(concat(program.file, ": input '", printable(input.name), "' is no tensor"));
    types.push_back(RankedTensorType::get(meta->second.sizes, elementTypeOf(builder, meta->second.type)));
    if (auto tokens = options.tokens.find(input.name); tokens != options.tokens.end()) {
      if (isFloat(meta->second.type))
        return inputError(concat("--inputs ", printable(input.name), "=tokens: the input is of type ",
                                 nameOf(meta->second.type).str()));
      types.back() = RankedTensorType::get(meta->second.sizes, builder.getI32Type());
    }
    inputs.push_back(&input);
  }
  for (const auto &[wanted, vocabulary] : options.tokens)
    if (kind == EntryKind::train &&
        llvm::none_of(inputs, [&, &wanted = wanted](const InputSpec *input) { return input->name == wanted; }))
      return inputError(concat("--inputs ", printable(wanted), ": the archive has no such input"));
  llvm::SmallVector<Type> all(types);
  const auto scalar = RankedTensorType::get({}, builder.getI64Type());
  all.append(3, scalar);
  const std::string name = kind == EntryKind::train ? "train_step" : "eval_step";
  function = func::FuncOp::create(static_cast<OpBuilder &>(builder), builder.getLoc(),
                                  shape ? entryNameOf(name, *shape) : name, builder.getFunctionType(all, {}));
  function->setAttr(model::entryName, builder.getAttr<model::EntryKindAttr>(kind));
  if (shape)
    function->setAttr(model::batchName, builder.getI64IntegerAttr(shape->batch));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  for (auto [index, input] : llvm::enumerate(inputs)) {
    const auto at = static_cast<unsigned>(index);
    function.setArgAttr(at, model::inputName, builder.getStringAttr(input->name));
    auto storage = std::make_shared<Storage>();
    storage->kind = Storage::Kind::input;
    storage->name = input->name;
    storage->value = {body->getArgument(at), nullptr};
    graphImport.bind(scope, input->value, std::move(storage));
  }
  const auto first = static_cast<unsigned>(inputs.size());
  for (unsigned offset = 0; PortRole role : {PortRole::seed, PortRole::step, PortRole::row})
    function.setArgAttr(first + offset++, model::inputName, builder.getStringAttr(nameOf(role)));
  graphImport.seed = body->getArgument(first);
  graphImport.step = body->getArgument(first + 1);
  graphImport.row = body->getArgument(first + 2);
  if (first > 0)
    if (const auto shape = Call::shapeOf(body->getArgument(0)); !shape.empty())
      graphImport.rows = shape.front();
  return Status::ok();
}

static std::string whyOf(const Problem &problem) { return concat("'", printable(problem.op), "': ", problem.why); }

Status EntryImport::finish(ExportReport &report) {
  std::set<std::size_t> blocking = graphImport.alwaysBlocking;
  const Tensor value = graphImport.get(scope, loss, blocking);
  llvm::SmallVector<std::pair<std::string, Tensor>> writes;
  for (const InputSpec &input : program.inputs)
    if (kind == EntryKind::train && parameters.isState(input.name))
      writes.emplace_back(input.name, graphImport.get(scope, input.value, blocking));
  if (!blocking.empty())
    return problems(blocking);
  if (!value)
    return inputError(concat(program.file, ": output '", printable(loss), "' is no result of the program"));
  if (value.constant)
    return inputError(concat(program.file, ": the loss depends on no input and no parameter"));
  llvm::SmallVector<Value> results;
  llvm::erase_if(outputs, [&](const OutputSpec &output) {
    std::set<std::size_t> missing;
    const Tensor found = graphImport.get(scope, output.value, missing);
    if (found)
      results.push_back(graphImport.materialize(found));
    else
      report.warnings.push_back(concat(
          "output '", printable(output.name),
          "' is left out: ", missing.empty() ? "it has no value" : whyOf(graphImport.problems()[*missing.begin()])));
    return !found;
  });
  builder.setLoc(builder.getUnknownLoc());
  Value result = value.value;
  const Type element = cast<RankedTensorType>(result.getType()).getElementType();
  if (!cast<RankedTensorType>(result.getType()).getShape().empty())
    result = model::ReshapeOp::create(builder, RankedTensorType::get({}, element), result);
  for (const auto &[name, tensor] : writes)
    model::WriteOp::create(builder, FlatSymbolRefAttr::get(builder.getStringAttr(name)), StringAttr(),
                           graphImport.materialize(tensor));
  if (!element.isF32())
    result = model::CastOp::create(builder, RankedTensorType::get({}, builder.getF32Type()), result);
  results.insert(results.begin(), result);
  func::ReturnOp::create(builder, results);
  const llvm::SmallVector<Type> types(ValueRange(results).getTypes());
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  if (failed(separateOutputs(function, outputs)) ||
      (kind == EntryKind::eval && failed(model::makeEvaluation(function))))
    return internalError("an op without a form outside training");
  function.setResultAttr(0, model::outputName, builder.getStringAttr("loss"));
  for (auto [output, type] : llvm::zip_equal(outputs, llvm::drop_begin(types)))
    report.outputs.emplace_back(output.name, cast<RankedTensorType>(type));
  return Status::ok();
}

Status EntryImport::run(bool hasOutputs, std::optional<std::int64_t> &rows, ExportReport &report) {
  Result<std::string> found = findLoss(program, options.loss);
  if (!found.isOk())
    return inFile(program.file, found.status());
  loss = std::move(*found);
  if (hasOutputs) {
    Result<std::vector<OutputSpec>> others = findOtherOutputs(program, loss, options.outputs);
    if (!others.isOk())
      return inFile(program.file, others.status());
    outputs = std::move(*others);
  }
  SLUICE_RETURN_IF_ERROR(begin());
  SLUICE_RETURN_IF_ERROR(parameters.bind(builder, program, graphImport, scope));
  graphImport.run(program.graph, scope);
  SLUICE_RETURN_IF_ERROR(finish(report));
  // The entry points of outputs follow the function.
  for (Operation *op = function; op; op = op->getNextNode()) {
    auto entry = cast<func::FuncOp>(op);
    recognize(entry, graphImport);
    if (const Status status = placeConstants(entry, graphImport); !status.isOk())
      return inFile(program.file, status);
    IRRewriter rewriter(module.getContext());
    (void)runRegionDCE(rewriter, entry->getRegions());
    SLUICE_RETURN_IF_ERROR(finishInputs(entry, rows));
  }
  return Status::ok();
}

void EntryImport::warn(ExportReport &report) const {
  if (graphImport.idleDropouts > 0 && graphImport.dropouts == 0)
    report.warnings.push_back(
        concat("all ", graphImport.idleDropouts,
               " dropouts are off: the module was exported in eval mode, and trains without dropout"));
  if (graphImport.idleBatchNorms > 0 && graphImport.batchNorms == 0)
    report.warnings.push_back(concat("all ", graphImport.idleBatchNorms,
                                     " batch norms use their running statistics: the module was exported in eval "
                                     "mode, and training does not change the statistics"));
  if (graphImport.separateAttentions > 0)
    report.warnings.push_back(concat(graphImport.separateAttentions,
                                     " attentions are separate ops, because their values have another size than the "
                                     "keys, or their mask or bias another shape than the scores: "
                                     "their weights take ",
                                     graphImport.separateBytes, " bytes for a micro-batch"));
  for (const std::string &guard : program.uncheckedGuards)
    report.warnings.push_back(concat("a condition of the program is not checked: ", guard));
}
