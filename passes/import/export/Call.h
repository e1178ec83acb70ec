//===- Call.h - the call of an op, for the builders of the ATen tables -------------------===//
//
// A builder reads the operands of a node by the names of the op's schema, with torch's defaults, and sets its results.
// What it cannot express it refuses; the message gets the user's line.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_CALL_H
#define SLUICE_PASSES_IMPORT_EXPORT_CALL_H

#include "passes/import/export/Mask.h"

#include "dialect/model/Model.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>

namespace sluice::exported {

/// The value of a name of the graph: a value of the module, a constant, or nothing.
struct Tensor {
  mlir::Value value;
  ConstantPtr constant;

  explicit operator bool() const { return value || constant; }
  llvm::ArrayRef<std::int64_t> shape() const;
};

/// The element type of a value of the module; booleans are ui8.
mlir::Type elementTypeOf(mlir::Builder &builder, ScalarType type);

/// By what an op draws random numbers: the inputs of the entry point, the rows of its batch, and a key that no other op
/// has.
struct RandomSource {
  mlir::Value seed, step, row;
  std::int64_t rows, key;
};

/// What the builders need of the import around them.
class Importer {
public:
  virtual ~Importer() = default;
  /// The value of a tensor; a constant becomes a placeholder, which is resolved when the graph is complete.
  virtual mlir::Value materialize(const Tensor &tensor) = 0;
  /// Null if the value is no placeholder of a constant.
  virtual ConstantPtr constantOf(mlir::Value value) = 0;
  /// classifyMask(), once for each mask.
  std::optional<MaskKind> maskKind(const ConstantPtr &mask, std::int64_t queries, std::int64_t keys);
  virtual RandomSource randomSource() = 0;
  /// The rate of a dropout of the archive, or what replaces it.
  virtual double dropoutRate(double given) const = 0;
  virtual mlir::Value makeDropout(mlir::Value x, double rate) = 0;
  /// Dropouts of the model, also those inside of attention.
  std::int64_t dropouts = 0;
  /// Dropouts that the archive has switched off.
  std::int64_t idleDropouts = 0;
  /// Batch norms in training, and those by their running statistics.
  std::int64_t batchNorms = 0, idleBatchNorms = 0;
  /// Attentions that are separate ops, and the bytes of their weights.
  std::int64_t separateAttentions = 0, separateBytes = 0;

private:
  /// With the constants, whose addresses stay theirs.
  std::map<const Constant *, std::pair<ConstantPtr, std::optional<MaskKind>>> masks;
};

class Call {
public:
  /// `operands` are the tensors of the node by name; `results` their types, of which some may be unknown.
  Call(Importer &importer, mlir::ImplicitLocOpBuilder &builder, const Node &node, llvm::StringRef op,
       const llvm::StringMap<Tensor> &operands, llvm::ArrayRef<const TensorMeta *> results)
      : builder(builder), importer(importer), node(node), op(op), operands(operands), metas(results) {}

  mlir::ImplicitLocOpBuilder &builder;
  Importer &importer;

  //===- Operands ---------------------------------------------------------------===//

  Tensor tensor(llvm::StringRef name);
  mlir::Value value(llvm::StringRef name);
  /// Null if it is None.
  mlir::Value optionalValue(llvm::StringRef name);
  std::vector<Tensor> tensors(llvm::StringRef name);
  llvm::SmallVector<mlir::Value> values(llvm::StringRef name);
  /// True if the archive has the argument; others have their default.
  bool has(llvm::StringRef name) const { return node.find(name) != nullptr; }
  bool isNone(llvm::StringRef name);
  bool isTensor(llvm::StringRef name);
  double number(llvm::StringRef name);
  std::optional<double> optionalNumber(llvm::StringRef name);
  std::int64_t integer(llvm::StringRef name);
  llvm::SmallVector<std::int64_t> integers(llvm::StringRef name);
  llvm::SmallVector<double> numbers(llvm::StringRef name);
  bool flag(llvm::StringRef name);
  std::string text(llvm::StringRef name);
  /// A dim of a tensor of this rank, from 0; negative ones count from the end.
  std::int64_t dim(llvm::StringRef name, std::int64_t rank);
  /// Dims, sorted; none given are all.
  llvm::SmallVector<std::int64_t> dims(llvm::StringRef name, std::int64_t rank);

  //===- Results ----------------------------------------------------------------===//

