//===- Show.cpp - passes that show sharding rules and costs ------------------------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"

namespace sluice {
#define GEN_PASS_DEF_SHOWSHARDINGRULES
#define GEN_PASS_DEF_SHOWCOST
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct ShowShardingRulesPass : sluice::impl::ShowShardingRulesBase<ShowShardingRulesPass> {
  void runOnOperation() override {
    Builder builder(&getContext());
    getOperation().walk([&](ShardingRuleOpInterface op) {
      op->setAttr(model::shardingRuleName, builder.getStringAttr(op.getShardingRule().str()));
    });
  }
};

struct ShowCostPass : sluice::impl::ShowCostBase<ShowCostPass> {
  void runOnOperation() override {
    Builder builder(&getContext());
    getOperation().walk([&](CostOpInterface op) {
      OpCost cost = op.getCost();
      op->setAttr(model::costName,
                  builder.getStringAttr("flops=" + llvm::Twine(cost.flops) + ", bytes=" + llvm::Twine(cost.bytes)));
    });
  }
};

} // namespace
