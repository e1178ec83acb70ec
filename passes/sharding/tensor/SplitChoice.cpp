//===- SplitChoice.cpp - the split that an op is computed in --------------------------------===//

#include "passes/sharding/tensor/SplitChoice.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/tensor/Heads.h"

using namespace mlir;

namespace sluice::tensor {

namespace {

/// True where the op can take parts that are no windows as they lie, padding and all: what has the factor throughout
/// keeps padding apart, a sum of products over it takes zeros there, and in the update there are zeros.
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

/// True where the op adds up over the factor for the gradient of a parameter that is split: that is made in parts, out
/// of the whole sequence.
bool makesSplitGradient(Operation *op, const ShardingRule &rule, const FactorSplit &split,
                        const ParameterSplits &splits) {
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (hasFactor(rule.results[index], split.factor))
      continue;
    Value value = result;
    while (value.hasOneUse() && value.getUsers().begin()->getNumResults() == 1 &&
           !isa<model::GradientOp>(*value.getUsers().begin()))
      value = value.getUsers().begin()->getResult(0);
    for (Operation *user : value.getUsers())
      if (auto gradient = dyn_cast<model::GradientOp>(user); gradient && splits.contains(gradient.getParameter()))
        return true;
  }
  return false;
}

/// The split that an operand asks for, by its factor; nothing where it must be whole, and `text` then says why.
FailureOr<std::optional<FactorSplit>> splitAskedFor(OpOperand &use, const ShardingRule &rule, const Layout &layout,
                                                    const Wishes &wishes, StringRef &text) {
  Operation *op = use.getOwner();
  const std::int64_t ranks = wishes.axis.ranks;
  std::optional<FactorSplit> found = factorOf(rule, rule.operands[use.getOperandNumber()], layout);
  text = "a split dim must be whole for";
  if (!found || rule.factors[found->factor].whole || (rule.factors[found->factor].positioned && layout.segments != 1))
    return std::optional<FactorSplit>();
  Cut cut = cutOf(rule, *found, ranks);
  if (isCut(cut) || (cut == Cut::merged && !layout.ofTokens && takesDense(op, rule, *found)))
    return found;
  text = "a dim that the ranks do not divide is part of another for";
  // What gives way is made whole.
  if (cut == Cut::merged || layout.ofTokens || model::phaseOf(op) == Phase::backward)
    return std::optional<FactorSplit>();
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (auto further = layoutOf(rule, rule.results[index], {found->factor, 1});
        further && isShared(result, further->dim, ranks)) {
      text = "heads that serve several ranks are whole for";
      return std::optional<FactorSplit>();
    }
  std::int64_t piece = inside(rule, rule.operands[use.getOperandNumber()][layout.dim], found->factor);
  InFlightDiagnostic error = op->emitError()
                             << wishes.origin << ": value of '" << wishes.key << "' for parameter '" << layout.parameter
                             << "', expected parts in whole pieces of " << piece << " for '" << op->getName()
                             << "' but got parts of " << layout.chunk;
  error.attachNote(op->getLoc()) << "its sharding rule is " << rule.str();
  error.attachNote(op->getLoc()) << "a 'mesh." << wishes.axis.name
                               << "' that divides all that the dim is taken apart into works, and so does a table that "
                                  "leaves the parameter whole";
  return failure();
}

} // namespace

FailureOr<SplitChoice> chooseSplit(Operation *op, const ShardingRule &rule, const Relayout &values,
                                   const Wishes &wishes) {
  SplitChoice choice;
  // Splits of parameters first: the sequence gives way.
  for (bool ofTokens : {false, true})
    for (OpOperand &use : op->getOpOperands()) {
      const Layout &layout = values.of(use.get());
      if (!layout.isSplit() || layout.ofTokens != ofTokens)
        continue;
      StringRef text;
      FailureOr<std::optional<FactorSplit>> asked = splitAskedFor(use, rule, layout, wishes, text);
      if (failed(asked))
        return failure();
      if (!*asked)
        choice.whole.push_back({&use, text});
      else if (choice.split && !(*choice.split == **asked))
        choice.whole.push_back({&use, !ofTokens       ? "one dim at most is split for"
                                      : wishes.byRows ? "rows in parts are made whole for"
                                                      : "parts of the sequence are made whole for"});
      else if (ofTokens && !choice.split && makesSplitGradient(op, rule, **asked, wishes.splits))
        choice.whole.push_back({&use, "the gradient of a split parameter is made in parts by"});
      else
        choice = {*asked, layout.parameter, ofTokens, std::move(choice.whole)};
    }
  return choice;
}

bool isStuck(Operation *op, const ShardingRule &rule, const Relayout &values, std::int64_t ranks) {
  bool isRefused = false, isTaken = false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const Layout &layout = values.of(operand);
    std::optional<FactorSplit> split = layout.isSplit() ? factorOf(rule, rule.operands[index], layout) : std::nullopt;
    if (!split)
      continue;
    Cut cut = cutOf(rule, *split, ranks);
    isRefused |= rule.factors[split->factor].whole || cut == Cut::unaligned;
    isTaken |= !rule.factors[split->factor].whole && isCut(cut) && !layout.ofTokens;
  }
  return isRefused && !isTaken;
}

} // namespace sluice::tensor
