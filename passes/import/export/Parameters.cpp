//===- Parameters.cpp - parameters, states and constants of an imported module ------------===//

#include "passes/import/export/Parameters.h"

#include "passes/import/export/Archive.h"

#include "dialect/model/Model.h"
#include "runtime/base/Text.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

Status Parameters::findTies(const Program &program, const Pt2Archive &archive,
                            const std::vector<std::vector<std::string>> &stated) {
  std::map<std::string, std::vector<std::string>> users;
  for (const InputSpec &input : program.inputs)
    if (input.kind == InputSpec::Kind::parameter)
      if (const Pt2Tensor *stored = archive.find(input.name); stored && stored->readable.isOk())
        users[stored->storage].push_back(input.name);
  for (const auto &[entry, names] : users)
    for (std::size_t i = 1; i < names.size(); ++i) {
      const Pt2Tensor &tensor = *archive.find(names[i]);
      const auto same = llvm::find_if(names, [&](const std::string &name) {
        const Pt2Tensor &other = *archive.find(name);
        return other.offset == tensor.offset && other.shape == tensor.shape && other.strides == tensor.strides;
      });
      const auto index = static_cast<std::size_t>(same - names.begin());
      if (index < i) {
        ties[names[i]] = names[index];
        continue;
      }
      for (std::size_t j = 0; j < i; ++j)
        if (const Pt2Tensor &other = *archive.find(names[j]); other.begin < tensor.end && tensor.begin < other.end)
          return inputError(concat(archive.path(), ": parameters '", printable(names[j]), "' and '",
                                   printable(names[i]), "' share some of their bytes, which is not supported"))
              .withNote("make one of them a view in forward");
    }
  for (const std::vector<std::string> &names : stated) {
    const InputSpec *first = nullptr;
    for (const InputSpec &input : program.inputs) {
      const Pt2Tensor *stored = archive.find(input.name);
      if (input.kind != InputSpec::Kind::parameter || !llvm::is_contained(names, input.name) || !stored ||
          stored->readable.isOk())
        continue;
      if (!first) {
        first = &input;
        continue;
      }
      const TensorMeta &meta = program.graph.tensors.lookup(input.value);
      const TensorMeta &other = program.graph.tensors.lookup(first->value);
      if (meta.sizes != other.sizes || meta.type != other.type)
        return inputError(concat(archive.path(), ": parameters '", printable(first->name), "' and '",
                                 printable(input.name), "' are tied by extra/sluice.json, but their types differ"));
      ties[input.name] = first->name;
    }
  }
  return Status::ok();
}

/// The stored tensor of the name, of the type that the program states; one that is not readable may have any.
static Result<const Pt2Tensor *> findStored(const Pt2Archive &archive, const std::string &name,
                                            const TensorMeta &meta) {
  const Pt2Tensor *stored = archive.find(name);
  if (!stored)
    return inputError(concat(archive.path(), ": the archive does not list the tensor '", printable(name), "'"));
  if (!stored->readable.isOk())
    return stored;
  const Result<ScalarType> type = elementTypeOf(*stored);
  std::vector<std::int64_t> shape = stored->shape;
  if (stored->isComplex())
    shape.push_back(2);
  if (type.isOk() && *type == meta.type && llvm::ArrayRef(shape) == llvm::ArrayRef(meta.sizes))
    return stored;
  return inputError(concat(archive.path(), ": '", printable(name), "' is ", formatShape(meta.sizes), " of type ",
                           nameOf(meta.type).str(), " in the program, but ", formatShape(stored->shape), " of type ",
                           type.isOk() ? nameOf(*type).str() : stored->dtype, " in the weights"));
}

Status Parameters::findStates(const Program &program, const Pt2Archive &archive) {
  const std::set<std::string> written = writtenInputs(program.graph);
  for (const InputSpec &input : program.inputs) {
    const Pt2Tensor *stored = archive.find(input.name);
    const bool isBuffer = input.kind == InputSpec::Kind::buffer || input.kind == InputSpec::Kind::constant;
    if (!isBuffer || !stored || !written.contains(input.value))
      continue;
    for (const auto &[other, tensor] : archive.tensors())
      if (tensor.storage == stored->storage && tensor.begin < stored->end && stored->begin < tensor.end &&
          (tensor.offset != stored->offset || tensor.shape != stored->shape || tensor.strides != stored->strides))
        return inputError(concat(archive.path(), ": the forward writes to the buffer '", printable(input.name),
                                 "', which shares its bytes with '", printable(other), "'"))
            .withNote("register one of them, and make the other a view in forward");
    states.insert(input.name);
  }
  return Status::ok();
}