  const TensorMeta &result(unsigned index = 0) const { return *metas[index]; }
  unsigned resultCount() const { return metas.size(); }
  mlir::RankedTensorType resultType(unsigned index = 0);
  mlir::Type elementType(ScalarType type) { return elementTypeOf(builder, type); }
  void set(mlir::Value value) { made = {Tensor{value, nullptr}}; }
  void set(mlir::ValueRange values);
  void set(ConstantPtr constant) { made = {Tensor{{}, std::move(constant)}}; }
  void setTensors(std::vector<Tensor> tensors) { made = std::move(tensors); }
  /// The call writes to a tensor that is an argument of the name; the op's entry in the table names it.
  void write(llvm::StringRef name, mlir::Value value) { written.emplace_back(name, value); }
  llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Value>> writes() const { return written; }
  const std::vector<Tensor> &results() const { return made; }

  /// The first problem counts.
  void refuse(const std::string &why, const std::string &remedy = "");
  const std::string &problem() const { return why; }
  const std::string &remedy() const { return toDo; }

  //===- Helpers ----------------------------------------------------------------===//

  /// An attribute by its name in the op.
  using Named = std::pair<llvm::StringRef, mlir::Attribute>;
  /// The results of an op of the inferred types, or of `types`. An archive may state anything: what the op's own rules
  /// reject refuses the call, with their message, and there are no results. Null attributes are left out.
  template <typename Op>
  llvm::SmallVector<mlir::Value> makeAll(mlir::ValueRange operands, llvm::ArrayRef<Named> attributes,
                                         mlir::TypeRange types = {}) {
    return makeAll(Op::getOperationName(), operands, attributes, types,
                   [](mlir::OperationState &state, mlir::DictionaryAttr dictionary) {
                     if constexpr (requires { typename Op::Properties; }) {
                       const auto emitError = [&] { return mlir::emitError(state.location); };
                       if (failed(Op::setPropertiesFromAttr(state.getOrAddProperties<typename Op::Properties>(),
                                                            dictionary, emitError)))
                         return mlir::failure();
                     }
                     if constexpr (Op::template hasTrait<mlir::InferTypeOpInterface::Trait>())
                       if (state.types.empty())
                         return Op::inferReturnTypes(dictionary.getContext(), state.location, state.operands,
                                                     dictionary, state.getRawProperties(), {}, state.types);
                     return mlir::success();
                   });
  }
  /// The first result; of a refused call the first operand, or a scalar.
  template <typename Op>
  mlir::Value make(mlir::ValueRange operands, llvm::ArrayRef<Named> attributes = {}, mlir::Type type = {}) {
    const llvm::SmallVector<mlir::Value> results =
        makeAll<Op>(operands, attributes, type ? mlir::TypeRange(type) : mlir::TypeRange());
    return !results.empty() ? results.front() : operands.empty() ? anyScalar() : operands.front();
  }
  static llvm::ArrayRef<std::int64_t> shapeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
  }
  static std::int64_t rankOf(mlir::Value value) { return static_cast<std::int64_t>(shapeOf(value).size()); }
  /// The extent of a dim; a scalar has none, and is refused.
  std::int64_t extentOf(mlir::Value value, std::int64_t dim);
  mlir::RankedTensorType typeLike(mlir::Value value, llvm::ArrayRef<std::int64_t> shape);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<std::int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<std::int64_t> permutation);
  /// The value with dims `a` and `b` exchanged.
  mlir::Value swap(mlir::Value value, std::int64_t a, std::int64_t b);
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<std::int64_t> shape);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  mlir::Value slice(mlir::Value value, std::int64_t dim, std::int64_t start, std::int64_t limit, std::int64_t step = 1);
  /// A scalar that broadcasts, of the element type of `like`.
  mlir::Value scalar(double value, mlir::Value like);
  mlir::Value scale(mlir::Value value, double factor);
  mlir::Value compare(mlir::Value a, ComparePredicate predicate, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// a b, or a b^T.
  mlir::Value product(mlir::Value a, mlir::Value b, bool transposeB = false);
  /// With `value` before and after the elements, a number of elements for each dim.
  mlir::Value pad(mlir::Value value, llvm::ArrayRef<std::int64_t> low, llvm::ArrayRef<std::int64_t> high, double fill);
  /// The values one after another along a dim.
  mlir::Value join(llvm::ArrayRef<mlir::Value> values, std::int64_t dim);

private:
  const Node &node;
  llvm::StringRef op;
  const llvm::StringMap<Tensor> &operands;
  llvm::SmallVector<const TensorMeta *> metas;
  std::vector<Tensor> made;
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>> written;
  std::string why, toDo;

  using Prepare = llvm::function_ref<llvm::LogicalResult(mlir::OperationState &, mlir::DictionaryAttr)>;
  llvm::SmallVector<mlir::Value> makeAll(llvm::StringRef op, mlir::ValueRange operands,
                                         llvm::ArrayRef<Named> attributes, mlir::TypeRange types, Prepare prepare);
  /// For a builder to go on with after the call is refused.
  mlir::Value anyScalar();
  /// The argument of the node, or the schema's default.
  const Argument *argument(llvm::StringRef name);
};

