//===- Helpers.h - helpers of the op families -------------------------------------===//
//
// Shapes, small builders for derivatives, rules of elementwise ops, costs from types, attributes of kernel calls.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_HELPERS_H
#define SLUICE_DIALECT_MODEL_OPS_HELPERS_H

#include "dialect/model/Attributes.h"

#include <cstdint>
#include <optional>

namespace sluice::model {

/// One value for each result or operand of an op.
using FailureOrValues = llvm::FailureOr<llvm::SmallVector<mlir::Value>>;

//===- Types -------------------------------------------------------------------===//

inline mlir::RankedTensorType typeOf(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
inline llvm::ArrayRef<std::int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }
inline mlir::Type elementOf(mlir::Value value) { return typeOf(value).getElementType(); }
inline bool isFloat(mlir::Value value) { return mlir::isa<mlir::FloatType>(elementOf(value)); }

/// Same shape and element type, whatever the encodings.
bool typeAgrees(mlir::Type a, mlir::Type b);
/// `2x3x4`, or `scalar`.
std::string shapeText(llvm::ArrayRef<std::int64_t> shape);
/// Sets the element type, and keeps shape and encoding.
void setElement(mlir::Value value, mlir::Type element);
/// A tensor type without encoding.
mlir::RankedTensorType tensorOf(llvm::ArrayRef<std::int64_t> shape, mlir::Type element);
/// The type of statistics and losses over values of `element`: f64 for f64, else f32.
mlir::Type statisticsElement(mlir::Type element);
bool isUnsignedByte(mlir::Type element);

/// The types of the results of an op whose extents follow from its operands by the signature of `kernel`. Each of
/// `types` is a tensor type, or the element type of a tensor of these extents. An error names the kernel.
llvm::LogicalResult inferExtents(std::optional<mlir::Location> location, KernelId kernel, mlir::ValueRange operands,
                                 llvm::ArrayRef<mlir::Type> types, llvm::SmallVectorImpl<mlir::Type> &results,
                                 const Attributes &attributes = Attributes());
/// The numpy broadcast of the shapes, or failure where they do not fit.
llvm::FailureOr<llvm::SmallVector<std::int64_t>> broadcastShapes(llvm::ArrayRef<llvm::ArrayRef<std::int64_t>> shapes);
/// Infers the broadcast of `operands` with element type `element`, keeping the encoding of an operand of that very
/// shape; an error names `op`.
llvm::LogicalResult inferBroadcast(std::optional<mlir::Location> location, llvm::StringRef op,
                                   mlir::ValueRange operands, mlir::Type element,
                                   llvm::SmallVectorImpl<mlir::Type> &results);
/// As inferBroadcast for two operands of one element type.
llvm::LogicalResult inferBinary(std::optional<mlir::Location> location, llvm::StringRef op, mlir::ValueRange operands,
                                llvm::SmallVectorImpl<mlir::Type> &results);
/// The operand without `dims`, or with extent 1 in them if `keep`.
llvm::LogicalResult inferReduction(mlir::Value operand, llvm::ArrayRef<std::int64_t> dims, bool keep,
                                   mlir::Type element, llvm::SmallVectorImpl<mlir::Type> &results);
/// Verifies `operand` against a shape or element type; the message names the operand.
llvm::LogicalResult expectShape(mlir::Operation *op, llvm::StringRef name, mlir::Value value,
                                llvm::ArrayRef<std::int64_t> shape);
llvm::LogicalResult expectElement(mlir::Operation *op, llvm::StringRef name, mlir::Value value, mlir::Type element);
llvm::LogicalResult expectType(mlir::Operation *op, llvm::StringRef name, mlir::Value value,
                               llvm::ArrayRef<std::int64_t> shape, mlir::Type element);
/// The shape and element type of `like`.
llvm::LogicalResult expectLike(mlir::Operation *op, llvm::StringRef name, mlir::Value value, mlir::Value like);
/// Verifies that `dims` are in [0, rank) and increase strictly.
llvm::LogicalResult expectDims(mlir::Operation *op, llvm::ArrayRef<std::int64_t> dims, std::int64_t rank);

//===- Builders for derivatives and decompositions --------------------------------===//

mlir::Value makeConstant(mlir::ImplicitLocOpBuilder &builder, double value, mlir::RankedTensorType type);
mlir::Value makeReshape(mlir::ImplicitLocOpBuilder &builder, mlir::Value value, llvm::ArrayRef<std::int64_t> shape);
mlir::Value makeCast(mlir::ImplicitLocOpBuilder &builder, mlir::Value value, mlir::Type element);
mlir::Value makeScale(mlir::ImplicitLocOpBuilder &builder, mlir::Value value, double factor);
/// x / sqrt(variance + epsilon) * weight + bias, of the weight's element type, and 1 / sqrt(variance + epsilon). `bias`
/// may be null.
std::pair<mlir::Value, mlir::Value> makeNormalized(mlir::ImplicitLocOpBuilder &builder, mlir::Value x,
                                                   mlir::Value variance, const llvm::APFloat &epsilon,
                                                   mlir::Value weight, mlir::Value bias);
/// max x, exp(x - max x), and the sum of these, over the last dim, which is kept with extent 1. `mayBeHidden`: a row
/// may be -infinity throughout; its exponentials and their sum are 0.
struct RowExponentials {
  mlir::Value largest, powers, sum;
  RowExponentials(mlir::ImplicitLocOpBuilder &builder, mlir::Value x, bool mayBeHidden = false);
  /// log sum exp x.
  mlir::Value logSum(mlir::ImplicitLocOpBuilder &builder) const;
};
/// Sums `value` over the dims along which `target` was broadcast to its shape.
mlir::Value makeUnbroadcast(mlir::ImplicitLocOpBuilder &builder, mlir::Value value,
                            llvm::ArrayRef<std::int64_t> target);
/// The reverse of a reduction over `dims`: `value`, with or without them, repeated to `target`.
mlir::Value makeExpand(mlir::ImplicitLocOpBuilder &builder, mlir::Value value, llvm::ArrayRef<std::int64_t> target,
                       llvm::ArrayRef<std::int64_t> dims);

//===- Rules --------------------------------------------------------------------===//

/// The rule of the signature in the kernel's record.
ShardingRule recordedRule(mlir::Operation *op);
/// The same for an op that is not linear although its kernel is.
ShardingRule nonlinearRule(mlir::Operation *op);
/// Elementwise with broadcasting over all operands and results.
ShardingRule pointwiseRule(mlir::Operation *op);
/// Of iota: its kernel counts from the first element of its result.
ShardingRule iotaRule(mlir::Operation *op);
/// Adds one factor for each dim of a tensor; those of the dims from `replicatedFrom` on are replicated.
TensorFactors addFactors(ShardingRule &rule, llvm::ArrayRef<std::int64_t> shape, std::size_t replicatedFrom);

//===- Cost ----------------------------------------------------------------------===//

std::uint64_t elementsOf(mlir::Value value);
std::uint64_t bytesOf(mlir::Value value);
/// Bytes of all operands and results, each once.
OpCost streamingCost(mlir::Operation *op, std::uint64_t flops);
/// `flops` per element of the first result; a transcendental function counts as one.
OpCost pointwiseCost(mlir::Operation *op, std::uint64_t flops = 1);

//===- Kernel --------------------------------------------------------------------===//

mlir::NamedAttribute integerAttribute(mlir::Operation *op, llvm::StringRef name, std::int64_t value);
/// All operands in order.
KernelCall makeCall(mlir::Operation *op, KernelId kernel, llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

//===- Losses --------------------------------------------------------------------===//

/// The label smoothing of the attribute, 0 if it is null.
double smoothingOf(std::optional<llvm::APFloat> smoothing);

/// The sum of all elements, a scalar.
mlir::Value sumAll(mlir::ImplicitLocOpBuilder &builder, mlir::Value value);
/// The number of targets other than `ignore`, as a scalar of `element`.
mlir::Value countTargets(mlir::ImplicitLocOpBuilder &builder, mlir::Value targets, std::int64_t ignore,
                         mlir::Type element);
/// CountedMeanOpInterface of a loss with `reduction` and `targets`. Both results are divided by the number of all
/// targets, so that the count is near 1.
template <typename OpT>
llvm::FailureOr<std::pair<mlir::Value, mlir::Value>> makeSumAndCount(mlir::ImplicitLocOpBuilder &builder, OpT mean) {
  if (mean.getReduction() != LossReduction::mean)
    return llvm::failure();
  const double share = 1.0 / static_cast<double>(elementsOf(mean.getTargets()));
  auto sum = mlir::cast<OpT>(builder.clone(*mean));
  sum.setReduction(LossReduction::sum);
  mlir::Value count = countTargets(builder, mean.getTargets(), static_cast<std::int64_t>(mean.getIgnoreIndex()),
                                   elementOf(mean.getLoss()));
  return std::pair(makeScale(builder, sum.getLoss(), share), makeScale(builder, count, share));
}

//===- Syntax --------------------------------------------------------------------===//

/// The types of an op with one operand and one result of the same type: the type, or a function type.
mlir::ParseResult parseUnaryTypes(mlir::OpAsmParser &parser, mlir::Type &operand, mlir::Type &result);
void printUnaryTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type operand, mlir::Type result);

/// The initializer of a parameter with its numbers: `zeros`, `constant(a)`, `normal(a, b)`.
mlir::ParseResult parseInitializer(mlir::OpAsmParser &parser, InitializerKindAttr &init, mlir::FloatAttr &a,
                                   mlir::FloatAttr &b);
void printInitializer(mlir::OpAsmPrinter &printer, mlir::Operation *op, InitializerKindAttr init, mlir::FloatAttr a,
                      mlir::FloatAttr b);

//===- Fusion --------------------------------------------------------------------===//

/// True if both ops are in the same outermost module and checkpoint: a module's parameters are gathered only for the
/// module's ops.
bool sharesScope(mlir::Operation *a, mlir::Operation *b);
/// True if the value is defined before the op, of the same block, or outside of the block.
bool isBefore(mlir::Value value, mlir::Operation *op);

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_OPS_HELPERS_H
