//===- Graph.cpp - the program of a torch.export archive -----------------------------------===//

#include "passes/import/export/Graph.h"

#include "passes/import/export/BindSymbols.h"
#include "passes/import/export/Complex.h"

#include "runtime/base/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

using namespace sluice;
using namespace sluice::exported;
namespace json = llvm::json;

llvm::StringRef exported::nameOf(ScalarType type) {
  switch (type) {
  case ScalarType::u8:
    return "uint8";
  case ScalarType::i32:
    return "int32";
  case ScalarType::i64:
    return "int64";
  case ScalarType::f16:
    return "float16";
  case ScalarType::f32:
    return "float32";
  case ScalarType::f64:
    return "float64";
  case ScalarType::boolean:
    return "bool";
  case ScalarType::bf16:
    return "bfloat16";
  }
  llvm_unreachable("covered");
}

const Argument *Node::find(llvm::StringRef name) const {
  const auto found = llvm::find_if(inputs, [&](const auto &input) { return input.first == name; });
  return found == inputs.end() ? nullptr : &found->second;
}

namespace {

/// The only member of an object: its name is the case of a union.
Result<std::pair<llvm::StringRef, const json::Value *>> unionCase(const json::Value &value, llvm::StringRef what) {
  const json::Object *object = value.getAsObject();
  if (!object || object->size() != 1)
    return inputError(concat(what.str(), ", expected an object with one member"));
  return std::pair(llvm::StringRef(object->begin()->first), &object->begin()->second);
}

Result<std::int64_t> readSize(const json::Value &value, const SymbolValues &symbols) {
  SLUICE_ASSIGN_OR_RETURN(const auto arm, unionCase(value, "size"));
  if (arm.first == "as_int")
    if (std::optional<std::int64_t> size = arm.second->getAsInteger())
      return *size;
  if (arm.first == "as_name")
    if (std::optional<llvm::StringRef> name = arm.second->getAsString())
      return evaluateSize(*name, symbols);
  if (arm.first == "as_expr")
    if (const json::Object *expression = arm.second->getAsObject())
      if (std::optional<llvm::StringRef> text = expression->getString("expr_str"))
        return evaluateSize(*text, symbols);
  return inputError(concat("size, expected a number or an expression but got '", arm.first.str(), "'"));
}

Result<ScalarType> readScalarType(std::optional<std::int64_t> number) {
  switch (number.value_or(0)) {
  case 1:
  case 4:
  case 5:
  case 6:
  case 7:
  case 8:
  case 12:
  case 13:
    return static_cast<ScalarType>(*number);
  case 9:
  case 10:
  case 11:
    return inputError("complex numbers are not supported");
  default:
    return inputError(concat("element type number ", number.value_or(0),
                             " is not supported, expected that of a float of 16 to 64 bits, "
                             "of int32, int64, uint8 or bool"));
  }
}

Result<TensorMeta> readTensorMeta(const json::Object &meta, const SymbolValues &symbols) {
  TensorMeta result;
  // complex64 and complex128.
  const std::optional<std::int64_t> dtype = meta.getInteger("dtype");
  result.isComplex = dtype == 10 || dtype == 11;
  SLUICE_ASSIGN_OR_RETURN(result.type, readScalarType(result.isComplex ? *dtype - 3 : dtype));
  if (const std::optional<std::int64_t> layout = meta.getInteger("layout"); layout && *layout != 7)
    return inputError("sparse tensors are not supported");
  for (const auto &[key, list] : {std::pair("sizes", &result.sizes), {"strides", &result.strides}}) {
    const json::Array *values = meta.getArray(key);
    if (!values)
      return inputError(concat("tensor without '", key, "'"));
    for (const json::Value &value : *values) {
      SLUICE_ASSIGN_OR_RETURN(const std::int64_t size, readSize(value, symbols));
      if (size < 0 || size > std::int64_t(1) << 40)
        return inputError(concat("tensor with ", key, " ", size));
      list->push_back(size);
    }
  }
  if (result.sizes.size() != result.strides.size())
    return inputError("tensor with as many sizes as strides expected");
  if (const json::Value *offset = meta.get("storage_offset")) {
    SLUICE_ASSIGN_OR_RETURN(result.offset, readSize(*offset, symbols));
    if (result.offset < 0 || result.offset > std::int64_t(1) << 40)
      return inputError(concat("tensor with storage_offset ", result.offset));
  }
  if (result.isComplex) {
    for (std::int64_t &stride : result.strides)
      stride *= 2;
    result.offset *= 2;
    result.sizes.push_back(2);
    result.strides.push_back(1);
  }
  return result;
}

/// Numbers as JSON has them, and the strings for those that JSON has not.
std::optional<double> readNumber(const json::Value &value) {
  if (std::optional<double> number = value.getAsNumber())
    return number;
  const std::optional<llvm::StringRef> text = value.getAsString();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == llvm::StringRef("Infinity"))
    return infinity;
  if (text == llvm::StringRef("-Infinity"))
    return -infinity;
  if (text == llvm::StringRef("NaN"))
    return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

class Reader {
public:
  Reader(SymbolValues values, const std::string &file) : symbols(std::move(values)), file(file) {}