/// Builds an op of the table.
using Build = void (*)(Call &);
/// Of an op whose result is a view of its first operand: that operand after a write to the view.
using WriteBack = mlir::Value (*)(Call &, mlir::Value base, mlir::Value written, unsigned result);

/// Of a view with the elements of its operand.
inline mlir::Value sameBack(Call &, mlir::Value, mlir::Value written, unsigned) { return written; }

/// Whether the result shares the memory of the first operand.
enum class Memory : std::uint8_t {
  fresh,
  view,
  /// If the op changes nothing, as a cast to the same type.
  viewIfSame,
  /// If the operand is contiguous; otherwise it is a copy.
  viewIfContiguous,
  /// The same, but otherwise it is unknown.
  viewIfContiguousElseUnknown,
};

struct AtenOp {
  /// With overload: "add.Tensor".
  llvm::StringLiteral name;
  Build build;
  Memory memory = Memory::fresh;
  /// Null: a write to such a view is refused.
  WriteBack writeBack = nullptr;
  /// Arguments that the op writes to besides its results, unless its argument `training` is false.
  std::array<llvm::StringRef, 2> written = {};
};

/// The tables of the families; each op is in one.
llvm::ArrayRef<AtenOp> pointwiseOps();
llvm::ArrayRef<AtenOp> shapeOps();
llvm::ArrayRef<AtenOp> indexOps();
llvm::ArrayRef<AtenOp> reductionOps();
llvm::ArrayRef<AtenOp> matrixOps();
llvm::ArrayRef<AtenOp> normOps();
llvm::ArrayRef<AtenOp> attentionOps();
llvm::ArrayRef<AtenOp> lossOps();
llvm::ArrayRef<AtenOp> randomOps();
llvm::ArrayRef<AtenOp> complexOps();
llvm::ArrayRef<AtenOp> einsumOps();
/// `mul.Tensor` of complex numbers.
void multiplyComplex(Call &call);
llvm::ArrayRef<AtenOp> creationOps();
llvm::ArrayRef<AtenOp> convolutionOps();
llvm::ArrayRef<AtenOp> poolingOps();
llvm::ArrayRef<AtenOp> recurrentOps();
llvm::ArrayRef<AtenOp> joinOps();
llvm::ArrayRef<AtenOp> rearrangeOps();
llvm::ArrayRef<AtenOp> orderOps();
llvm::ArrayRef<AtenOp> roundingOps();
llvm::ArrayRef<AtenOp> functionOps();
llvm::ArrayRef<AtenOp> specialOps();
llvm::ArrayRef<AtenOp> scatterOps();
llvm::ArrayRef<AtenOp> resampleOps();
llvm::ArrayRef<AtenOp> distanceOps();
llvm::ArrayRef<AtenOp> statisticsOps();
llvm::ArrayRef<AtenOp> activationOps();
llvm::ArrayRef<AtenOp> marginOps();
/// Null if no table has it.
const AtenOp *findAtenOp(llvm::StringRef name);
/// What the user may write instead of an op that no table has; empty if nothing is known.
llvm::StringRef remedyOf(llvm::StringRef name);
struct AtenFamily {
  llvm::StringLiteral name;
  llvm::ArrayRef<AtenOp> ops;
};
llvm::ArrayRef<AtenFamily> atenFamilies();

/// The result of an op all of whose operands are constants; null if it is not evaluated.
ConstantPtr evaluate(Call &call, llvm::StringRef op);
/// The ops that are evaluated, by name.
std::vector<llvm::StringRef> evaluatedOps();

/// The default of an argument: null if the schema has none, or the op is unknown.
const Argument *schemaDefault(llvm::StringRef op, llvm::StringRef argument);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_CALL_H
