//===- AxisSharding.h - the sharding of a value along one mesh axis -----------------------===//
//
// The projection of a `#spmd.sharding` onto one axis of the mesh, and its relation to the factors of an op's sharding
// rule. A sharded dim has equal segments (one, but several for fused weights), and each rank has a chunk of every
// segment. Where the ranks do not divide a segment, the chunks of the last ranks are padded or empty, so all ranks have
// one type. In a dim of one segment a view states the number of valid rows; in a dim of several segments the padding is
// inside the dim and part of the view, and its values are undefined.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_AXISSHARDING_H
#define SLUICE_PASSES_SHARDING_TENSOR_AXISSHARDING_H

#include "dialect/rules/ShardingRule.h"
#include "dialect/spmd/Sharding.h"

#include "mlir/IR/Builders.h"

#include <optional>
#include <vector>

namespace sluice::tensor {

/// The axis of the mesh along which shardings are propagated.
struct Axis {
  std::string name;
  AxisRole role = AxisRole::tensor;
  std::int64_t ranks = 1;
};

struct AxisSharding {
  enum class Kind : std::uint8_t { replicated, sharded, partial };
  Kind kind = Kind::replicated;
  /// Of a sharded value; `chunk` is the number of rows that a rank has of each segment, padding included.
  std::int64_t dim = 0, segments = 1, chunk = 0;
  /// 0 for shardings of parameters, 1 for those of rows and of the sequence. Priority 0 wins a conflict.
  std::int64_t priority = 0;
  /// The reduction that completes a partial value.
  PartialReduction reduction = PartialReduction::none;

  static AxisSharding sharded(std::int64_t dim, std::int64_t segments, std::int64_t chunk, std::int64_t priority = 0) {
    return {Kind::sharded, dim, segments, chunk, priority};
  }
  static AxisSharding partial(PartialReduction reduction) { return {Kind::partial, 0, 1, 0, 0, reduction}; }

  bool isReplicated() const { return kind == Kind::replicated; }
  bool isSharded() const { return kind == Kind::sharded; }
  bool isPartial() const { return kind == Kind::partial; }
  /// True for a sharding of rows or of the sequence.
  bool isOfTokens() const { return isSharded() && priority != 0; }
  bool isSamePlacement(const AxisSharding &other) const {
    return kind == other.kind && dim == other.dim && segments == other.segments && chunk == other.chunk;
  }
};

/// The projection of a sharding onto an axis; replicated for null.
AxisSharding alongAxis(spmd::ShardingAttr sharding, llvm::StringRef axis);
/// `others` (null: replicated) with `along` in place of its projection onto the axis, for a tensor of a global type.
spmd::ShardingAttr withAxis(spmd::ShardingAttr others, const AxisSharding &along, llvm::StringRef axis,
                            mlir::RankedTensorType global);

/// The sharding of a value along an axis: from `spmd.shardings` of its op, or the destination of its reshard.
AxisSharding shardingOf(mlir::Value value, llvm::StringRef axis);
/// Sets the sharding of an op's result, whose type is global, in `spmd.shardings`.
void setSharding(mlir::OpResult result, const AxisSharding &along, llvm::StringRef axis);

/// The sharding that an op requires of an operand: from `spmd.operand_shardings`, else the sharding of the value.
AxisSharding operandSharding(mlir::OpOperand &use, llvm::StringRef axis);
/// Sets `spmd.operand_shardings` if an operand's sharding differs from that of its value.
void setOperandShardings(mlir::Operation *op, llvm::ArrayRef<AxisSharding> required, llvm::StringRef axis);

/// Creates the reshard of a value of a global type from one sharding along the axis to another.
spmd::ReshardOp createReshard(mlir::OpBuilder &builder, mlir::Value value, const AxisSharding &source,
                              const AxisSharding &destination, llvm::StringRef axis);

/// A sharded factor of a rule. `chunk` is 0 where the chunks of a dim are no multiples of its inner factors.
struct FactorSharding {
  unsigned index = 0;
  std::int64_t segments = 1, chunk = 0;
  bool operator==(const FactorSharding &other) const = default;
};

/// The factor to which the sharding of a tensor maps; nothing where its segments do not divide one factor.
std::optional<FactorSharding> factorOf(const ShardingRule &rule, const TensorFactors &tensor,
                                       const AxisSharding &sharding);
/// The sharding of a tensor that has the factor; nothing for another tensor.
std::optional<AxisSharding> shardingOf(const ShardingRule &rule, const TensorFactors &tensor,
                                       const FactorSharding &factor);

/// The chunks of a factor on the ranks: of one size; padded at the end of each dim, where views leave padding out;
/// padded inside of a dim, as the factor is an inner one or has segments; or unaligned, as a chunk would contain parts
/// of the inner factors, such as half a head.
enum class Chunks : std::uint8_t { even, paddedAtEnd, paddedInside, unaligned };
Chunks chunksOf(const ShardingRule &rule, const FactorSharding &factor, std::int64_t ranks);
/// True for chunks that views describe.
inline bool areViews(Chunks chunks) { return chunks == Chunks::even || chunks == Chunks::paddedAtEnd; }
/// The product of the factors that are inner to one in a dim.
std::int64_t innerExtent(const ShardingRule &rule, llvm::ArrayRef<unsigned> dim, unsigned factor);
/// True where a tensor has the factor.
bool hasFactor(const TensorFactors &tensor, unsigned factor);

/// The rule of an op on global types; nothing for one without a rule or on the local types of another axis.
std::optional<ShardingRule> ruleOf(mlir::Operation *op);

/// An op that reads a value in the forward, and its rule.
struct ForwardReader {
  mlir::Operation *op;
  unsigned operand;
  ShardingRule rule;

  const TensorFactors &factors() const { return rule.operands[operand]; }
  /// The results that have the factor, and their shardings.
  llvm::SmallVector<std::pair<mlir::Value, AxisSharding>> resultsWith(const FactorSharding &factor) const;
};
std::vector<ForwardReader> forwardReadersOf(mlir::Value value);

/// True where the chunks of some ranks are padded. `global`: the unsharded type of the value.
bool isPadded(mlir::RankedTensorType global, const AxisSharding &sharding, std::int64_t ranks);

/// The type of one rank's shard, padding included, without encoding; the type itself for a replicated value.
mlir::RankedTensorType localType(mlir::RankedTensorType global, const AxisSharding &sharding);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_AXISSHARDING_H