  Result<Argument> argument(const json::Value &value) {
    SLUICE_ASSIGN_OR_RETURN(const auto arm, unionCase(value, "argument"));
    const auto &[name, content] = arm;
    using Kind = Argument::Kind;
    Argument result;
    const auto malformed = [&] {
      return inputError(concat("argument '", name.str(), "' that is not as the schema says"));
    };
    if (name == "as_none")
      return result;
    // A case without "s" at its end has one value.
    if (const json::Array *list = content->getAsArray(); list && !name.ends_with("s"))
      return malformed();
    if (name == "as_tensor" || name == "as_tensors" || name == "as_optional_tensor" || name == "as_optional_tensors") {
      result.kind = name.ends_with("s") ? Kind::tensors : Kind::tensor;
      for (const json::Value *each : elements(*content)) {
        SLUICE_ASSIGN_OR_RETURN(std::string tensor, tensorName(*each));
        result.names.push_back(std::move(tensor));
      }
      return result;
    }
    if (name == "as_sym_int" || name == "as_sym_ints") {
      result.kind = name.ends_with("s") ? Kind::integers : Kind::integer;
      for (const json::Value *each : elements(*content)) {
        SLUICE_ASSIGN_OR_RETURN(const std::int64_t size, readSize(*each, symbols));
        result.integers.push_back(size);
      }
      return result;
    }
    if (name == "as_int" || name == "as_ints" || name == "as_bool" || name == "as_scalar_type") {
      result.kind = name == "as_bool"   ? Kind::boolean
                    : name == "as_ints" ? Kind::integers
                    : name == "as_int"  ? Kind::integer
                                        : Kind::scalarType;
      for (const json::Value *each : elements(*content)) {
        const std::optional<bool> flag = each->getAsBoolean();
        const std::optional<std::int64_t> number = flag ? std::optional<std::int64_t>(*flag) : each->getAsInteger();
        if (!number)
          return malformed();
        result.integers.push_back(*number);
      }
      return result;
    }
    if (name == "as_float" || name == "as_floats") {
      result.kind = name.ends_with("s") ? Kind::numbers : Kind::number;
      for (const json::Value *each : elements(*content)) {
        const std::optional<double> number = readNumber(*each);
        if (!number)
          return malformed();
        result.numbers.push_back(*number);
      }
      return result;
    }
    if (name == "as_string") {
      result.kind = Kind::text;
      const std::optional<llvm::StringRef> text = content->getAsString();
      if (!text)
        return malformed();
      result.text = text->str();
      return result;
    }
    if (name == "as_graph") {
      result.kind = Kind::graph;
      const json::Object *object = content->getAsObject();
      const json::Object *inner = object ? object->getObject("graph") : nullptr;
      if (!inner)
        return malformed();
      result.graph = std::make_shared<Graph>();
      SLUICE_RETURN_IF_ERROR(graph(*inner, *result.graph));
      return result;
    }
    if (name == "as_sym_bool" || name == "as_sym_float") {
      result.kind = Kind::symbolic;
      return result;
    }
    // Sluice chooses the place of a tensor and its layout.
    if (name == "as_device" || name == "as_layout" || name == "as_memory_format") {
      result.kind = Kind::ignored;
      return result;
    }
    return inputError(concat("argument of kind '", name.str(), "' is not supported"));
  }

