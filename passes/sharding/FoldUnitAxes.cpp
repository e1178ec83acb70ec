//===- FoldUnitAxes.cpp - no communication along axes of one rank ------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Utils.h"

namespace sluice {
#define GEN_PASS_DEF_FOLDUNITAXES
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// Drops the unread values of a copy that no gather reads.
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
    auto rest = spmd::WaitOp::create(builder, wait.getLoc(), copy);
    copyTags(wait, rest);
    for (auto [old, value] : llvm::zip(values, rest.getValues()))
      old.replaceAllUsesWith(value);
  }
  wait.erase();
  if (operands.empty())
    copy->erase();
}

/// Removes the axes of one rank from a collective; without other axes its values are its operands.
void fold(spmd::WaitOp wait, spmd::MeshOp mesh) {
  spmd::CollectiveOpInterface start = wait.getStart();
  if (start.isCopy())
    return;
  auto axes = llvm::filter_to_vector(
      start.getAxes(), [&](Attribute axis) { return spmd::axisSize(mesh, cast<StringAttr>(axis).getValue()) != 1; });
  start.setAxesAttr(ArrayAttr::get(mesh.getContext(), axes));
  if (!axes.empty())
    return;
  // In a chain the first collective now computes the values of the chain.
  auto previous = start->getOperand(0).getDefiningOp<spmd::WaitOp>();
  if (Attribute ids = wait->getAttr(model::idsName); ids && previous && previous.getChained())
    previous->setAttr(model::idsName, ids);
  for (auto [value, operand] : llvm::zip(wait.getValues(), start->getOperands())) {
    eraseFromReleases(value);
    value.replaceAllUsesWith(operand);
  }
  wait.erase();
  start->erase();
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
  getOperation().walk([&](spmd::WaitOp wait) { waits.push_back(wait); });
  for (spmd::WaitOp wait : waits)
    fold(wait, mesh);
  // An op on the stream of gathers whose readers are no gathers is compute's, and a chain ends where its second
  // collective is folded and the next one is on another stream.
  const auto isStart = [](Operation *user) {
    auto start = dyn_cast<spmd::CollectiveOpInterface>(user);
    return start && !start.isCopy();
  };
  getOperation().walk([&](Operation *op) {
    if (spmd::streamOf(op) != StreamKind::gather)
      return;
    if (op->use_empty())
      op->erase();
    else if (!llvm::all_of(op->getUsers(), isStart))
      op->removeAttr(spmd::streamName);
  });
  getOperation().walk([&](spmd::WaitOp wait) {
    // Only on its own stream a collective comes after the first of the chain without waiting.
    spmd::CollectiveOpInterface start = wait.getStart();
    wait.setChained(wait.getChained() && !wait->use_empty() && llvm::all_of(wait->getUsers(), [&](Operation *user) {
                      return spmd::streamOf(user) == StreamKind::gather ||
                             (isStart(user) && (start.isCopy() || cast<spmd::CollectiveOpInterface>(user).getStream() ==
                                                                      start.getStream()));
                    }));
    if (!wait.getChained())
      dropUnread(wait);
  });
}
