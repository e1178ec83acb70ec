//===- Import.cpp - from a torch.export archive to a model ---------------------------------===//

#include "passes/import/export/Import.h"

#include "passes/import/export/Archive.h"
#include "passes/import/export/GraphImport.h"
#include "passes/import/export/Initialize.h"
#include "passes/import/export/Modules.h"
#include "passes/import/export/PlaceConstants.h"
#include "passes/import/export/Recognize.h"

#include "dialect/model/Attributes.h"
#include "dialect/rules/Roles.h"
#include "runtime/base/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace {

class ArchiveImport {
public:
  ArchiveImport(MLIRContext *context, std::shared_ptr<const Pt2Archive> file, const Program &program,
                const ExportOptions &options)
      : archive(std::move(file)), program(program), options(options), builder(UnknownLoc::get(context), context),
        module(ModuleOp::create(builder.getLoc())), graphImport(builder, options.dropout) {}

  Result<ImportedArchive> run() {
    SLUICE_RETURN_IF_ERROR(findLoss());
    SLUICE_RETURN_IF_ERROR(findTies());
    SLUICE_RETURN_IF_ERROR(beginFunction());
    SLUICE_RETURN_IF_ERROR(bindInputs());
    graphImport.run(program.graph, scope);
    std::set<std::size_t> blocking = graphImport.alwaysBlocking;
    const Tensor loss = graphImport.get(scope, lossName, blocking);
    llvm::SmallVector<std::pair<std::string, Tensor>> writes;
    for (const auto &[value, name] : states)
      writes.emplace_back(name, graphImport.get(scope, value, blocking));
    if (!blocking.empty())
      return problems(blocking);
    if (!loss)
      return inputError(concat(archive->path(), ": output '", printable(lossName), "' is no result of the program"));
    if (loss.constant)
      return inputError(concat(archive->path(), ": the loss depends on no input and no parameter"));
    builder.setLoc(builder.getUnknownLoc());
    Value result = loss.value;
    if (!cast<RankedTensorType>(result.getType()).getShape().empty())
      result = model::ReshapeOp::create(
          builder, RankedTensorType::get({}, cast<RankedTensorType>(result.getType()).getElementType()), result);
    for (const auto &[name, tensor] : writes)
      model::WriteOp::create(builder, FlatSymbolRefAttr::get(builder.getStringAttr(name)), StringAttr(),
                             graphImport.materialize(tensor));
    if (!cast<RankedTensorType>(result.getType()).getElementType().isF32())
      result = model::CastOp::create(builder, RankedTensorType::get({}, builder.getF32Type()), result);
    func::ReturnOp::create(builder, ValueRange{result});
    function.setType(builder.getFunctionType(function.getArgumentTypes(), {result.getType()}));
    function.setResultAttr(0, model::outputName, builder.getStringAttr("loss"));

    recognize(function, graphImport);
    if (const Status status = placeConstants(function, graphImport); !status.isOk())
      return inFile(status);
    IRRewriter rewriter(module->getContext());
    (void)runRegionDCE(rewriter, function->getRegions());
    SLUICE_RETURN_IF_ERROR(finishInputs());
    removeUnusedParameters();
    if (options.initialize)
      if (const Status status = initializeByModule(module.get(), program.graph); !status.isOk())
        return inFile(status);
    const Modules modules(program.graph, options.blocks);
    for (const std::string &glob : modules.unmatched)
      report.warnings.push_back(concat("--blocks ", printable(glob), " matches no module"));
    enclose(function, modules);
    if (failed(verify(module.get())))
      return internalError("imported model that does not verify");
    if (graphImport.idleDropouts > 0 && graphImport.dropouts == 0)
      report.warnings.push_back(
          concat("all ", graphImport.idleDropouts,
                 " dropouts are off: the module was exported in eval mode, and trains without dropout"));
    if (graphImport.idleBatchNorms > 0 && graphImport.batchNorms == 0)
      report.warnings.push_back(concat("all ", graphImport.idleBatchNorms,
                                       " batch norms use their running statistics: the module was exported in eval "
                                       "mode, and training does not change the statistics"));
    if (graphImport.separateAttentions > 0)
      report.warnings.push_back(
          concat(graphImport.separateAttentions,
                 " attentions are separate ops, because they have dropout or values of another size than the keys: "
                 "their weights take ",
                 graphImport.separateBytes, " bytes for a micro-batch"));
    for (const std::string &guard : program.uncheckedGuards)
      report.warnings.push_back(concat("a condition of the program is not checked: ", guard));
    report.describe(module.get());
    ImportedArchive imported;
    imported.module = std::move(module);
    imported.report = std::move(report);
    for (auto parameter : imported.module->getOps<model::ParameterOp>()) {
      const std::string name = parameter.getSymName().str();
      imported.weights.push_back({name, archive->find(name)});
    }
    imported.archive = archive;
    return imported;
  }

private:
  std::shared_ptr<const Pt2Archive> archive;
  const Program &program;
  const ExportOptions &options;
  ImplicitLocOpBuilder builder;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  /// The inputs before those of dropout.
  unsigned dataInputs = 0;
  GraphImport graphImport;
  GraphImport::Scope scope;
  std::string lossName;
  /// Other names of a parameter to its first.
  std::map<std::string, std::string> ties;
  /// Names of values in the graph, and of the buffers that the forward writes.
  std::vector<std::pair<std::string, std::string>> states;
  ExportReport report;
  Result<ImportedArchive> problems(const std::set<std::size_t> &blocking) {
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
        status = inputError(concat(archive->path(), ": ", text));
      else
        status.addNote(text);
      if (!origin.source.empty())
        status.addNote(concat(place, printable(origin.source)));
      if (!problem.remedy.empty())
        status.addNote(problem.remedy);
    }
    return status;
  }

  Status inFile(const Status &status) const {
    Status named = inputError(concat(archive->path(), ": ", status.message()));
    for (const std::string &note : status.notes())
      named.addNote(note);
    return named;
  }

  const TensorMeta *metaOf(const std::string &value) const {
    auto found = program.graph.tensors.find(value);
    return found == program.graph.tensors.end() ? nullptr : &found->second;
  }

  Status findLoss() {
    // Of no dims, and of one element.
    std::vector<const OutputSpec *> scalars, single;
    std::string names;
    for (const OutputSpec &output : program.outputs) {
      const TensorMeta *meta = metaOf(output.value);
      const std::string name = output.name.empty() ? output.value : output.name;
      names += (names.empty() ? "'" : ", '") + printable(name) + "'";
      if (name == (options.loss.empty() ? "loss" : options.loss)) {
        if (!meta || !isFloat(meta->type) || llvm::any_of(meta->sizes, [](std::int64_t size) { return size != 1; }))
          return inputError(
              concat(archive->path(), ": output '", printable(name), "' is no scalar of floats, as a loss must be"));
        lossName = output.value;
        return Status::ok();
      }
      if (meta && isFloat(meta->type) && llvm::all_of(meta->sizes, [](std::int64_t size) { return size == 1; }))
        (meta->sizes.empty() ? scalars : single).push_back(&output);
    }
    if (scalars.empty())
      scalars = single;
    if (options.loss.empty() && scalars.size() == 1) {
      lossName = scalars.front()->value;
      return Status::ok();
    }
    return inputError(concat(archive->path(), ": no output is the loss",
                             options.loss.empty() ? "" : concat(": there is no '", options.loss, "'"),
                             "; the outputs are ", names.empty() ? "none" : names))
        .withNote("name it with --loss, or return {\"loss\": ...} from forward");
  }

  /// Parameters with the same bytes, read in the same way.
  Status findTies() {
    std::map<std::string, std::vector<std::string>> users;
    for (const InputSpec &input : program.inputs)
      if (input.kind == InputSpec::Kind::parameter)
        if (const Pt2Tensor *stored = archive->find(input.name); stored && stored->readable.isOk())
          users[stored->storage].push_back(input.name);
    for (const auto &[entry, names] : users)
      for (std::size_t i = 1; i < names.size(); ++i) {
        const Pt2Tensor &tensor = *archive->find(names[i]);
        const auto same = llvm::find_if(names, [&](const std::string &name) {
          const Pt2Tensor &other = *archive->find(name);
          return other.offset == tensor.offset && other.shape == tensor.shape && other.strides == tensor.strides;
        });
        const auto index = static_cast<std::size_t>(same - names.begin());
        if (index < i) {
          ties[names[i]] = names[index];
          continue;
        }
        for (std::size_t j = 0; j < i; ++j)
          if (const Pt2Tensor &other = *archive->find(names[j]); other.begin < tensor.end && tensor.begin < other.end)
            return inputError(concat(archive->path(), ": parameters '", printable(names[j]), "' and '",
                                     printable(names[i]), "' share some of their bytes, which is not supported"))
                .withNote("make one of them a view in forward");
      }
    return Status::ok();
  }

  RankedTensorType typeOf(const TensorMeta &meta) {
    return RankedTensorType::get(meta.sizes, elementTypeOf(builder, meta.type));
  }

  Status beginFunction() {
    module.get()->setAttr(model::nameName, builder.getStringAttr(llvm::sys::path::stem(archive->path())));
    builder.setInsertionPointToEnd(module->getBody());
    llvm::SmallVector<Type> types;
    llvm::SmallVector<const InputSpec *> inputs;
    std::optional<std::int64_t> rows;
    for (const InputSpec &input : program.inputs) {
      if (input.kind != InputSpec::Kind::user)
        continue;
      const TensorMeta *meta = metaOf(input.value);
      if (!meta)
        return inputError(concat(archive->path(), ": input '", printable(input.name), "' is no tensor"));
      types.push_back(typeOf(*meta));
      if (auto tokens = options.tokens.find(input.name); tokens != options.tokens.end()) {
        if (isFloat(meta->type))
          return inputError(
              concat("--inputs ", printable(input.name), "=tokens: the input is of type ", nameOf(meta->type).str()));
        types.back() = RankedTensorType::get(meta->sizes, builder.getI32Type());
      }
      inputs.push_back(&input);
    }
    for (const auto &[name, vocabulary] : options.tokens)
      if (llvm::none_of(inputs, [&, &wanted = name](const InputSpec *input) { return input->name == wanted; }))
        return inputError(concat("--inputs ", printable(name), ": the archive has no such input"));
    llvm::SmallVector<Type> all(types);
    const auto scalar = RankedTensorType::get({}, builder.getI64Type());
    all.append(3, scalar);
    function = func::FuncOp::create(static_cast<OpBuilder &>(builder), builder.getLoc(), "train_step",
                                    builder.getFunctionType(all, {}));
    function->setAttr(model::entryName, builder.getAttr<model::EntryKindAttr>(EntryKind::train));
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
    const auto first = dataInputs = static_cast<unsigned>(inputs.size());
    for (unsigned offset = 0; PortRole role : {PortRole::seed, PortRole::step, PortRole::row})
      function.setArgAttr(first + offset++, model::inputName, builder.getStringAttr(nameOf(role)));
    graphImport.seed = body->getArgument(first);
    graphImport.step = body->getArgument(first + 1);
    graphImport.row = body->getArgument(first + 2);
    return Status::ok();
  }

  Status bindInputs() {
    OpBuilder declarations = OpBuilder::atBlockBegin(module->getBody());
    const std::set<std::string> written = writtenInputs(program.graph);
    std::map<std::string, std::vector<llvm::StringRef>> aliases;
    for (const auto &[name, first] : ties)
      aliases[first].push_back(name);
    const auto declare = [&](const std::string &name, RankedTensorType type, bool isFrozen, bool isState) {
      auto parameter = model::ParameterOp::create(
          declarations, NameLoc::get(builder.getStringAttr(name)), builder.getStringAttr(name), TypeAttr::get(type),
          model::InitializerKindAttr(), builder.getF64FloatAttr(0), builder.getF64FloatAttr(0), ArrayAttr(),
          isFrozen ? builder.getUnitAttr() : UnitAttr(), IntegerAttr(), isState ? builder.getUnitAttr() : UnitAttr());
      if (auto found = aliases.find(name); found != aliases.end())
        parameter.setAliasesAttr(builder.getStrArrayAttr(found->second));
      return Value(
          model::ReadOp::create(builder, type, FlatSymbolRefAttr::get(parameter.getSymNameAttr()), StringAttr()));
    };
    std::map<std::string, std::shared_ptr<Storage>> parameters;
    for (const InputSpec &input : program.inputs) {
      if (input.kind == InputSpec::Kind::user)
        continue;
      const TensorMeta *meta = metaOf(input.value);
      if (!meta)
        return inputError(concat(archive->path(), ": '", printable(input.name), "' has no type"));
      auto storage = std::make_shared<Storage>();
      storage->name = input.name;
      if (input.kind == InputSpec::Kind::parameter) {
        storage->kind = Storage::Kind::parameter;
        const auto tied = ties.find(input.name);
        const std::string &name = tied == ties.end() ? input.name : tied->second;
        if (meta->type != ScalarType::f32 && meta->type != ScalarType::f64)
          return inputError(concat(archive->path(), ": parameter '", printable(input.name), "' has the type ",
                                   nameOf(meta->type).str(), ", expected float32"))
              .withNote("call .float() before torch.export.export, and set precision.compute in the recipe");
        std::shared_ptr<Storage> &shared = parameters[name];
        if (!shared) {
          SLUICE_ASSIGN_OR_RETURN(const Pt2Tensor *stored, find(name, *meta));
          storage->value.value = declare(name, typeOf(*meta), !stored->requiresGradient, false);
          shared = storage;
        }
        graphImport.bind(scope, input.value, shared);
        continue;
      }
      storage->kind = Storage::Kind::buffer;
      SLUICE_ASSIGN_OR_RETURN(const Pt2Tensor *stored, find(input.name, *meta));
      if (written.contains(input.value)) {
        for (const auto &[other, tensor] : archive->tensors())
          if (tensor.storage == stored->storage && tensor.begin < stored->end && stored->begin < tensor.end &&
              (tensor.offset != stored->offset || tensor.shape != stored->shape || tensor.strides != stored->strides))
            return inputError(concat(archive->path(), ": the forward writes to the buffer '", printable(input.name),
                                     "', which shares its bytes with '", printable(other), "'"))
                .withNote("register one of them, and make the other a view in forward");
        storage->value.value = declare(input.name, typeOf(*meta), false, true);
        states.emplace_back(input.value, input.name);
      } else {
        SLUICE_ASSIGN_OR_RETURN(std::vector<double> values, readNumbers(*archive, *stored));
        storage->value.constant = makeDense(std::move(values), meta->sizes, meta->type);
      }
      graphImport.bind(scope, input.value, std::move(storage));
    }
    return Status::ok();
  }

  /// The stored tensor of the name, of the type that the program states; one that is not readable may have any.
  Result<const Pt2Tensor *> find(const std::string &name, const TensorMeta &meta) const {
    const Pt2Tensor *stored = archive->find(name);
    if (!stored)
      return inputError(concat(archive->path(), ": the archive does not list the tensor '", printable(name), "'"));
    if (!stored->readable.isOk())
      return stored;
    const Result<ScalarType> type = elementTypeOf(*stored);
    std::vector<std::int64_t> shape = stored->shape;
    if (stored->isComplex())
      shape.push_back(2);
    if (type.isOk() && *type == meta.type && llvm::ArrayRef(shape) == llvm::ArrayRef(meta.sizes))
      return stored;
    return inputError(concat(archive->path(), ": '", printable(name), "' is ", formatShape(meta.sizes), " of type ",
                             nameOf(meta.type).str(), " in the program, but ", formatShape(stored->shape), " of type ",
                             type.isOk() ? nameOf(*type).str() : stored->dtype, " in the weights"));
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

  /// Removes inputs that nothing reads; the others have equally many rows.
  Status finishInputs() {
    std::optional<std::int64_t> rows;
    for (unsigned index = function.getNumArguments(); index-- > 0;) {
      BlockArgument argument = function.getArgument(index);
      if (argument.use_empty()) {
        if (failed(function.eraseArgument(index)))
          return internalError("an argument that cannot be erased");
        continue;
      }
      const auto type = cast<RankedTensorType>(argument.getType());
      const std::string name = function.getArgAttrOfType<StringAttr>(index, model::inputName).str();
      if (index >= dataInputs)
        continue;
      if (type.getRank() == 0 || (rows && type.getShape().front() != *rows))
        return inputError(concat(archive->path(), ": input '", printable(name), "' has the shape [",
                                 formatShape(type.getShape()),
                                 "], but the first dim of each input is the rows of the batch"));
      rows = type.getShape().front();
      const auto tokens = options.tokens.find(name);
      if (const std::int64_t limit = tokens != options.tokens.end() ? tokens->second : limitOf(argument); limit > 0)
        function.setArgAttr(index, model::limitName, builder.getI64IntegerAttr(limit));
    }
    module.get()->setAttr(model::batchName, builder.getI64IntegerAttr(rows.value_or(1)));
    return Status::ok();
  }

  void removeUnusedParameters() {
    for (auto parameter : llvm::make_early_inc_range(module->getBody()->getOps<model::ParameterOp>()))
      if (SymbolTable::symbolKnownUseEmpty(parameter, module.get())) {
        report.warnings.push_back(concat("parameter '", printable(parameter.getSymName().str()),
                                         "' is not used by the loss: it is left out"));
        parameter.erase();
      }
  }
};

} // namespace

Result<ImportedArchive> exported::importArchive(MLIRContext *context, const std::string &path,
                                                const ExportOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(Pt2Archive opened, Pt2Archive::open(path, StatusCode::input));
  auto archive = std::make_shared<const Pt2Archive>(std::move(opened));
  // The JSON takes more memory than all that follows, and is not kept.
  const auto read = [&]() -> Result<Program> {
    SLUICE_ASSIGN_OR_RETURN(const llvm::json::Value json, readProgramJson(*archive));
    return readProgram(*json.getAsObject(), options.symbols, options.batch, options.allowDecomposed, path);
  };
  SLUICE_ASSIGN_OR_RETURN(const Program program, read());
  context->loadDialect<func::FuncDialect, model::ModelDialect>();
  return ArchiveImport(context, std::move(archive), program, options).run();
}
