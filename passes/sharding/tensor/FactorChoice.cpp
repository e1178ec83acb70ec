//===- FactorChoice.cpp - the factor that an op is split on -------------------------------------===//

#include "passes/sharding/tensor/FactorChoice.h"

#include "dialect/model/Attributes.h"

#include <variant>

using namespace mlir;

namespace sluice::tensor {

namespace {

/// True where the op can read parts that are no windows dense, padding included: an op with the factor in all its
/// results keeps padding separate, a sum of products over the factor reads zeros there, and in the update padding is
/// zeros.
bool takesDense(Operation *op, const ShardingRule &rule, const FactorSplit &split) {
  if (split.chunk == 0 || rule.factors[split.factor].positioned)
    return false;
  auto has = [&](const TensorFactors &tensor) { return hasFactor(tensor, split.factor); };
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

/// True where the op sums over the factor for the gradient of a sharded parameter, which is computed in parts from all
/// of the sequence.
bool computesShardedGradient(Operation *op, const ShardingRule &rule, const FactorSplit &split,
                             const ParameterShardings &parameters) {
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (hasFactor(rule.results[index], split.factor))
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

/// The factor that an operand's sharding splits, or why the op takes the operand replicated.
std::variant<FactorSplit, ReplicationReason> factorOfUse(OpOperand &use, const ShardingRule &rule,
                                                         const AxisSharding &sharding, std::int64_t ranks) {
  Operation *op = use.getOwner();
  std::optional<FactorSplit> found = factorOf(rule, rule.operands[use.getOperandNumber()], sharding);
  if (!found || rule.factors[found->factor].whole || (rule.factors[found->factor].positioned && sharding.segments != 1))
    return ReplicationReason::unshardable;
  Cut cut = cutOf(rule, *found, ranks);
  if (isCut(cut) || (cut == Cut::merged && !sharding.isOfTokens() && takesDense(op, rule, *found)))
    return *found;
  if (cut == Cut::merged || sharding.isOfTokens() || model::phaseOf(op) == Phase::backward)
    return ReplicationReason::indivisible;
  return ReplicationReason::sharedHeads;
}

} // namespace

StringRef textOf(ReplicationReason reason, StringRef axis) {
  switch (reason) {
  case ReplicationReason::unshardable:
    return "a split dim must be whole for";
  case ReplicationReason::indivisible:
    return "a dim that the ranks do not divide is part of another for";
  case ReplicationReason::sharedHeads:
    return "heads that serve several ranks are whole for";
  case ReplicationReason::otherDim:
    return "one dim at most is split for";
  case ReplicationReason::givesWay:
    return axis == expertAxis ? "rows in parts are made whole for" : "parts of the sequence are made whole for";
  case ReplicationReason::shardedGradient:
    return "the gradient of a split parameter is made in parts by";
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
      const auto *split = std::get_if<FactorSplit>(&found);
      if (!split)
        choice.replicated.push_back({&use, std::get<ReplicationReason>(found)});
      else if (choice.split && !(*choice.split == *split))
        choice.replicated.push_back({&use, ofTokens ? ReplicationReason::givesWay : ReplicationReason::otherDim});
      else if (ofTokens && !choice.split && computesShardedGradient(op, rule, *split, options.parameters))
        choice.replicated.push_back({&use, ReplicationReason::shardedGradient});
      else
        choice = {*split, sharding.priority, std::move(choice.replicated)};
    }
  return choice;
}

bool isStuck(Operation *op, const ShardingRule &rule, const Axis &axis) {
  bool isRefused = false, isTaken = false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    AxisSharding sharding = shardingOf(operand, axis.name);
    std::optional<FactorSplit> split =
        sharding.isSharded() ? factorOf(rule, rule.operands[index], sharding) : std::nullopt;
    if (!split)
      continue;
    Cut cut = cutOf(rule, *split, axis.ranks);
    isRefused |= rule.factors[split->factor].whole || cut == Cut::unaligned;
    isTaken |= !rule.factors[split->factor].whole && isCut(cut) && !sharding.isOfTokens();
  }
  return isRefused && !isTaken;
}

} // namespace sluice::tensor
