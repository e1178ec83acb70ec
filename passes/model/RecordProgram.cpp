//===- RecordProgram.cpp - model-record-program ---------------------------------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"

namespace sluice {
#define GEN_PASS_DEF_RECORDPROGRAM
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct RecordProgramPass : sluice::impl::RecordProgramBase<RecordProgramPass> {
  std::int64_t next = 1;

  void number(Block &block) {
    Builder builder(&getContext());
    for (Operation &op : block) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          number(inner);
      if (op.hasTrait<OpTrait::IsTerminator>())
        continue;
      llvm::SmallVector<std::int64_t> ids;
      for (unsigned i = 0; i < op.getNumResults(); ++i)
        ids.push_back(next++);
      op.setAttr(model::idsName, builder.getDenseI64ArrayAttr(ids));
    }
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (ModuleOp nested : module.getOps<ModuleOp>())
      if (nested->hasAttr(model::unshardedName))
        return;
    OpBuilder builder(&getContext());
    next = 1;
    for (func::FuncOp function : entryFunctions(module)) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        function.setArgAttr(i, model::idName, builder.getI64IntegerAttr(next++));
      number(function.getBody().front());
    }

    auto copy = ModuleOp::create(builder, module.getLoc());
    copy->setAttr(model::unshardedName, builder.getUnitAttr());
    builder.setInsertionPointToStart(copy.getBody());
    for (Operation &op : module.getBody()->getOperations())
      builder.clone(op);
    module.push_back(copy);
  }
};

} // namespace
