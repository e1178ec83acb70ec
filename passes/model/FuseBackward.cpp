//===- FuseBackward.cpp - model-fuse-backward ---------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "passes/model/Common.h"
#include "passes/model/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace sluice {
#define GEN_PASS_DEF_FUSEBACKWARD
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct FuseBackwardPass : sluice::impl::FuseBackwardBase<FuseBackwardPass> {
  void runOnOperation() override {
    RewritePatternSet set(&getContext());
    model::populateMatmulFusionPatterns(set, /*inBackward=*/true);
    model::populateNormFusionPatterns(set);
    model::populateAttentionFusionPatterns(set);
    model::populateBackwardFusionPatterns(set);
    model::populateCastFusionPatterns(set);
    FrozenRewritePatternSet patterns(std::move(set));
    for (func::FuncOp function : entryFunctions(getOperation(), EntryKind::train))
      walkAndApplyPatterns(function, patterns);
  }
};

} // namespace
