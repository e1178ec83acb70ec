//===- GraphImport.h - runs a program op by op, and builds the model's ops ----------------===//
//
// Every name of the graph is a view of a storage, as a tensor of torch is. An op in place writes to the
// storage through the view, and other views of it follow, so the result is functional. An op whose operands are all
// constants is evaluated.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_GRAPHIMPORT_H
#define SLUICE_PASSES_IMPORT_EXPORT_GRAPHIMPORT_H

#include "passes/import/export/Call.h"

#include <set>

namespace sluice::exported {

/// Something of the program that is not supported.
struct Problem {
  Origin origin;
  std::string op, why, remedy;
  std::int64_t count = 1;
};

struct Storage {
  enum class Kind { plain, parameter, input, buffer };
  Tensor value;
  Kind kind = Kind::plain;
  /// Of the parameter, input or buffer.
  std::string name;
  /// Whether another tensor shares it is unknown: a write is refused.
  bool mayBeShared = false;
  /// The depth of regions without gradient where it was made.
  unsigned depth = 0;
  /// The number of writes.
  unsigned version = 0;
  /// Numbers of the problems because of which it has no value.
  std::set<std::size_t> problems;
};

/// A view of a storage: the ops that lead to it, each a result of a node.
struct Binding {
  struct Step {
    const Node *node;
    const AtenOp *op;
    unsigned result;
    llvm::SmallVector<const TensorMeta *> metas;
  };
  std::shared_ptr<Storage> storage;
  llvm::SmallVector<Step> steps;
  Tensor value;
  unsigned version = 0;
  const TensorMeta *meta = nullptr;
};

class GraphImport : public Importer {
public:
  GraphImport(mlir::ImplicitLocOpBuilder &builder, std::optional<double> dropout)
      : builder(builder), dropout(dropout) {}

  /// Names of the graph's inputs, then of its results.
  using Scope = llvm::StringMap<Binding>;
  void bind(Scope &scope, llvm::StringRef name, std::shared_ptr<Storage> storage);
  void run(const Graph &graph, Scope &scope);
  /// Null with `problems` if it could not be computed.
  Tensor get(Scope &scope, llvm::StringRef name, std::set<std::size_t> &problems);
  const std::vector<Problem> &problems() const { return found; }

  mlir::Value materialize(const Tensor &tensor) override;
  ConstantPtr constantOf(mlir::Value value) override;
  RandomSource randomSource() override { return {seed, step, row, rows, nextKey++}; }
  double dropoutRate(double given) const override { return dropout.value_or(given); }
  mlir::Value makeDropout(mlir::Value x, double rate) override;

  /// Seed, step and row, and the rows of the batch, set by the caller.
  mlir::Value seed, step, row;
  std::int64_t rows = 0;
  /// Problems that matter whatever is read.
  std::set<std::size_t> alwaysBlocking;

private:
  mlir::ImplicitLocOpBuilder &builder;
  std::optional<double> dropout;
  /// Of the ops that draw random numbers.
  std::int64_t nextKey = 0;
  std::vector<Problem> found;
  std::vector<ConstantPtr> constants;
  /// Constants by the op, its operands and arguments, and its result: layers compute the same tables again.
  std::map<std::string, ConstantPtr> evaluated;
  llvm::DenseMap<const Constant *, mlir::Value> placeholders;
  /// Writes of the last node that was computed, by argument.
  std::vector<std::pair<std::string, mlir::Value>> argumentWrites;
  /// Depth of regions without gradient.
  unsigned withoutGradient = 0;

  void runNode(const Graph &graph, const Node &node, Scope &scope);
  void runRegion(const Node &node, Scope &scope);
  /// True if the results of an op share the storage of its first operand; unknown is for the caller to refuse.
  enum class Sharing : std::uint8_t { no, yes, unknown };
  static Sharing sharingOf(const Graph &graph, const Node &node, const AtenOp *op, const Tensor &operand,
                           const Tensor &result);
  /// Writes of a node to tensors that are its arguments; false if one is refused.
  bool applyWrites(const Node &node, Scope &scope, const std::vector<std::pair<std::string, mlir::Value>> &writes);
  void runInPlace(const Graph &graph, const Node &node, const AtenOp &op, Scope &scope);
  std::vector<Tensor> compute(const Node &node, llvm::StringRef op, const AtenOp *entry,
                              const llvm::StringMap<Tensor> &operands, llvm::ArrayRef<const TensorMeta *> metas);
  /// The tensors of a node, or the problems of those that have no value.
  llvm::StringMap<Tensor> operandsOf(const Node &node, Scope &scope, std::set<std::size_t> &problems);
  Tensor resolve(Binding &binding);
  void fail(const Node &node, Scope &scope, std::set<std::size_t> problems);
  std::size_t addProblem(const Node &node, std::string why, std::string remedy);
  mlir::Location locationOf(const Node &node);
};

/// The names of inputs whose storage an op of the graph writes to.
std::set<std::string> writtenInputs(const Graph &graph);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_GRAPHIMPORT_H
