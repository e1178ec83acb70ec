//===- Layout.h - how a value lies over the ranks of an axis ------------------------------===//
//
// A split dim is so many equal segments (one, but in fused weights), each cut in chunks: a rank holds its chunk of every
// segment. Where chunks do not fill a segment, the last ranks' are padded or empty: all ranks have one type. Of a dim of
// one segment views tell how much of it is there; several segments are dense, whatever their padding holds. Through an op
// a split follows a factor of the op's sharding rule.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_LAYOUT_H
#define SLUICE_PASSES_SHARDING_TENSOR_LAYOUT_H

#include "dialect/rules/ShardingRule.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace sluice::tensor {

/// Axes of the mesh along which ranks work on the same rows of data.
inline constexpr llvm::StringLiteral tensorAxis = "tensor";
inline constexpr llvm::StringLiteral expertAxis = "expert";
/// The key of the axis in spmd.tensor; without it, the axis is `tensor`.
inline constexpr llvm::StringLiteral splitAxisName = "axis";

inline bool isOfParts(llvm::StringRef axis) { return axis == tensorAxis || axis == expertAxis; }

/// The axis of the mesh that is propagated over.
struct Axis {
  llvm::StringRef name;
  std::int64_t ranks = 1;
};

/// The axis of a parameter's split, as its attribute says.
llvm::StringRef axisOf(mlir::DictionaryAttr split);

struct Layout {
  enum class Kind : std::uint8_t { whole, split, partial };
  Kind kind = Kind::whole;
  /// Of a split; `chunk`: the rows of each segment that a rank has room for.
  std::int64_t dim = 0, segments = 1, chunk = 0;
  /// How partial values are combined.
  PartialReduction reduction = PartialReduction::none;
  /// The parameter that the split began with.
  llvm::StringRef parameter;
  /// A split of rows or of the sequence between layers: it gives way to one that a parameter asks for.
  bool ofTokens = false;
  /// Made by each rank out of what all have, as a part of a constant: nothing in it tells ranks apart.
  bool isMade = false;

  bool isSplit() const { return kind == Kind::split; }
  bool isPartial() const { return kind == Kind::partial; }
  bool isSameSplit(const Layout &other) const {
    return kind == other.kind && dim == other.dim && segments == other.segments && chunk == other.chunk;
  }
};

/// A factor of a rule that is split, in so many segments; a chunk of 0 where chunks would cut through what the factor is
/// made of.
struct FactorSplit {
  unsigned factor = 0;
  std::int64_t segments = 1, chunk = 0;
  bool operator==(const FactorSplit &other) const {
    return factor == other.factor && segments == other.segments && chunk == other.chunk;
  }
};

/// The factor that the split of a tensor splits; nothing where it would cut across factors.
std::optional<FactorSplit> factorOf(const ShardingRule &rule, const TensorFactors &tensor, const Layout &layout);
/// The layout of a tensor that has the factor; nothing where it has not.
std::optional<Layout> layoutOf(const ShardingRule &rule, const TensorFactors &tensor, const FactorSplit &split);
/// How a factor is cut over the ranks: in equal chunks; in chunks of which the last are padded; in such that are no windows
/// of some tensor (`merged`: the factor is inside of another, or in segments), which an op takes dense or not at all; or not
/// (`unaligned`: chunks would cut through what the factor is made of, as heads).
enum class Cut : std::uint8_t { even, padded, merged, unaligned };
Cut cutOf(const ShardingRule &rule, const FactorSplit &split, std::int64_t ranks);
inline bool isCut(Cut cut) { return cut == Cut::even || cut == Cut::padded; }
/// The extent of what a dim has inside of one of its factors.
std::int64_t inside(const ShardingRule &rule, llvm::ArrayRef<unsigned> dim, unsigned factor);
/// The rule of an op that runs forward; nothing for one of the backward or the update, or without a rule.
std::optional<ShardingRule> forwardRuleOf(mlir::Operation *op);
/// True where a tensor has the factor.
bool hasFactor(const TensorFactors &tensor, unsigned factor);

/// True where ranks hold parts that are not all full.
bool isPadded(mlir::RankedTensorType whole, const Layout &layout, std::int64_t ranks);

/// The type that one rank holds, padding included; the type itself where nothing is split.
mlir::RankedTensorType localType(mlir::RankedTensorType type, const Layout &layout);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_LAYOUT_H