Status Parameters::readStored(Program &program, const Pt2Archive &archive) const {
  for (InputSpec &input : program.inputs) {
    const auto found = program.graph.tensors.find(input.value);
    if (input.kind == InputSpec::Kind::user || found == program.graph.tensors.end())
      continue;
    const TensorMeta &meta = found->second;
    SLUICE_ASSIGN_OR_RETURN(const Pt2Tensor *stored, findStored(archive, input.name, meta));
    if (input.kind == InputSpec::Kind::parameter) {
      input.isFrozen = !stored->requiresGradient;
    } else if (!isState(input.name)) {
      Result<std::vector<double>> values = readNumbers(archive, *stored);
      if (!values.isOk())
        return values.takeStatus();
      input.constant = makeDense(std::move(*values), meta.sizes, meta.type);
    }
  }
  return Status::ok();
}

Result<Value> Parameters::read(ImplicitLocOpBuilder &builder, const Program &program, const std::string &name,
                               const TensorMeta &meta, bool isFrozen) {
  const auto type = RankedTensorType::get(meta.sizes, elementTypeOf(builder, meta.type));
  auto parameter = module.lookupSymbol<model::ParameterOp>(name);
  if (!parameter) {
    OpBuilder declarations = OpBuilder::atBlockBegin(module.getBody());
    if (last)
      declarations.setInsertionPointAfter(last);
    parameter = model::ParameterOp::create(
        declarations, NameLoc::get(builder.getStringAttr(name)), builder.getStringAttr(name), TypeAttr::get(type),
        model::InitializerKindAttr(), builder.getF64FloatAttr(0), builder.getF64FloatAttr(0), ArrayAttr(),
        isFrozen ? builder.getUnitAttr() : UnitAttr(), IntegerAttr(),
        isState(name) ? builder.getUnitAttr() : UnitAttr());
    last = parameter;
    llvm::SmallVector<llvm::StringRef> aliases;
    for (const auto &[other, first] : ties)
      if (first == name)
        aliases.push_back(other);
    if (!aliases.empty())
      parameter.setAliasesAttr(builder.getStrArrayAttr(aliases));
  }
  if (parameter.getType() != type)
    return inputError(concat(program.file, ": '", printable(name), "' has another type than in the training program"));
  return Value(model::ReadOp::create(builder, type, FlatSymbolRefAttr::get(parameter.getSymNameAttr()), StringAttr()));
}

Status Parameters::bind(ImplicitLocOpBuilder &builder, const Program &program, GraphImport &graphImport,
                        GraphImport::Scope &scope) {
  std::map<std::string, std::shared_ptr<Storage>> shared;
  for (const InputSpec &input : program.inputs) {
    if (input.kind == InputSpec::Kind::user)
      continue;
    const auto found = program.graph.tensors.find(input.value);
    if (found == program.graph.tensors.end())
      return inputError(concat(program.file, ": '", printable(input.name), "' has no type"));
    const TensorMeta &meta = found->second;
    auto storage = std::make_shared<Storage>();
    storage->name = input.name;
    if (input.kind == InputSpec::Kind::parameter) {
      const auto tied = ties.find(input.name);
      const std::string &name = tied == ties.end() ? input.name : tied->second;
      if (meta.type != ScalarType::f32 && meta.type != ScalarType::f64)
        return inputError(concat(program.file, ": parameter '", printable(input.name), "' has the type ",
                                 nameOf(meta.type).str(), ", expected float32"))
            .withNote("call .float() before torch.export.export, and set precision.compute in the recipe");
      std::shared_ptr<Storage> &first = shared[name];
      if (!first) {
        storage->kind = Storage::Kind::parameter;
        SLUICE_ASSIGN_OR_RETURN(storage->value.value, read(builder, program, name, meta, input.isFrozen));
        first = std::move(storage);
      }
      graphImport.bind(scope, input.value, first);
      continue;
    }
    storage->kind = Storage::Kind::buffer;
    if (isState(input.name)) {
      SLUICE_ASSIGN_OR_RETURN(storage->value.value, read(builder, program, input.name, meta, false));
    } else {
      storage->value.constant = input.constant;
    }
    graphImport.bind(scope, input.value, std::move(storage));
  }
  return Status::ok();
}

std::vector<std::string> Parameters::removeUnused() {
  std::vector<std::string> names;
  for (auto parameter : llvm::make_early_inc_range(module.getBody()->getOps<model::ParameterOp>()))
    if (SymbolTable::symbolKnownUseEmpty(parameter, module)) {
      names.push_back(parameter.getSymName().str());
      parameter.erase();
    }
  return names;
}
