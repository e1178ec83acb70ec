//===- Fuse.cpp - model-fuse --------------------------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "passes/model/Common.h"
#include "passes/model/Passes.h"
#include "passes/recipe/RecipeAttr.h"

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
  using FuseBase::FuseBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), chunkRows);
    if (failed(recipe))
      return signalPassFailure();
    // First, before other fusions change the product.
    if (std::optional<std::int64_t> rows = recipe->loss.chunkRows) {
      unsigned fusions = 0;
      if (failed(run([&](RewritePatternSet &set) { model::populateChunkPatterns(set, *rows, fusions); })))
        return signalPassFailure();
      if (fusions == 0) {
        getOperation().emitError() << recipe->origin("loss.chunk_rows") << ": 'loss.chunk_rows' = " << *rows
                                   << " requires a cross entropy of a product that no other op reads";
        return signalPassFailure();
      }
    }
    if (failed(run([](RewritePatternSet &set) { model::populateFusionPatterns(set); })))
      signalPassFailure();
  }

  LogicalResult run(llvm::function_ref<void(RewritePatternSet &)> populate) {
    RewritePatternSet set(&getContext());
    populate(set);
    FrozenRewritePatternSet patterns(std::move(set));
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(function, patterns, config)))
        return failure();
    return success();
  }
};

} // namespace
