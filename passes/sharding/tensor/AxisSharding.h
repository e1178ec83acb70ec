//===- AxisSharding.h - how a value is sharded along one axis -----------------------------===//
//
// The part of a `#spmd.sharding` along one axis of the mesh, and how it follows the factors of an op's sharding rule. A
// sharded dim has equal segments (one, but for fused weights), each cut in chunks: a rank holds its chunk of every
// segment. Where chunks do not fill a segment, those of the last ranks are padded or empty, so all ranks have one type.
// In a dim of one segment a view states how many rows are data; several segments are dense and hold any values in their
// padding.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_AXISSHARDING_H
#define SLUICE_PASSES_SHARDING_TENSOR_AXISSHARDING_H

#include "dialect/rules/ShardingRule.h"
#include "dialect/spmd/Sharding.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace sluice::tensor {

/// Axes of the mesh along which ranks work on the same rows of data.
inline constexpr llvm::StringLiteral tensorAxis = "tensor";
inline constexpr llvm::StringLiteral expertAxis = "expert";

/// The axis of the mesh along which shardings are propagated.
struct Axis {
  std::string name;
  std::int64_t ranks = 1;
};

struct AxisSharding {
  enum class Kind : std::uint8_t { replicated, sharded, partial };
  Kind kind = Kind::replicated;
  /// Of a sharded value; `chunk`: the rows of each segment that a rank has room for.
  std::int64_t dim = 0, segments = 1, chunk = 0;
  /// 0 for shardings of parameters, 1 for those of rows or the sequence, which give way.
  std::int64_t priority = 0;
  /// How partial values are combined.
  PartialReduction reduction = PartialReduction::none;

  static AxisSharding partial(PartialReduction reduction);

  bool isSharded() const { return kind == Kind::sharded; }
  bool isPartial() const { return kind == Kind::partial; }
  /// True for rows or the sequence.
  bool isOfTokens() const { return isSharded() && priority != 0; }
  bool isSamePlacement(const AxisSharding &other) const {
    return kind == other.kind && dim == other.dim && segments == other.segments && chunk == other.chunk;
  }
};

/// The part of a sharding along an axis; replicated for null.
AxisSharding alongAxis(spmd::ShardingAttr sharding, llvm::StringRef axis);
/// The sharding of a tensor of a global type that is `along` the axis, and along all others as `others` (null:
/// replicated).
spmd::ShardingAttr withAxis(spmd::ShardingAttr others, const AxisSharding &along, llvm::StringRef axis,
                            mlir::RankedTensorType global);

/// The sharding along an axis that the IR states for a value: `spmd.shardings` of its op, or the destination of its
/// reshard.
AxisSharding shardingOf(mlir::Value value, llvm::StringRef axis);
/// States the sharding of an op's result. The type is global.
void setSharding(mlir::OpResult result, const AxisSharding &along, llvm::StringRef axis);

/// The sharding along an axis in which an op takes an operand: as `spmd.operand_shardings` states, else that of the
/// value.
AxisSharding takenSharding(mlir::OpOperand &use, llvm::StringRef axis);
/// States in which shardings an op takes its operands, if one differs from that of the value.
void setTakenShardings(mlir::Operation *op, llvm::ArrayRef<AxisSharding> taken, llvm::StringRef axis);

/// A factor of a rule that is sharded, in so many segments; a chunk of 0 where chunks would cut through what the factor
/// consists of.
struct FactorSplit {
  unsigned factor = 0;
  std::int64_t segments = 1, chunk = 0;
  bool operator==(const FactorSplit &other) const {
    return factor == other.factor && segments == other.segments && chunk == other.chunk;
  }
};

/// The factor that the sharding of a tensor splits; nothing where it would cut across factors.
std::optional<FactorSplit> factorOf(const ShardingRule &rule, const TensorFactors &tensor,
                                    const AxisSharding &sharding);
/// The sharding of a tensor that has the factor; nothing where it has not.
std::optional<AxisSharding> shardingOf(const ShardingRule &rule, const TensorFactors &tensor, const FactorSplit &split);
/// How a factor is cut over the ranks: in equal chunks; in chunks of which the last are padded; in chunks that are no
/// windows of some tensor (`merged`: the factor is inside of another, or in segments), which an op takes dense or not
/// at all; or not at all (`unaligned`: chunks would cut through what the factor consists of, as heads).
enum class Cut : std::uint8_t { even, padded, merged, unaligned };
Cut cutOf(const ShardingRule &rule, const FactorSplit &split, std::int64_t ranks);
inline bool isCut(Cut cut) { return cut == Cut::even || cut == Cut::padded; }
/// The extent of what a dim has inside of one of its factors.
std::int64_t inside(const ShardingRule &rule, llvm::ArrayRef<unsigned> dim, unsigned factor);
/// The rule of an op that runs forward; nothing for one of the backward or the update, or without a rule.
std::optional<ShardingRule> forwardRuleOf(mlir::Operation *op);
/// The rule of an op on global types; nothing for one without a rule or on the local types of another axis.
std::optional<ShardingRule> ruleOf(mlir::Operation *op);
/// True where a tensor has the factor.
bool hasFactor(const TensorFactors &tensor, unsigned factor);

/// True where ranks hold parts that are not all full. `global`: the type of the value on all ranks together.
bool isPadded(mlir::RankedTensorType global, const AxisSharding &sharding, std::int64_t ranks);

/// The type that one rank holds, padding included, without encoding; the type itself for a replicated value.
mlir::RankedTensorType localType(mlir::RankedTensorType global, const AxisSharding &sharding);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_AXISSHARDING_H
