//===- HoistUpdates.cpp - spmd-hoist-updates --------------------------------------------------===//
//
// The update of a unit moves to the section of the backward, after the last of its gradients and the last reader of its
// parameters, so that the gradients of one unit are live at a time. The norm reads all gradients: its sum over those of
// an update is computed before the update, and the section `update` adds these sums.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Passes.h"

#include "dialect/model/Model.h"
#include "passes/recipe/RecipeAttr.h"
#include "passes/schedule/Updates.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sluice {
#define GEN_PASS_DEF_HOISTUPDATES
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

spmd::SectionOp withoutUnusedYields(spmd::SectionOp section) {
  SmallVector<Value> used;
  for (auto [result, yielded] : llvm::zip(section.getResults(), section.getYield().getValues()))
    if (!result.use_empty())
      used.push_back(yielded);
  return section.replaceYields(used);
}

/// True for an op whose result is a sum of one term per operand.
bool isSum(Operation *op) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return false;
  const ShardingRule rule = ruled.getShardingRule();
  return rule.additive && rule.reduction == PartialReduction::sum;
}

/// Moves the updates of one entry point.
class Hoister {
public:
  Hoister(func::FuncOp function, spmd::SectionOp backward, spmd::SectionOp update)
      : function(function), backward(backward), update(update), builder(function.getContext()) {}

  void run();

private:
  /// An update after the ops of its section that it depends on, and the op of the backward after which it can be.
  struct Move {
    SmallVector<Operation *> ops;
    Operation *place = nullptr;
  };

  std::vector<Move> findMoves();
  void collect(Operation *op, SmallVector<Operation *> &ops);
  void extend(Operation *&place, Operation *op);
  void extendByReaders(Operation *&place, Value value);
  void clone(const Move &move);
  void tag(Operation *op);
  void replaceSums();

  func::FuncOp function;
  spmd::SectionOp backward, update;
  OpBuilder builder;
  IRMapping mapping;
  /// The sums over gradients of the section `update`, and for each of them those of the updates.
  llvm::MapVector<Operation *, SmallVector<Value>> sums;
};

} // namespace

/// Adds the op after the ops of its section whose results it reads.
void Hoister::collect(Operation *op, SmallVector<Operation *> &ops) {
  if (llvm::is_contained(ops, op))
    return;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == op->getBlock())
      collect(producer, ops);
  ops.push_back(op);
}

void Hoister::extend(Operation *&place, Operation *op) {
  if (op && op->getParentOp() == backward && (!place || place->isBeforeInBlock(op)))
    place = op;
}

/// A collective reads until its wait, and a view is in the memory of its operand.
void Hoister::extendByReaders(Operation *&place, Value value) {
  for (Operation *user : value.getUsers()) {
    extend(place, user);
    if (isa<spmd::CollectiveOpInterface, ViewOpInterface>(user))
      for (Value result : user->getResults())
        extendByReaders(place, result);
  }
}

std::vector<Hoister::Move> Hoister::findMoves() {
  std::vector<Move> moves;
  for (const auto &[producer, of] : updatesOf(function)) {
    Move move;
    collect(producer, move.ops);
    // An update that depends on a collective of its section stays there.
    if (llvm::any_of(move.ops, [](Operation *op) { return isa<spmd::WaitOp>(op); }))
      continue;
    for (Operation *op : move.ops)
      for (Value operand : op->getOperands()) {
        if (operand.getDefiningOp() == backward)
          extend(move.place, mapping.lookup(operand).getDefiningOp());
        else if (auto argument = dyn_cast<BlockArgument>(operand);
                 argument && function.getArgAttr(argument.getArgNumber(), spmd::parameterName))
          extendByReaders(move.place, argument);
      }
    if (move.place)
      moves.push_back(move);
  }
  llvm::stable_sort(moves, [](const Move &a, const Move &b) { return a.place->isBeforeInBlock(b.place); });
  return moves;
}

void Hoister::tag(Operation *op) {
  model::setPhase(op, Phase::backward);
  if (backward.getRepeat() > 1)
    spmd::setWhen(op, WhenKind::last);
}

/// Ops that several updates depend on are cloned for the first of them.
void Hoister::clone(const Move &move) {
  Operation *last = move.ops.back();
  for (Operation *op : move.ops) {
    if (mapping.contains(op->getResult(0)))
      continue;
    if (op == last)
      for (auto &[sum, partials] : sums) {
        SmallVector<Value> gradients;
        for (Value gradient : sum->getOperands())
          if (llvm::is_contained(last->getOperands(), gradient))
            gradients.push_back(mapping.lookup(gradient));
        if (gradients.empty())
          continue;
        Operation *partial = builder.clone(*sum);
        partial->setOperands(gradients);
        partial->removeAttr(model::idsName);
        tag(partial);
        if (Attribute unit = last->getAttr("unit"))
          partial->setAttr("unit", unit);
        partials.push_back(partial->getResult(0));
      }
    tag(builder.clone(*op, mapping));
  }
}

/// Adds the sums of the updates where the sum over all gradients was.
void Hoister::replaceSums() {
  for (auto &[sum, partials] : sums) {
    builder.setInsertionPoint(sum);
    Value total;
    for (Value partial : partials) {
      Value term = backward.resultFor(partial);
      if (!total) {
        total = term;
        continue;
      }
      auto added = model::AddOp::create(builder, sum->getLoc(), total, term);
      added->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
      // The last addition has the number of the sum.
      if (partial != partials.back())
        added->removeAttr(model::idsName);
      total = added.getResult();
    }
    sum->replaceAllUsesWith(ValueRange{total});
    sum->erase();
  }
}

void Hoister::run() {
  for (auto [result, yielded] : llvm::zip(backward.getResults(), backward.getYield().getValues()))
    mapping.map(result, yielded);
  std::vector<Move> moves = findMoves();
  // The sum is split only if each of its terms is in an update that moves.
  for (Operation &op : update.getBody().front())
    if (isSum(&op) && llvm::all_of(op.getOperands(), [&](Value gradient) {
          return llvm::any_of(
              moves, [&](const Move &move) { return llvm::is_contained(move.ops.back()->getOperands(), gradient); });
        }))
      sums[&op];

  Operation *last = nullptr;
  for (Move &move : moves) {
    Operation *place = last && move.place->isBeforeInBlock(last) ? last : move.place;
    builder.setInsertionPointAfter(place);
    clone(move);
    last = builder.getInsertionPoint()->getPrevNode();
  }

  SmallVector<Value> values(backward.getYield().getValues());
  for (const Move &move : moves)
    for (Value result : move.ops.back()->getResults())
      values.push_back(mapping.lookup(result));
  for (const auto &[sum, partials] : sums)
    values.append(partials);
  backward = backward.replaceYields(values);
  for (OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands())
    if (operand.get().getDefiningOp() == update)
      if (Value value =
              mapping.lookupOrNull(update.getYield()->getOperand(cast<OpResult>(operand.get()).getResultNumber())))
        operand.set(backward.resultFor(value));
  replaceSums();
  update = withoutUnusedYields(update);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(update.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  backward = withoutUnusedYields(backward);
}

namespace {

struct HoistUpdates : sluice::impl::HoistUpdatesBase<HoistUpdates> {
  using HoistUpdatesBase::HoistUpdatesBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), inBackward);
    if (failed(recipe))
      return signalPassFailure();
    if (!recipe->optimizer.inBackward)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (auto sections = llvm::to_vector(function.getOps<spmd::SectionOp>()); sections.size() == 2)
        Hoister(function, sections[0], sections[1]).run();
  }
};

} // namespace
