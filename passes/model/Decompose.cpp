//===- Decompose.cpp - model-decompose ---------------------------------------------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"

namespace sluice {
#define GEN_PASS_DEF_DECOMPOSE
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct DecomposePass : sluice::impl::DecomposeBase<DecomposePass> {
  void runOnOperation() override {
    llvm::SmallVector<DecomposeOpInterface> composites;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](DecomposeOpInterface op) { composites.push_back(op); });
    // A decomposition may have composites itself.
    for (std::size_t next = 0; next < composites.size(); ++next) {
      DecomposeOpInterface composite = composites[next];
      InsertionRecorder recorder;
      ImplicitLocOpBuilder builder(composite->getLoc(), composite, &recorder);
      FailureOr<llvm::SmallVector<Value>> values = composite.decompose(builder);
      if (failed(values))
        return signalPassFailure();
      // The primitives replace the op: they belong to its module and phase.
      for (Operation *op : recorder.created)
        for (llvm::StringRef name : {model::blockName, model::checkpointName, model::phaseName})
          model::copyAttribute(composite, name, op);
      for (Operation *op : recorder.created)
        if (auto inner = dyn_cast<DecomposeOpInterface>(op))
          composites.push_back(inner);
      composite->replaceAllUsesWith(*values);
      composite->erase();
    }
  }
};

} // namespace
