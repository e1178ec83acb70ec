//===- Translation.h - a program of ATen calls from the ops of StableHLO --------------------===//
//
// The importer of torch.export archives reads a graph of ATen calls, evaluates its constants and recognises composite
// ops. A text of StableHLO becomes such a graph: each op is one or more calls.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_STABLEHLO_TRANSLATION_H
#define SLUICE_PASSES_IMPORT_STABLEHLO_TRANSLATION_H

#include "passes/import/export/Constant.h"

#include "mlir/IR/Operation.h"

namespace sluice::stablehlo {

using exported::Argument;
using exported::ConstantPtr;
using exported::Node;
using exported::ScalarType;
using exported::TensorMeta;
using Sizes = llvm::SmallVector<std::int64_t>;
using Arguments = std::vector<std::pair<std::string, Argument>>;

Argument tensor(const std::string &name);
Argument tensors(std::vector<std::string> names);
Argument integer(std::int64_t value);
Argument integers(llvm::ArrayRef<std::int64_t> values);
Argument number(double value);
Argument flag(bool value);
Argument text(std::string value);
/// A number of the element type.
Argument numberOf(double value, ScalarType type);

/// The type with these sizes, contiguous.
TensorMeta metaOf(ScalarType type, llvm::ArrayRef<std::int64_t> sizes);
inline TensorMeta withSizes(const TensorMeta &meta, llvm::ArrayRef<std::int64_t> sizes) {
  return metaOf(meta.type, sizes);
}
/// Not more than the largest number.
std::int64_t countOf(llvm::ArrayRef<std::int64_t> sizes);

/// The graph under construction. Values have names.
class Translation {
public:
  exported::Program program;
  /// Of the op that is read: of each call that it becomes.
  exported::Origin origin;
  std::string spelling;

  const TensorMeta &meta(llvm::StringRef name) const;
  llvm::ArrayRef<std::int64_t> sizes(llvm::StringRef name) const { return meta(name).sizes; }
  std::int64_t rank(llvm::StringRef name) const { return static_cast<std::int64_t>(sizes(name).size()); }
  ScalarType type(llvm::StringRef name) const { return meta(name).type; }
  /// The value of all elements, if it is known.
  std::optional<double> splat(llvm::StringRef name) const;
  void setSplat(llvm::StringRef name, double value) { splats[name] = value; }
  /// The call that has the value as its only result; null for others.
  const Node *maker(llvm::StringRef name) const;
  /// The call, if it is of this target.
  const Node *maker(llvm::StringRef name, llvm::StringRef target) const;
  /// The name of an operand of a call. The next call may move the node.
  static std::string operandOf(const Node &node, llvm::StringRef argument);
  /// The value before ops that change the shape or repeat elements.
  std::string withoutViews(std::string name) const;
  /// A value of one element along the dim, from whose repetition along it `value` is; empty for another value.
  std::string beforeRepetition(const std::string &value, std::int64_t dim) const;
  /// Whether it is an input of the user.
  bool isInput(llvm::StringRef name) const;

  /// Adds an input of the graph.
  std::string addInput(exported::InputSpec::Kind kind, const std::string &name, const TensorMeta &meta,
                       ConstantPtr constant = nullptr);
  std::string emit(llvm::StringRef target, Arguments arguments, const TensorMeta &meta);
  /// A call that cannot be translated, with its results.
  std::vector<std::string> emitProblem(llvm::ArrayRef<TensorMeta> results, std::string problem, std::string remedy);

  std::string full(double value, const TensorMeta &meta);
  std::string view(const std::string &x, llvm::ArrayRef<std::int64_t> sizes);
  std::string expand(const std::string &x, llvm::ArrayRef<std::int64_t> sizes);
  std::string permute(const std::string &x, llvm::ArrayRef<std::int64_t> permutation);
  std::string slice(const std::string &x, std::int64_t dim, std::int64_t start, std::int64_t limit,
                    std::int64_t step = 1);
  /// Whether no amount is negative and the padded value has at most 2^48 elements.
  bool fitsPadded(const std::string &x, std::int64_t dim, std::int64_t before, std::int64_t after,
                  std::int64_t between) const;
  /// With `fill` before and after the elements of a dim, and `between` times between each two of them.
  /// Requires fitsPadded().
  std::string pad(const std::string &x, std::int64_t dim, std::int64_t before, std::int64_t after, std::int64_t between,
                  double fill);
  std::string cast(const std::string &x, ScalarType type);
  std::string join(const std::vector<std::string> &parts, std::int64_t dim);
  /// Numbers from 0 along a dim of these sizes.
  std::string iota(const TensorMeta &meta, std::int64_t dim);
  std::string unary(llvm::StringRef target, const std::string &x, llvm::StringRef name = "self");
  std::string binary(llvm::StringRef target, const std::string &a, const std::string &b, const TensorMeta &meta);
  /// With a number in place of the second operand.
  std::string binary(llvm::StringRef target, const std::string &a, double b, const TensorMeta &meta);

private:
  llvm::StringMap<double> splats;
  /// The index of the node of each result.
  llvm::StringMap<std::size_t> makers;
  std::int64_t count = 0;