  Status graph(const json::Object &object, Graph &result) {
    const json::Object *tensors = object.getObject("tensor_values");
    const json::Array *nodes = object.getArray("nodes");
    if (!tensors || !nodes)
      return inputError("graph without 'nodes' or 'tensor_values'");
    if (const json::Object *sizes = object.getObject("sym_int_values"))
      for (const auto &[name, value] : *sizes)
        // A size that depends on data has no value: an error is that of its reader.
        if (const Result<std::int64_t> size = readSize(value, symbols); size.isOk())
          symbols.emplace(llvm::StringRef(name).str(), *size);
    for (const auto &[name, meta] : *tensors) {
      const json::Object *fields = meta.getAsObject();
      Result<TensorMeta> read = fields ? readTensorMeta(*fields, symbols) : inputError("expected an object");
      // A value that no op reads may have any type: an error is that of its reader.
      if (read.isOk())
        result.tensors[llvm::StringRef(name)] = std::move(*read);
      else
        problems[llvm::StringRef(name)] = read.status().message();
    }
    for (const auto &[key, list] : {std::pair("inputs", &result.inputs), {"outputs", &result.outputs}})
      if (const json::Array *values = object.getArray(key))
        for (const json::Value &value : *values) {
          SLUICE_ASSIGN_OR_RETURN(Argument read, argument(value));
          list->push_back(std::move(read));
        }
    result.nodes.reserve(nodes->size());
    for (const json::Value &value : *nodes) {
      const json::Object *fields = value.getAsObject();
      if (!fields)
        return inputError("node, expected an object");
      SLUICE_ASSIGN_OR_RETURN(Node read, node(*fields));
      for (const std::string &output : read.outputs)
        if (auto problem = problems.find(output); !output.empty() && problem != problems.end())
          return inputError(concat(place(read), "'", read.target, "': ", problem->second));
      carryComplex(read, result.tensors);
      result.nodes.push_back(std::move(read));
    }
    return Status::ok();
  }

  llvm::StringMap<std::string> problems;

private:
  /// Of symbols, and of results that are sizes.
  SymbolValues symbols;
  const std::string &file;

  static std::string place(const Node &node) {
    return node.origin.line == 0 ? std::string() : concat(printable(node.origin.file), ":", node.origin.line, ": ");
  }

  static llvm::SmallVector<const json::Value *> elements(const json::Value &value) {
    llvm::SmallVector<const json::Value *> list;
    if (const json::Array *array = value.getAsArray())
      for (const json::Value &each : *array)
        list.push_back(&each);
    else
      list.push_back(&value);
    return list;
  }

  /// Of a tensor, or empty for an absent optional one.
  static Result<std::string> tensorName(const json::Value &value) {
    const json::Object *object = value.getAsObject();
    if (object && object->get("as_none"))
      return std::string();
    if (const json::Object *inner = object ? object->getObject("as_tensor") : nullptr)
      object = inner;
    const std::optional<llvm::StringRef> name = object ? object->getString("name") : std::nullopt;
    if (!name || name->empty())
      return inputError("tensor argument without 'name'");
    return name->str();
  }

  Result<Node> node(const json::Object &fields) {
    Node result;
    const std::optional<llvm::StringRef> target = fields.getString("target");
    if (!target)
      return inputError("node without 'target'");
    llvm::StringRef name = *target;
    name.consume_front("torch.ops.");
    result.target = name.str();
    if (const json::Object *metadata = fields.getObject("metadata"))
      readOrigin(*metadata, result.origin);
    const auto failed = [&](Status status) {
      return inputError(concat(place(result), "'", printable(result.target), "': ", status.message()));
    };
    if (const json::Array *inputs = fields.getArray("inputs"))
      for (const json::Value &input : *inputs) {
        const json::Object *object = input.getAsObject();
        const json::Value *value = object ? object->get("arg") : nullptr;
        const std::optional<llvm::StringRef> key = object ? object->getString("name") : std::nullopt;
        if (!value || !key)
          return failed(inputError("input without 'name' or 'arg'"));
        Result<Argument> read = argument(*value);
        if (!read.isOk())
          return failed(read.takeStatus());
        result.inputs.emplace_back(key->str(), std::move(*read));
      }
    if (const json::Array *outputs = fields.getArray("outputs"))
      for (const json::Value &output : *outputs) {
        const json::Object *object = output.getAsObject();
        if (object && (object->get("as_sym_int") || object->get("as_sym_bool") || object->get("as_sym_float"))) {
          result.givesSizes = true;
          continue;
        }
        Result<Argument> read = argument(output);
        if (!read.isOk())
          return failed(read.takeStatus());
        if (read->names.empty())
          result.outputs.emplace_back();
        llvm::append_range(result.outputs, read->names);
      }
    return result;
  }

