//===- MergeUpdates.cpp - spmd-merge-updates ----------------------------------------------===//
//
// Only consecutive updates are merged: their operands are defined before the first of them, and their results reuse the
// memory of the old values, so merging needs no memory. Parameters that are sharded along different axes are not
// merged: the checker has one set of axes for all results of an instruction.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Passes.h"
#include "passes/schedule/Updates.h"

#include "dialect/model/Attributes.h"

#include "mlir/IR/TypeUtilities.h"

namespace sluice {
#define GEN_PASS_DEF_MERGEUPDATES
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

ValueRange sharedOperands(Operation *op) {
  return op->getOperands().take_back(cast<MergeOpInterface>(op).getSharedOperandCount());
}
ValueRange listedOperands(Operation *op) {
  return op->getOperands().drop_back(cast<MergeOpInterface>(op).getSharedOperandCount());
}

/// Attributes that all updates of a unit share.
DictionaryAttr commonAttributes(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase(model::idsName);
  attributes.erase("unit");
  return attributes.getDictionary(op->getContext());
}

bool canMerge(Operation *a, Operation *b) {
  return a->getName() == b->getName() && commonAttributes(a) == commonAttributes(b) &&
         sharedOperands(a) == sharedOperands(b) &&
         getElementTypeOrSelf(a->getOperand(0)) == getElementTypeOrSelf(b->getOperand(0));
}

/// Updates of one unit's parameters that the same ranks hold parts of, in order.
struct Group {
  Update of;
  SmallVector<Operation *> updates;
};

/// Creates one op at the first update, with the unit as attribute.
void merge(const Group &group) {
  Operation *first = group.updates.front();
  OpBuilder builder(first);
  if (group.updates.size() == 1) {
    if (!group.of.unit.empty())
      first->setAttr("unit", builder.getStringAttr(group.of.unit));
    return;
  }
  SmallVector<Location> locations;
  SmallVector<Value> operands, old;
  SmallVector<Type> types;
  SmallVector<int64_t> ids;
  for (Operation *update : group.updates) {
    locations.push_back(update->getLoc());
    llvm::append_range(operands, listedOperands(update));
    llvm::append_range(types, update->getResultTypes());
    llvm::append_range(old, update->getResults());
    auto known = update->getAttrOfType<DenseI64ArrayAttr>(model::idsName);
    for (unsigned i = 0; i < update->getNumResults(); ++i)
      ids.push_back(known && i < static_cast<unsigned>(known.size()) ? known[i] : 0);
  }
  llvm::append_range(operands, sharedOperands(first));
  OperationState state(builder.getFusedLoc(locations), first->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(commonAttributes(first).getValue());
  if (first->hasAttr(model::idsName))
    state.addAttribute(model::idsName, builder.getDenseI64ArrayAttr(ids));
  if (!group.of.unit.empty())
    state.addAttribute("unit", builder.getStringAttr(group.of.unit));
  Operation *merged = builder.create(state);
  for (auto [value, result] : llvm::zip(old, merged->getResults()))
    value.replaceAllUsesWith(result);
  for (Operation *update : group.updates)
    update->erase();
}

struct MergeUpdates : sluice::impl::MergeUpdatesBase<MergeUpdates> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      const Updates updates = updatesOf(function);
      if (!updates.empty())
        mergeUpdates(*updates.begin()->first->getBlock(), updates);
    }
  }

  static void mergeUpdates(Block &block, const Updates &updates) {
    SmallVector<Group> groups;
    llvm::SmallPtrSet<Operation *, 16> run;
    const auto end = [&] {
      for (const Group &group : groups)
        merge(group);
      groups.clear();
      run.clear();
    };
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto update = updates.find(&op);
      if (update == updates.end() || !isa<MergeOpInterface>(op)) {
        end();
        continue;
      }
      if (llvm::any_of(op.getOperands(), [&](Value value) { return run.contains(value.getDefiningOp()); }))
        end();
      run.insert(&op);
      const Update &of = update->second;
      // From the last: updates of a unit are consecutive.
      auto group = llvm::find_if(llvm::reverse(groups), [&](const Group &known) {
        return known.of.unit == of.unit && known.of.axes == of.axes && canMerge(known.updates.front(), &op);
      });
      if (group == groups.rend())
        groups.push_back({of, {&op}});
      else
        group->updates.push_back(&op);
    }
    end();
  }
};

} // namespace