  std::string newName(const TensorMeta &meta);
};

/// An op that is read.
class OpCall {
public:
  /// `operands` have a value each.
  OpCall(Translation &graph, mlir::Operation &op, std::vector<std::string> operands, std::vector<TensorMeta> results)
      : graph(graph), op(op), operands(std::move(operands)), metas(std::move(results)) {}

  Translation &graph;
  mlir::Operation &op;

  /// Of an op with too few operands the call is refused, and the operand is one of any value.
  const std::string &operand(unsigned index);
  const std::vector<std::string> &allOperands() const { return operands; }
  /// The type of a result. The reader calls only ops with a result.
  const TensorMeta &result(unsigned index = 0) const { return metas[index]; }
  unsigned resultCount() const { return static_cast<unsigned>(metas.size()); }

  mlir::Attribute attribute(llvm::StringRef name) const;
  /// Lists of integers, also of a `dense` attribute.
  std::optional<Sizes> optionalIntegers(llvm::StringRef name);
  Sizes integers(llvm::StringRef name);
  std::int64_t integer(llvm::StringRef name);
  std::int64_t integer(llvm::StringRef name, std::int64_t absent);
  /// A dim of `x`.
  std::int64_t dim(llvm::StringRef name, llvm::StringRef x);
  /// Dims of a tensor of this rank, each at most once.
  Sizes dims(llvm::StringRef name, std::int64_t rank);
  /// Refuses the call unless all are dims of a tensor of this rank, each at most once.
  bool areDims(llvm::ArrayRef<std::int64_t> dims, std::int64_t rank);

  void set(std::string name) { made = {std::move(name)}; }
  void set(std::vector<std::string> names) { made = std::move(names); }
  const std::vector<std::string> &results() const { return made; }
  void refuse(std::string why, std::string remedy = "");
  /// Refuse texts that StableHLO does not accept.
  void refuseShapes() { refuse("its shapes do not fit each other"); }
  void refuseBounds() { refuse("its bounds are outside its operand, or not one for each dim"); }
  bool isRefused() const { return !why.empty(); }
  const std::string &problem() const { return why; }
  const std::string &remedy() const { return toDo; }

private:
  std::vector<std::string> operands;
  std::vector<TensorMeta> metas;
  std::vector<std::string> made;
  std::string why, toDo;
};

/// The op that the only region of an op applies to its two arguments, such as "add"; empty for another region.
llvm::StringRef combinerOf(mlir::Operation &op);

/// Translates an op: sets its results, or refuses it.
using Translate = void (*)(OpCall &);
struct TableEntry {
  /// Without "stablehlo.", except of other dialects; of a marker "@sluice.relu".
  llvm::StringLiteral name;
  Translate translate;
};
llvm::ArrayRef<TableEntry> pointwiseOps();
llvm::ArrayRef<TableEntry> shapeOps();
llvm::ArrayRef<TableEntry> reductionOps();
llvm::ArrayRef<TableEntry> productOps();
llvm::ArrayRef<TableEntry> indexOps();
llvm::ArrayRef<TableEntry> scatterOps();
llvm::ArrayRef<TableEntry> markerOps();
struct Family {
  llvm::StringLiteral name;
  llvm::ArrayRef<TableEntry> ops;
};
llvm::ArrayRef<Family> families();
/// Null if no table has it.
const TableEntry *findOp(llvm::StringRef name);

} // namespace sluice::stablehlo

#endif // SLUICE_PASSES_IMPORT_STABLEHLO_TRANSLATION_H