  static void readOrigin(const json::Object &metadata, Origin &origin) {
    // "key,path,type" of each module, separated by ";". The key of a second call ends with "@1", the path does not.
    if (const std::optional<llvm::StringRef> stack = metadata.getString("nn_module_stack")) {
      llvm::SmallVector<llvm::StringRef> modules;
      stack->split(modules, ';', -1, /*KeepEmpty=*/false);
      for (llvm::StringRef module : modules) {
        const auto [key, rest] = module.split(',');
        const auto [path, type] = rest.split(',');
        const std::size_t call = key.rfind('@');
        origin.modules.push_back((path + (call == llvm::StringRef::npos ? "" : key.drop_front(call))).str());
        origin.types.push_back(type.str());
      }
    }
    // Frames from the outermost to the innermost one: a line 'File "NAME", line N, in FUNCTION', then the source text.
    const std::optional<llvm::StringRef> trace = metadata.getString("stack_trace");
    llvm::SmallVector<llvm::StringRef> lines;
    if (trace)
      trace->split(lines, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i) {
      llvm::StringRef line = lines[i].trim();
      std::int64_t number = 0;
      if (!line.consume_front("File \""))
        continue;
      const auto [file, rest] = line.split('"');
      llvm::StringRef after = rest;
      if (!after.consume_front(", line ") || after.consumeInteger(10, number) || isOfTorch(file))
        continue;
      origin.file = file.str();
      origin.line = number;
      const bool hasSource = i + 1 < lines.size() && !lines[i + 1].trim().starts_with("File \"");
      origin.source = hasSource ? lines[i + 1].trim().str() : "";
    }
  }

  static bool isOfTorch(llvm::StringRef file) { return file.contains("/torch/") || file.starts_with("torch/"); }
};

/// The keys of the dict that forward returns, of its `out_spec`; empty if it returns something else.
std::vector<std::string> outputNames(const json::Object &module) {
  const json::Array *calls = module.getArray("module_call_graph");
  const json::Object *call = calls && !calls->empty() ? (*calls)[0].getAsObject() : nullptr;
  const json::Object *signature = call ? call->getObject("signature") : nullptr;
  const std::optional<llvm::StringRef> text = signature ? signature->getString("out_spec") : std::nullopt;
  std::vector<std::string> names;
  if (!text)
    return names;
  // [1, {"type": "builtins.dict", "context": "[\"loss\"]", "children_spec": [...]}]
  llvm::Expected<json::Value> spec = json::parse(*text);
  if (!spec) {
    llvm::consumeError(spec.takeError());
    return names;
  }
  const json::Array *versioned = spec->getAsArray();
  const json::Object *root = versioned && versioned->size() == 2 ? (*versioned)[1].getAsObject() : nullptr;
  const std::optional<llvm::StringRef> context = root ? root->getString("context") : std::nullopt;
  if (!context)
    return names;
  llvm::Expected<json::Value> keys = json::parse(*context);
  if (!keys) {
    llvm::consumeError(keys.takeError());
    return names;
  }
  if (const json::Array *list = keys->getAsArray())
    for (const json::Value &key : *list)
      names.push_back(key.getAsString().value_or("").str());
  return names;
}

Status readSignature(const json::Object &signature, const std::vector<std::string> &names, Program &program) {
  const json::Array *inputs = signature.getArray("input_specs"), *outputs = signature.getArray("output_specs");
  if (!inputs || !outputs)
    return inputError("signature without 'input_specs' or 'output_specs'");
  const auto nameOfArgument = [](const json::Object &spec) -> std::string {
    const json::Object *argument = spec.getObject("arg");
    if (const json::Object *tensor = argument ? argument->getObject("as_tensor") : nullptr)
      argument = tensor;
    return argument ? argument->getString("name").value_or("").str() : "";
  };
  for (const json::Value &value : *inputs) {
    SLUICE_ASSIGN_OR_RETURN(const auto arm, unionCase(value, "input"));
    const json::Object *spec = arm.second->getAsObject();
    if (!spec)
      return inputError("input, expected an object");
    InputSpec input;
    input.value = nameOfArgument(*spec);
    if (arm.first == "parameter") {
      input.kind = InputSpec::Kind::parameter;
      input.name = spec->getString("parameter_name").value_or("").str();
    } else if (arm.first == "buffer") {
      input.kind = InputSpec::Kind::buffer;
      input.name = spec->getString("buffer_name").value_or("").str();
    } else if (arm.first == "tensor_constant") {
      input.kind = InputSpec::Kind::constant;
      input.name = spec->getString("tensor_constant_name").value_or("").str();
    } else if (arm.first == "user_input") {
      input.name = input.value;
    } else if (arm.first != "constant_input") {
      return inputError(concat("input of kind '", arm.first.str(), "' is not supported"));
    }
    if (arm.first == "constant_input")
      continue;
    if (input.value.empty() || input.name.empty())
      return inputError(concat("input of kind '", arm.first.str(), "' without a name"));
    program.inputs.push_back(std::move(input));
  }
  std::size_t user = 0;
  for (const json::Value &value : *outputs) {
    SLUICE_ASSIGN_OR_RETURN(const auto arm, unionCase(value, "output"));
    const json::Object *spec = arm.second->getAsObject();
    if (!spec)
      return inputError("output, expected an object");
    if (arm.first == "user_output") {
      program.outputs.push_back({nameOfArgument(*spec), user < names.size() ? names[user] : ""});
      ++user;
    } else if (arm.first == "user_input_mutation" || arm.first == "parameter_mutation") {
      return inputError("the forward writes to an input or a parameter, which is not supported");
    } else if (arm.first != "buffer_mutation" && arm.first != "loss_output") {
      return inputError(concat("output of kind '", arm.first.str(), "' is not supported"));
    }
  }
  return Status::ok();
}

/// The conditions on the sizes of inputs that the program was made for.
Status checkGuards(const json::Object &model, Program &program) {
  const json::Array *guards = model.getArray("guards_code");
  if (!guards)
    return Status::ok();
  llvm::StringMap<llvm::SmallVector<std::int64_t>> sizes;
  for (const InputSpec &input : program.inputs)
    if (auto meta = program.graph.tensors.find(input.value);
        input.kind == InputSpec::Kind::user && meta != program.graph.tensors.end())
      sizes[input.name] = meta->second.sizes;
  for (const json::Value &value : *guards) {
    const std::string guard = value.getAsString().value_or("").str();
    const Result<bool> holds = evaluateGuard(guard, sizes);
    if (!holds.isOk())
      program.uncheckedGuards.push_back(concat(printable(guard), ": ", printable(holds.status().message())));
    else if (!*holds)
      return inputError(concat("the sizes are not as the program needs them: ", printable(guard)));
  }
  return Status::ok();
}

} // namespace

