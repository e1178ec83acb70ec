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

//===- Types -------------------------------------------------------------------===//

inline mlir::RankedTensorType typeOf(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
inline llvm::ArrayRef<std::int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }
inline mlir::Type elementOf(mlir::Value value) { return typeOf(value).getElementType(); }
inline bool isFloat(mlir::Value value) { return mlir::isa<mlir::FloatType>(elementOf(value)); }

/// Same shape and element type, whatever the encodings.
bool typeAgrees(mlir::Type a, mlir::Type b);
/// `2x3x4`, or `scalar`.
std::string shapeText(llvm::ArrayRef<std::int64_t> shape);
/// A tensor type without encoding.
mlir::RankedTensorType tensorOf(llvm::ArrayRef<std::int64_t> shape, mlir::Type element);
/// The type of statistics and losses over values of `element`: f64 for f64, else f32.
mlir::Type statisticsElement(mlir::Type element);
bool isUnsignedByte(mlir::Type element);

/// The numpy broadcast of the shapes, or failure where they do not fit.
llvm::FailureOr<llvm::SmallVector<std::int64_t>> broadcastShapes(llvm::ArrayRef<llvm::ArrayRef<std::int64_t>> shapes);
/// Infers the broadcast of `operands` with element type `element`, keeping the encoding of an operand of that very
/// shape; an error names `op`.
llvm::LogicalResult inferBroadcast(std::optional<mlir::Location> location, llvm::StringRef op,
                                   mlir::ValueRange operands, mlir::Type element,
                                   llvm::SmallVectorImpl<mlir::Type> &results);
/// As inferBroadcast for two operands of one element type.
llvm::LogicalResult inferBinary(std::optional<mlir::Location> location, llvm::StringRef op, mlir::Value lhs,
                                mlir::Value rhs, llvm::SmallVectorImpl<mlir::Type> &results);
/// The operand's own type.
llvm::LogicalResult inferSame(mlir::Value operand, llvm::SmallVectorImpl<mlir::Type> &results);
/// Verifies `operand` against a shape or element type; the message names the operand.
llvm::LogicalResult expectShape(mlir::Operation *op, llvm::StringRef name, mlir::Value value,
                                llvm::ArrayRef<std::int64_t> shape);
llvm::LogicalResult expectElement(mlir::Operation *op, llvm::StringRef name, mlir::Value value, mlir::Type element);
/// Both of them, as those of `like`.
llvm::LogicalResult expectLike(mlir::Operation *op, llvm::StringRef name, mlir::Value value, mlir::Value like);
/// Verifies that `dims` are in [0, rank) and increase strictly.
llvm::LogicalResult expectDims(mlir::Operation *op, llvm::ArrayRef<std::int64_t> dims, std::int64_t rank);

//===- Builders for derivatives and decompositions --------------------------------===//

mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location location, double value, mlir::RankedTensorType type);
mlir::Value makeReshape(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                        llvm::ArrayRef<std::int64_t> shape);
mlir::Value makeCast(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, mlir::Type element);
mlir::Value makeScale(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, double factor);
/// Sums `value` over the dims along which `target` was broadcast to its shape.
mlir::Value makeUnbroadcast(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                            llvm::ArrayRef<std::int64_t> target);
/// The reverse of a reduction over `dims`: `value`, with or without them, repeated to `target`.
mlir::Value makeExpand(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                       llvm::ArrayRef<std::int64_t> target, llvm::ArrayRef<std::int64_t> dims);

//===- Rules --------------------------------------------------------------------===//

/// Elementwise with broadcasting over all operands and results.
ShardingRule pointwiseRule(mlir::Operation *op);
/// The same, where the op is linear in all operands together.
ShardingRule linearRule(mlir::Operation *op);
/// The same, where the kernel reads the offset of its part.
ShardingRule positionedRule(mlir::Operation *op);
/// A rule with one factor per dim of `value` for its leading `parallel` dims, and whole factors for the others.
/// `factorsOf` of the rest is up to the caller.
TensorFactors addFactors(ShardingRule &rule, llvm::ArrayRef<std::int64_t> shape, std::size_t wholeFrom);

//===- Cost ----------------------------------------------------------------------===//

std::uint64_t elementsOf(mlir::Value value);
std::uint64_t bytesOf(mlir::Value value);
/// Bytes of all operands and results, each once.
OpCost streamingCost(mlir::Operation *op, std::uint64_t flops);
/// `flops` per element of the first result; a transcendental function counts as one.
OpCost pointwiseCost(mlir::Operation *op, std::uint64_t flops = 1);

//===- Kernel --------------------------------------------------------------------===//

mlir::NamedAttribute integerAttribute(mlir::Operation *op, llvm::StringRef name, std::int64_t value);
mlir::NamedAttribute numberAttribute(mlir::Operation *op, llvm::StringRef name, double value);
mlir::NamedAttribute listAttribute(mlir::Operation *op, llvm::StringRef name, llvm::ArrayRef<std::int64_t> value);
/// All operands in order.
KernelCall makeCall(mlir::Operation *op, KernelId kernel, llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

//===- Fusion --------------------------------------------------------------------===//

/// True where both ops are in the same outermost module and checkpoint: a module's parameters are gathered only for the
/// module's ops.
bool sharesScope(mlir::Operation *a, mlir::Operation *b);

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_OPS_HELPERS_H
