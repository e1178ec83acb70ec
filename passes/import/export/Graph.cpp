//===- Graph.cpp - the program of a torch.export archive -----------------------------------===//

#include "passes/import/export/Graph.h"

#include "passes/import/export/BindSymbols.h"
#include "passes/import/export/Complex.h"
#include "passes/import/export/Members.h"
#include "passes/import/export/Signature.h"

#include "runtime/base/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>
#include <map>

using namespace sluice;
using namespace sluice::exported;

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

Result<std::int64_t> readSize(const nlohmann::json &value, const SymbolValues &symbols) {
  SLUICE_ASSIGN_OR_RETURN(const auto arm, unionCase(value, "size"));
  if (arm.first == "as_int")
    if (std::optional<std::int64_t> size = asInteger(arm.second))
      return *size;
  if (arm.first == "as_name")
    if (std::optional<llvm::StringRef> name = asString(arm.second))
      return evaluateSize(*name, symbols);
  if (arm.first == "as_expr")
    if (std::optional<llvm::StringRef> text = getString(arm.second, "expr_str"))
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
    break;
  }
  static const std::map<std::int64_t, std::string> others = {{2, "int8"},
                                                             {3, "int16"},
                                                             {28, "uint16"},
                                                             {29, "float8_e4m3fn"},
                                                             {30, "float8_e5m2"},
                                                             {31, "float8_e4m3fnuz"},
                                                             {32, "float8_e5m2fnuz"},
                                                             {33, "float8_e8m0fnu"},
                                                             {34, "uint32"},
                                                             {35, "uint64"}};
  const auto known = others.find(number.value_or(0));
  const std::string name = known == others.end() ? concat("number ", number.value_or(0)) : known->second;
  return inputError(
      concat("element type ", name, " is not supported: use a float of 16 to 64 bits, int32, int64, uint8 or bool"));
}

