//===- Graph.h - the program of a torch.export archive -----------------------------------===//
//
// The JSON of `models/model.json` as values: a graph whose nodes call ATen ops by the names of their schemas, and the
// names of parameters, buffers, inputs and outputs. The schema is torch/_export/serde/schema.py, major version 8:
// unknown fields are ignored, unknown cases of a union are refused by name. Sizes are bound to numbers while the JSON
// is read.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_GRAPH_H
#define SLUICE_PASSES_IMPORT_EXPORT_GRAPH_H

#include "passes/import/export/Symbols.h"
#include "runtime/base/Status.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sluice::exported {

/// An element type, by its number in the schema. Others than these are refused.
enum class ScalarType : std::uint8_t { u8 = 1, i32 = 4, i64 = 5, f16 = 6, f32 = 7, f64 = 8, boolean = 12, bf16 = 13 };

inline bool isFloat(ScalarType type) {
  return type == ScalarType::f16 || type == ScalarType::f32 || type == ScalarType::f64 || type == ScalarType::bf16;
}
/// "float32", as torch prints it.
llvm::StringRef nameOf(ScalarType type);

struct TensorMeta {
  ScalarType type = ScalarType::f32;
  /// Complex numbers of two floats of the type, which are a last dim of 2 more.
  bool isComplex = false;
  llvm::SmallVector<std::int64_t> sizes, strides;
  /// Elements before the first one in the storage.
  std::int64_t offset = 0;
};

class Constant;
struct Graph;

struct Argument {
  enum class Kind {
    none,
    tensor,
    tensors,
    integer,
    integers,
    number,
    numbers,
    boolean,
    text,
    scalarType,
    graph,
    /// A condition or a number that depends on sizes.
    symbolic,
    ignored
  };
  Kind kind = Kind::none;
  /// Names of values; an empty one is an absent optional tensor.
  std::vector<std::string> names;
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::string text;
  std::shared_ptr<Graph> graph;
};

/// Where the user's program has an op.
struct Origin {
  /// Paths of the modules from the outermost to the innermost one; each begins with the one before. The path of a
  /// second call of a module ends with "@1". Types are as in the archive: "torch.nn.modules.linear.Linear".
  std::vector<std::string> modules, types;
  /// The innermost frame outside torch's own files; line 0 if the archive has none.
  std::string file, source;
  std::int64_t line = 0;
};

struct Node {
  /// Without "torch.ops.": "aten.linear.default".
  std::string target;
  std::vector<std::pair<std::string, Argument>> inputs;
  /// Names of the results; an empty one has no name.
  std::vector<std::string> outputs;
  /// Its results are sizes, whose values the program states.
  bool givesSizes = false;
  /// The op in the user's file; empty: the target.
  std::string spelling;
  /// Why it is not supported, if that is known, and what the user may do.
  std::string problem, remedy;
  Origin origin;

  const Argument *find(llvm::StringRef name) const;
};

struct Graph {
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  llvm::StringMap<TensorMeta> tensors;
};

/// What a value of the graph's inputs is.
struct InputSpec {
  enum class Kind { parameter, buffer, constant, user };
  Kind kind = Kind::user;
  /// Of the value in the graph.
  std::string value;
  /// Of the parameter, buffer or constant: its qualified name; of a user input, the name of forward's argument.
  std::string name;
  /// Of a parameter: no gradient.
  bool isFrozen = false;
  /// The value of a constant or of a buffer that is no state.
  std::shared_ptr<const Constant> constant;
};

struct OutputSpec {
  std::string value;
  /// The key in the dict that forward returns, or empty.
  std::string name;
};

struct Program {
  /// For messages.
  std::string file;
  Graph graph;
  std::vector<InputSpec> inputs;
  /// Those of the user; results that are written back to buffers are not among them.
  std::vector<OutputSpec> outputs;
  std::string torchVersion;
  /// Guards of torch.export that are not understood, so they are not checked.
  std::vector<std::string> uncheckedGuards;
};

/// Reads `models/model.json` with the given values of dynamic sizes. `file` is for messages.
Result<Program> readProgram(const nlohmann::json &model, const SymbolValues &given, const RowSizes &rows,
                            bool allowDecomposed, const std::string &file);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_GRAPH_H
