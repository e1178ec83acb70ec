//===- ShardingTest.cpp - shardings, local and global types -------------------------===//

#include "dialect/spmd/Sharding.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::spmd;

namespace {

class ShardingTest : public ::testing::Test {
protected:
  ShardingTest() { context.loadDialect<SpmdDialect>(); }

  DimShardingAttr dim(ArrayRef<StringRef> axes, std::int64_t segments, std::int64_t chunk, std::int64_t total,
                      std::int64_t priority = 0) {
    auto names = llvm::map_to_vector(axes, [&](StringRef axis) { return StringAttr::get(&context, axis); });
    return DimShardingAttr::get(&context, ArrayRef<StringAttr>(names), segments, chunk, total, priority);
  }
  ShardingAttr sharding(ArrayRef<DimShardingAttr> dims) { return ShardingAttr::get(&context, dims, {}); }
  RankedTensorType tensor(ArrayRef<std::int64_t> shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context));
  }

  MLIRContext context;
};

TEST_F(ShardingTest, LocalTypeHasChunksOfEverySegment) {
  RankedTensorType global = tensor({4, 24});
  ShardingAttr fused = sharding({DimShardingAttr::replicated(&context), dim({"tensor"}, 3, 3, 24)});
  RankedTensorType local = localType(global, fused);
  EXPECT_EQ(local.getShape(), ArrayRef<std::int64_t>({4, 9}));
  EXPECT_EQ(shardingOf(local), fused);
  EXPECT_EQ(globalType(local), global);
}

TEST_F(ShardingTest, ReplicatedAndPartialValuesHaveTheGlobalType) {
  RankedTensorType global = tensor({4, 2});
  EXPECT_EQ(localType(global, ShardingAttr::replicated(&context, 2)), global);
  ShardingAttr partial = ShardingAttr::get(&context, ShardingAttr::replicated(&context, 2).getDims(),
                                           PartialAxis{StringAttr::get(&context, "tensor"), PartialReduction::sum});
  EXPECT_EQ(localType(global, partial), global);
  EXPECT_FALSE(partial.isReplicated());
  EXPECT_TRUE(partial.isPartialOver("tensor"));
  EXPECT_FALSE(partial.isPartialOver("expert"));
}

TEST_F(ShardingTest, ShardTypeOverOneRankIsGlobal) {
  ArrayAttr axes = Builder(&context).getStrArrayAttr({"shard"});
  EXPECT_EQ(shardType(tensor({5, 2}), 0, axes, 1), tensor({5, 2}));
  RankedTensorType shard = shardType(tensor({5, 2}), 0, axes, 4);
  EXPECT_EQ(shard.getShape(), ArrayRef<std::int64_t>({2, 2}));
  std::optional<ShardedDim> sharded = shardedDimOf(shard);
  ASSERT_TRUE(sharded);
  EXPECT_EQ(sharded->dim, 0);
  EXPECT_EQ(sharded->chunk, 2);
  EXPECT_EQ(sharded->total, 5);
  EXPECT_EQ(sharded->axesAttr(), axes);
  EXPECT_FALSE(shardedDimOf(tensor({5, 2})));
}

TEST_F(ShardingTest, PlacementIgnoresPriority) {
  ShardingAttr first = sharding({dim({"tensor"}, 1, 2, 4, 0)}), second = sharding({dim({"tensor"}, 1, 2, 4, 1)});
  EXPECT_NE(first, second);
  EXPECT_TRUE(first.isSamePlacement(second));
  EXPECT_FALSE(first.isSamePlacement(sharding({dim({"tensor"}, 2, 1, 4)})));
  EXPECT_FALSE(first.isSamePlacement(ShardingAttr::replicated(&context, 1)));
  EXPECT_EQ(first.dimAlong("tensor"), 0);
  EXPECT_EQ(first.dimAlong("expert"), std::nullopt);
}

} // namespace
