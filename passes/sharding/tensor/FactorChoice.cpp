//===- FactorChoice.cpp - the factor along which an op is sharded -------------------------------===//

#include "passes/sharding/tensor/FactorChoice.h"

#include "dialect/model/Attributes.h"

#include <variant>

using namespace mlir;

namespace sluice::tensor {

namespace {

/// True where the op may read padding inside of a dim as data: an op with the factor in all its results computes
/// padding from padding, a sum of products over the factor reads zeros there, and in the update padding is zeros.
bool mayReadPadding(Operation *op, const ShardingRule &rule, const FactorSharding &factor) {
  if (factor.chunk == 0 || rule.factors[factor.index].positioned)
    return false;
  auto has = [&](const TensorFactors &tensor) { return hasFactor(tensor, factor.index); };
  if (llvm::all_of(rule.results, has) || model::phaseOf(op) == Phase::update)
    return true;
  unsigned terms = 0;
  for (auto [tensor, operand] : llvm::zip(rule.operands, op->getOperands())) {
    terms += has(tensor);
    if (has(tensor) && !isa<FloatType>(getElementTypeOrSelf(operand.getType())))
      return false;
  }
  return terms == 2 && rule.reduction == PartialReduction::sum && llvm::none_of(rule.results, has);
}

/// True where the op sums over the factor for the gradient of a sharded parameter: the gradient is sharded as the
/// parameter is, and computed from all rows and the full sequence.
bool computesShardedGradient(Operation *op, const ShardingRule &rule, const FactorSharding &factor,
                             const ParameterShardings &parameters) {
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (hasFactor(rule.results[index], factor.index))
      continue;
    Value value = result;
    while (value.hasOneUse() && value.getUsers().begin()->getNumResults() == 1 &&
           !isa<model::GradientOp>(*value.getUsers().begin()))
      value = value.getUsers().begin()->getResult(0);
    for (Operation *user : value.getUsers())
      if (auto gradient = dyn_cast<model::GradientOp>(user); gradient && parameters.contains(gradient.getParameter()))
        return true;
  }
  return false;
}

/// The factor to which an operand's sharding maps, or why the op requires the operand replicated.
std::variant<FactorSharding, ReplicationReason> factorOfUse(OpOperand &use, const ShardingRule &rule,
                                                            const AxisSharding &sharding, std::int64_t ranks) {
  Operation *op = use.getOwner();
  std::optional<FactorSharding> found = factorOf(rule, rule.operands[use.getOperandNumber()], sharding);
  if (!found || rule.factors[found->index].replicated ||
      (rule.factors[found->index].positioned && sharding.segments != 1))
    return ReplicationReason::unshardable;
  Chunks chunks = chunksOf(rule, *found, ranks);
  if (areViews(chunks) ||
      (chunks == Chunks::paddedInside && !sharding.isOfTokens() && mayReadPadding(op, rule, *found)))
    return *found;
  if (chunks == Chunks::paddedInside || sharding.isOfTokens() || model::phaseOf(op) == Phase::backward)
    return ReplicationReason::indivisible;
  return ReplicationReason::sharedHeads;
}

} // namespace

StringRef textOf(ReplicationReason reason, AxisRole axis) {
  const bool isRows = axis == AxisRole::expert;
  switch (reason) {
  case ReplicationReason::unshardable:
    return "cannot be sharded along this dim";
  case ReplicationReason::indivisible:
    return "merges or separates a dim that the ranks do not divide";
  case ReplicationReason::sharedHeads:
    return "separates heads that several ranks share";
  case ReplicationReason::otherDim:
    return "is sharded along another dim";
  case ReplicationReason::tokens:
    return isRows ? "requires all rows" : "requires the full sequence";
  case ReplicationReason::shardedGradient:
    return isRows ? "computes the gradient of a sharded parameter from all rows"
                  : "computes the gradient of a sharded parameter from the full sequence";
  }
  llvm_unreachable("a reason");
}

FactorChoice chooseFactor(Operation *op, const ShardingRule &rule, const AxisOptions &options) {
  FactorChoice choice;
  for (bool ofTokens : {false, true})
    for (OpOperand &use : op->getOpOperands()) {
      AxisSharding sharding = shardingOf(use.get(), options.axis.name);
      if (!sharding.isSharded() || sharding.isOfTokens() != ofTokens)
        continue;
      auto found = factorOfUse(use, rule, sharding, options.axis.ranks);
      const auto *factor = std::get_if<FactorSharding>(&found);
      if (!factor)
        choice.replicated.push_back({&use, std::get<ReplicationReason>(found)});
      else if (choice.factor && !(*choice.factor == *factor))
        choice.replicated.push_back({&use, ofTokens ? ReplicationReason::tokens : ReplicationReason::otherDim});
      else if (ofTokens && !choice.factor && computesShardedGradient(op, rule, *factor, options.parameters))
        choice.replicated.push_back({&use, ReplicationReason::shardedGradient});
      else
        choice = {*factor, sharding.priority, std::move(choice.replicated)};
    }
  return choice;
}

bool requiresShardableForm(Operation *op, const ShardingRule &rule, const Axis &axis) {
  bool isRefused = false, isAccepted = false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    AxisSharding sharding = shardingOf(operand, axis.name);
    std::optional<FactorSharding> factor =
        sharding.isSharded() ? factorOf(rule, rule.operands[index], sharding) : std::nullopt;
    if (!factor)
      continue;
    Chunks chunks = chunksOf(rule, *factor, axis.ranks);
    bool isReplicated = rule.factors[factor->index].replicated;
    isRefused |= isReplicated || chunks == Chunks::unaligned;
    isAccepted |= !isReplicated && areViews(chunks) && !sharding.isOfTokens();
  }
  return isRefused && !isAccepted;
}

} // namespace sluice::tensor