Result<Program> exported::readProgram(const json::Object &model, const SymbolValues &given,
                                      std::optional<std::int64_t> batch, bool allowDecomposed,
                                      const std::string &file) {
  const auto failed = [&](Status status) {
    Status result = inputError(concat(file, ": ", status.message()));
    for (const std::string &note : status.notes())
      result.addNote(note);
    return result;
  };
  const json::Object *version = model.getObject("schema_version");
  const std::optional<std::int64_t> major = version ? version->getInteger("major") : std::nullopt;
  if (!major || *major != 8)
    return inputError(concat(file, ": schema ", major.value_or(0), ".",
                             version ? version->getInteger("minor").value_or(0) : 0, " of torch.export, expected 8"))
        .withNote("torch 2.5 to 2.15 write schema 8");
  if (const json::Array *verifiers = model.getArray("verifiers"))
    for (const json::Value &verifier : *verifiers)
      if (verifier.getAsString() == llvm::StringRef("ATEN") && !allowDecomposed)
        return inputError(concat(file, ": decomposed program, expected the training program"))
            .withNote("save the result of torch.export.export without run_decompositions()")
            .withNote("--allow-decomposed imports it: regions under torch.no_grad() then have gradients, and composite "
                      "ops are missing");
  const json::Object *module = model.getObject("graph_module");
  const json::Object *graph = module ? module->getObject("graph") : nullptr;
  const json::Object *signature = module ? module->getObject("signature") : nullptr;
  if (!graph || !signature)
    return inputError(concat(file, ": program without 'graph_module.graph' or its 'signature'"));
  Program program;
  program.torchVersion = model.getString("torch_version").value_or("").str();
  Result<SymbolValues> symbols = bindSymbols(model, given, batch);
  if (!symbols.isOk())
    return failed(symbols.takeStatus());
  Reader reader(std::move(*symbols), file);
  if (Status status = reader.graph(*graph, program.graph); !status.isOk())
    return failed(std::move(status));
  if (Status status = readSignature(*signature, outputNames(*module), program); !status.isOk())
    return failed(std::move(status));
  for (const InputSpec &input : program.inputs)
    if (auto problem = reader.problems.find(input.value); problem != reader.problems.end())
      return inputError(concat(file, ": '", printable(input.name), "': ", problem->second));
  if (Status status = checkGuards(model, program); !status.isOk())
    return failed(std::move(status));
  return program;
}
