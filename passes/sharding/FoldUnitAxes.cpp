//===- FoldUnitAxes.cpp - no communication along axes of one rank ------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_FOLDUNITAXES
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// The axes that have more than one rank.
ArrayAttr livingAxes(spmd::MeshOp mesh, ArrayAttr axes) {
  SmallVector<Attribute> living;
  for (Attribute axis : axes)
    if (spmd::axisSize(mesh, cast<StringAttr>(axis).getValue()) != 1)
      living.push_back(axis);
  return ArrayAttr::get(mesh.getContext(), living);
}

/// Without a gather behind it, a copy is of what compute reads and of nothing else.
void dropUnread(spmd::WaitOp wait) {
  spmd::CollectiveOpInterface copy = wait.getStart();
  if (!copy.isCopy() || llvm::none_of(wait.getValues(), [](Value value) { return value.use_empty(); }))
    return;
  SmallVector<Value> operands, values;
  for (auto [operand, value] : llvm::zip(copy->getOperands(), wait.getValues()))
    if (!value.use_empty()) {
      operands.push_back(operand);
      values.push_back(value);
    }
  if (!operands.empty()) {
    copy->setOperands(operands);
    OpBuilder builder(wait);
    auto rest = spmd::WaitOp::create(builder, wait.getLoc(), ValueRange(operands).getTypes(), wait.getToken(), false);
    for (StringRef name : {model::phaseName, model::invocationName, spmd::whenName})
      if (Attribute attribute = wait->getAttr(name))
        rest->setAttr(name, attribute);
    for (auto [old, value] : llvm::zip(values, rest.getValues()))
      old.replaceAllUsesWith(value);
  }
  wait.erase();
  if (operands.empty())
    copy->erase();
}

struct FoldUnitAxes : sluice::impl::FoldUnitAxesBase<FoldUnitAxes> {
  void runOnOperation() override;
};

} // namespace

void FoldUnitAxes::runOnOperation() {
  spmd::MeshOp mesh = spmd::meshOf(getOperation());
  if (!mesh)
    return;
  SmallVector<spmd::WaitOp> waits;
  for (auto function : getOperation().getOps<func::FuncOp>())
    function.walk([&](spmd::WaitOp wait) { waits.push_back(wait); });

  for (spmd::WaitOp wait : waits) {
    spmd::CollectiveOpInterface start = wait.getStart();
    if (start.isCopy())
      continue;
    ArrayAttr axes = livingAxes(mesh, start.getAxes());
    start.setAxesAttr(axes);
    if (!axes.empty())
      continue;
    // The first collective of a chain now gives what the chain gave.
    auto before = start->getOperand(0).getDefiningOp<spmd::WaitOp>();
    if (Attribute ids = wait->getAttr(model::idsName); ids && before && before.getChained())
      before->setAttr(model::idsName, ids);
    for (auto [value, operand] : llvm::zip(wait.getValues(), start->getOperands())) {
      // What is not gathered is not released.
      for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
        auto release = dyn_cast<spmd::ReleaseOp>(user);
        if (!release)
          continue;
        if (release.getValues().size() == 1)
          release.erase();
        else
          for (unsigned i = release->getNumOperands(); i-- > 0;)
            if (release->getOperand(i) == value)
              release->eraseOperand(i);
      }
      value.replaceAllUsesWith(operand);
    }
    wait.erase();
    start->erase();
  }
  // What no gather follows is compute's. A chain whose second collective is gone is not one any more.
  const auto isStart = [](Operation *user) {
    auto start = dyn_cast<spmd::CollectiveOpInterface>(user);
    return start && !start.isCopy();
  };
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    function.walk([&](Operation *op) {
      if (spmd::streamOf(op) != StreamKind::gather)
        return;
      if (op->use_empty())
        op->erase();
      else if (!llvm::all_of(op->getUsers(), isStart))
        op->removeAttr(spmd::streamName);
    });
    function.walk([&](spmd::WaitOp wait) {
      wait.setChained(wait.getChained() && !wait->use_empty() && llvm::all_of(wait->getUsers(), [&](Operation *user) {
                        return isStart(user) || spmd::streamOf(user) == StreamKind::gather;
                      }));
      if (!wait.getChained())
        dropUnread(wait);
    });
  }
}
