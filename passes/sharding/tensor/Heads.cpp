//===- Heads.cpp - chunks contain full heads, or several ranks share one --------------------===//

#include "passes/sharding/tensor/Heads.h"

using namespace mlir;

namespace sluice::tensor {

namespace {

/// The ops between a projection and its attention are few: positions, norms of heads, transposes.
constexpr unsigned maxDepth = 16;

bool isDivided(const ShardingRule &rule, const TensorFactors &tensor, unsigned factor, std::int64_t ranks) {
  return llvm::any_of(tensor, [&](const auto &dim) {
    std::int64_t extent = 1;
    for (unsigned each : dim)
      extent *= rule.factors[each].size;
    return llvm::is_contained(dim, factor) && extent != rule.factors[factor].size && extent % ranks == 0;
  });
}

/// True where the factor of the value's dim, whose extent the ranks do not divide, reaches an op in whose other operand
/// it is one factor of a dim that the ranks divide, as heads of keys and values, each of which several heads of queries
/// share. Then every rank can have all of it, and the work is sharded nevertheless.
bool isShared(Value value, std::int64_t dim, std::int64_t ranks, unsigned depth = maxDepth) {
  for (const ForwardReader &reader : forwardReadersOf(value)) {
    const auto &factors = reader.factors()[dim];
    if (factors.empty())
      continue;
    FactorSharding factor{factors.front()};
    for (auto [index, operand] : llvm::enumerate(reader.rule.operands))
      if (index != reader.operand && factors.size() == 1 && isDivided(reader.rule, operand, factor.index, ranks))
        return true;
    for (const auto &[result, sharding] : reader.resultsWith(factor))
      if (depth > 0 && isShared(result, sharding.dim, ranks, depth - 1))
        return true;
  }
  return false;
}

/// The multiple that the ops that read the value require.
std::int64_t multipleOfReaders(Value value, const AxisSharding &sharding, std::int64_t ranks,
                               unsigned depth = maxDepth) {
  for (const ForwardReader &reader : forwardReadersOf(value)) {
    std::optional<FactorSharding> factor = factorOf(reader.rule, reader.factors(), sharding);
    if (!factor || reader.rule.factors[factor->index].replicated)
      continue;
    std::int64_t inner = innerExtent(reader.rule, reader.factors()[sharding.dim], factor->index);
    if (inner != 1 && reader.rule.factors[factor->index].size / factor->segments % ranks == 0)
      return inner;
    for (const auto &[result, further] : reader.resultsWith(*factor)) {
      if (inner != 1 && isShared(result, further.dim, ranks))
        return 1;
      std::int64_t multiple = depth > 0 ? multipleOfReaders(result, further, ranks, depth - 1) : 1;
      if (inner != 1 || multiple != 1)
        return inner * multiple;
    }
  }
  return 1;
}

/// The multiple that the ops require that compute the value's dim.
std::int64_t multipleOfProducers(Value value, std::int64_t dim, std::int64_t ranks, unsigned depth = maxDepth) {
  auto ruled = value.getDefiningOp<ShardingRuleOpInterface>();
  if (!ruled)
    return 1;
  ShardingRule rule = ruled.getShardingRule();
  const auto &factors = rule.results[cast<OpResult>(value).getResultNumber()][dim];
  auto first = llvm::find_if(factors, [&](unsigned factor) { return rule.factors[factor].size != 1; });
  if (first == factors.end() || rule.factors[*first].replicated)
    return 1;
  std::int64_t inner = innerExtent(rule, factors, *first);
  if (inner != 1 && rule.factors[*first].size % ranks == 0)
    return inner;
  std::int64_t multiple = 1;
  for (auto [index, operand] : llvm::enumerate(rule.operands))
    for (auto [d, own] : llvm::enumerate(operand))
      if (multiple == 1 && depth > 0 && own.size() == 1 && own.front() == *first)
        multiple = multipleOfProducers(ruled->getOperand(index), static_cast<std::int64_t>(d), ranks, depth - 1);
  return inner * multiple;
}

/// The parameter whose sharding the value has by propagation.
StringRef parameterOf(Value value, StringRef axis) {
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast_or_null<model::ReadOp>(op))
    return read.getParameter();
  for (Value operand : op ? ValueRange(op->getOperands()) : ValueRange())
    if (AxisSharding sharding = shardingOf(operand, axis); sharding.isSharded() && !sharding.isOfTokens())
      return parameterOf(operand, axis);
  return {};
}

} // namespace

std::int64_t chunkMultipleOf(Value parameter, const AxisSharding &sharding, std::int64_t ranks) {
  if (std::int64_t multiple = multipleOfReaders(parameter, sharding, ranks); multiple != 1)
    return multiple;
  // A factor that a product sums over is sharded as in the op that computes the other operand.
  for (const ForwardReader &reader : forwardReadersOf(parameter)) {
    std::optional<FactorSharding> factor = factorOf(reader.rule, reader.factors(), sharding);
    if (!factor)
      continue;
    auto results = reader.resultsWith(*factor);
    // A cast or a transpose of the parameter: as for its result.
    if (reader.op->getNumOperands() == 1)
      for (const auto &[result, further] : results)
        if (std::int64_t multiple = chunkMultipleOf(result, further, ranks); multiple != 1)
          return multiple;
    for (auto [index, operand] : llvm::enumerate(reader.rule.operands))
      for (auto [dim, factors] : llvm::enumerate(operand))
        if (results.empty() && index != reader.operand && llvm::is_contained(factors, factor->index))
          if (std::int64_t multiple =
                  multipleOfProducers(reader.op->getOperand(index), static_cast<std::int64_t>(dim), ranks);
              multiple != 1)
            return multiple;
  }
  return 1;
}

LogicalResult verifySharedHeads(OpOperand &use, const ShardingRule &rule, const AxisOptions &options) {
  Operation *op = use.getOwner();
  const AxisSharding sharding = shardingOf(use.get(), options.axis.name);
  const TensorFactors &tensor = rule.operands[use.getOperandNumber()];
  const unsigned factor = factorOf(rule, tensor, sharding)->index;
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (auto further = shardingOf(rule, rule.results[index], {factor});
        further && isShared(result, further->dim, options.axis.ranks))
      return success();
  InFlightDiagnostic error = op->emitError()
                             << options.origin << ": value of '" << options.key << "' for parameter '"
                             << parameterOf(use.get(), options.axis.name) << "', expected chunks of a multiple of "
                             << innerExtent(rule, tensor[sharding.dim], factor) << " rows for '" << op->getName()
                             << "' but got chunks of " << sharding.chunk << " rows";
  error.attachNote(op->getLoc()) << "its sharding rule is " << rule.str();
  error.attachNote(op->getLoc()) << "use a 'mesh." << options.axis.name
                                 << "' that divides the heads of every reader, or a table that leaves the parameter "
                                    "replicated";
  return error;
}

} // namespace sluice::tensor
