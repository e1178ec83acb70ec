//===- Fuse.cpp - the fusions that op families contribute ---------------------------------===//

#include "dialect/model/Patterns.h"
#include "passes/model/Common.h"
#include "passes/model/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sluice {
#define GEN_PASS_DEF_FUSE
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct FusePass : sluice::impl::FuseBase<FusePass> {
  void runOnOperation() override {
    RewritePatternSet set(&getContext());
    model::populateFusionPatterns(set);
    FrozenRewritePatternSet patterns(std::move(set));
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(function, patterns, config)))
        return signalPassFailure();
  }
};

} // namespace