Result<TensorMeta> readTensorMeta(const nlohmann::json &meta, const SymbolValues &symbols) {
  TensorMeta result;
  // complex64 and complex128.
  const std::optional<std::int64_t> dtype = getInteger(&meta, "dtype");
  result.isComplex = dtype == 10 || dtype == 11;
  SLUICE_ASSIGN_OR_RETURN(result.type, readScalarType(result.isComplex ? *dtype - 3 : dtype));
  if (const std::optional<std::int64_t> layout = getInteger(&meta, "layout"); layout && *layout != 7)
    return inputError("sparse tensors are not supported");
  for (const auto &[key, list] : {std::pair("sizes", &result.sizes), {"strides", &result.strides}}) {
    const nlohmann::json *values = getArray(&meta, key);
    if (!values)
      return inputError(concat("tensor without '", key, "'"));
    for (const nlohmann::json &value : *values) {
      SLUICE_ASSIGN_OR_RETURN(const std::int64_t size, readSize(value, symbols));
      if (size < 0 || size > std::int64_t(1) << 40)
        return inputError(concat("tensor with ", key, " ", size));
      list->push_back(size);
    }
  }
  if (result.sizes.size() != result.strides.size())
    return inputError("tensor with as many sizes as strides expected");
  if (const nlohmann::json *offset = getMember(&meta, "storage_offset")) {
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
std::optional<double> readNumber(const nlohmann::json &value) {
  if (value.is_number())
    return value.get<double>();
  const std::optional<llvm::StringRef> text = asString(&value);
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

  Result<Argument> argument(const nlohmann::json &value) {
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
    if (content->is_array() && !name.ends_with("s"))
      return malformed();
    if (name == "as_tensor" || name == "as_tensors" || name == "as_optional_tensor" || name == "as_optional_tensors") {
      result.kind = name.ends_with("s") ? Kind::tensors : Kind::tensor;
      for (const nlohmann::json *each : elements(*content)) {
        SLUICE_ASSIGN_OR_RETURN(std::string tensor, tensorName(*each));
        result.names.push_back(std::move(tensor));
      }
      return result;
    }
    if (name == "as_sym_int" || name == "as_sym_ints") {
      result.kind = name.ends_with("s") ? Kind::integers : Kind::integer;
      for (const nlohmann::json *each : elements(*content)) {
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
      for (const nlohmann::json *each : elements(*content)) {
        const bool *flag = each->get_ptr<const bool *>();
        const std::optional<std::int64_t> number = flag ? std::optional<std::int64_t>(*flag) : asInteger(each);
        if (!number)
          return malformed();
        result.integers.push_back(*number);
      }
      return result;
    }
    if (name == "as_float" || name == "as_floats") {
      result.kind = name.ends_with("s") ? Kind::numbers : Kind::number;
      for (const nlohmann::json *each : elements(*content)) {
        const std::optional<double> number = readNumber(*each);
        if (!number)
          return malformed();
        result.numbers.push_back(*number);
      }
      return result;
    }
    if (name == "as_string") {
      result.kind = Kind::text;
      const std::optional<llvm::StringRef> text = asString(content);
      if (!text)
        return malformed();
      result.text = text->str();
      return result;
    }
    if (name == "as_graph") {
      result.kind = Kind::graph;
      const nlohmann::json *inner = getObject(content, "graph");
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

  Status graph(const nlohmann::json &object, Graph &result) {
    const nlohmann::json *tensors = getObject(&object, "tensor_values");
    const nlohmann::json *nodes = getArray(&object, "nodes");
    if (!tensors || !nodes)
      return inputError("graph without 'nodes' or 'tensor_values'");
    if (const nlohmann::json *sizes = getObject(&object, "sym_int_values"))
      for (const auto &[name, value] : sizes->items())
        // A size that depends on data has no value: an error is that of its reader.
        if (const Result<std::int64_t> size = readSize(value, symbols); size.isOk())
          symbols.emplace(name, *size);
    for (const auto &[name, meta] : tensors->items()) {
      Result<TensorMeta> read = readTensorMeta(meta, symbols);
      // A value that no op reads may have any type: an error is that of its reader.
      if (read.isOk())
        result.tensors[name] = std::move(*read);
      else
        problems[name] = read.status().message();
    }
    for (const auto &[key, list] : {std::pair("inputs", &result.inputs), {"outputs", &result.outputs}})
      if (const nlohmann::json *values = getArray(&object, key))
        for (const nlohmann::json &value : *values) {
          SLUICE_ASSIGN_OR_RETURN(Argument read, argument(value));
          list->push_back(std::move(read));
        }
    result.nodes.reserve(nodes->size());
    for (const nlohmann::json &value : *nodes) {
      if (!value.is_object())
        return inputError("node, expected an object");
      SLUICE_ASSIGN_OR_RETURN(Node read, node(value));
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

  static llvm::SmallVector<const nlohmann::json *> elements(const nlohmann::json &value) {
    llvm::SmallVector<const nlohmann::json *> list;
    if (value.is_array())
      for (const nlohmann::json &each : value)
        list.push_back(&each);
    else
      list.push_back(&value);
    return list;
  }

  /// Of a tensor, or empty for an absent optional one.
  static Result<std::string> tensorName(const nlohmann::json &value) {
    if (getMember(&value, "as_none"))
      return std::string();
    const nlohmann::json *inner = getObject(&value, "as_tensor"), *object = inner ? inner : &value;
    const std::optional<llvm::StringRef> name = getString(object, "name");
    if (!name || name->empty())
      return inputError("tensor argument without 'name'");
    return name->str();
  }

  Result<Node> node(const nlohmann::json &fields) {
    Node result;
    const std::optional<llvm::StringRef> target = getString(&fields, "target");
    if (!target)
      return inputError("node without 'target'");
    llvm::StringRef name = *target;
    name.consume_front("torch.ops.");
    result.target = name.str();
    if (const nlohmann::json *metadata = getObject(&fields, "metadata"))
      readOrigin(*metadata, result.origin);
    const auto failed = [&](Status status) {
      return inputError(concat(place(result), "'", printable(result.target), "': ", status.message()));
    };
    if (const nlohmann::json *inputs = getArray(&fields, "inputs"))
      for (const nlohmann::json &input : *inputs) {
        const nlohmann::json *value = getMember(&input, "arg");
        const std::optional<llvm::StringRef> key = getString(&input, "name");
        if (!value || !key)
          return failed(inputError("input without 'name' or 'arg'"));
        Result<Argument> read = argument(*value);
        if (!read.isOk())
          return failed(read.takeStatus());
        result.inputs.emplace_back(key->str(), std::move(*read));
      }
    if (const nlohmann::json *outputs = getArray(&fields, "outputs"))
      for (const nlohmann::json &output : *outputs) {
        if (getMember(&output, "as_sym_int") || getMember(&output, "as_sym_bool") ||
            getMember(&output, "as_sym_float")) {
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

  static void readOrigin(const nlohmann::json &metadata, Origin &origin) {
    // "key,path,type" of each module, separated by ";". The key of a second call ends with "@1", the path does not.
    if (const std::optional<llvm::StringRef> stack = getString(&metadata, "nn_module_stack")) {
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
    const std::optional<llvm::StringRef> trace = getString(&metadata, "stack_trace");
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

} // namespace

Result<Program> exported::readProgram(const nlohmann::json &model, const SymbolValues &given, const RowSizes &rows,
                                      bool allowDecomposed, const std::string &file) {
  const auto failed = [&](Status status) {
    Status result = inputError(concat(file, ": ", status.message()));
    for (const std::string &note : status.notes())
      result.addNote(note);
    return result;
  };
  const nlohmann::json *version = getObject(&model, "schema_version");
  const std::optional<std::int64_t> major = getInteger(version, "major");
  if (!major || *major != 8)
    return inputError(concat(file, ": schema ", major.value_or(0), ".",
                             version ? getInteger(version, "minor").value_or(0) : 0, " of torch.export, expected 8"))
        .withNote("torch 2.5 to 2.15 write schema 8");
  if (const nlohmann::json *verifiers = getArray(&model, "verifiers"))
    for (const nlohmann::json &verifier : *verifiers)
      if (asString(&verifier) == llvm::StringRef("ATEN") && !allowDecomposed)
        return inputError(concat(file, ": decomposed program, expected the training program"))
            .withNote("save the result of torch.export.export without run_decompositions()")
            .withNote("--allow-decomposed imports it: regions under torch.no_grad() then have gradients, and composite "
                      "ops are missing");
  const nlohmann::json *module = getObject(&model, "graph_module");
  const nlohmann::json *graph = getObject(module, "graph");
  if (!graph || !getObject(module, "signature"))
    return inputError(concat(file, ": program without 'graph_module.graph' or its 'signature'"));
  Program program;
  program.file = file;
  program.torchVersion = getString(&model, "torch_version").value_or("").str();
  Result<SymbolValues> symbols = bindSymbols(model, given, rows);
  if (!symbols.isOk())
    return failed(symbols.takeStatus());
  Reader reader(std::move(*symbols), file);
  if (Status status = reader.graph(*graph, program.graph); !status.isOk())
    return failed(std::move(status));
  if (Status status = readSignature(*module, program); !status.isOk())
    return failed(std::move(status));
  for (const InputSpec &input : program.inputs)
    if (auto problem = reader.problems.find(input.value); problem != reader.problems.end())
      return inputError(concat(file, ": '", printable(input.name), "': ", problem->second));
  if (Status status = checkGuards(model, program); !status.isOk())
    return failed(std::move(status));
  return program;
}
