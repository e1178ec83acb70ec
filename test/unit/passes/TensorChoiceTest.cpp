//===- TensorChoiceTest.cpp - which parameters are sharded along the axis tensor ----------===//

#include "passes/choose/TensorChoice.h"

#include "passes/Pipeline.h"
#include "passes/import/export/Import.h"
#include "passes/recipe/RecipeAttr.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

/// A module of test/reference/export-sharding on four ranks; most blocks have equal ops.
class Chosen {
public:
  explicit Chosen(const std::string &name) : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
    mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
    const std::string path = SLUICE_SOURCE_DIR "/test/reference/export-sharding/" + name + ".pt2";
    auto archive = exported::importArchive(&context, path, {});
    EXPECT_TRUE(archive.isOk());
    imported = std::move(archive->module);
    Recipe recipe;
    EXPECT_TRUE(recipe.add("mesh.tensor", std::int64_t(4), "test").isOk());
    attachRecipe(*imported, recipe);
    EXPECT_TRUE(runPhases(*imported, findPhase("optimize")).isOk());
    auto created = TensorChoice::create(*imported);
    EXPECT_TRUE(created.isOk());
    choice.emplace(std::move(*created));
    solution = searchSplits(choice->problem());
  }

  /// The least cost over all values of some variables, with the chosen ones of the others.
  double leastCost(const std::vector<unsigned> &variables) const {
    const SplitProblem problem = choice->problem();
    std::vector<unsigned> values = solution.values;
    double least = solution.cost;
    const auto search = [&](const auto &again, std::size_t at) -> void {
      if (at == variables.size()) {
        const std::optional<double> cost = problem.cost(values);
        least = std::min(least, cost.value_or(least));
        return;
      }
      for (values[variables[at]] = 0; values[variables[at]] < problem.values; ++values[variables[at]])
        again(again, at + 1);
      values[variables[at]] = solution.values[variables[at]];
    };
    search(search, 0);
    return least;
  }

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry dialects;
    registerSluiceDialects(dialects);
    return dialects;
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> imported;

public:
  std::optional<TensorChoice> choice;
  SplitSolution solution;
};

/// Within 5 % of the best split of each block's parameters.
void expectNearBest(const std::string &name, std::size_t most, std::size_t kinds) {
  const Chosen chosen(name);
  std::size_t searched = 0;
  for (const std::vector<unsigned> &group : chosen.choice->groups()) {
    if (group.size() < 2 || group.size() > most)
      continue;
    ++searched;
    const double least = chosen.leastCost(group);
    EXPECT_LE(chosen.solution.cost, 1.05 * least) << name << ": group " << searched;
  }
  EXPECT_GE(searched, kinds) << name;
  // All replicated costs much more.
  EXPECT_LT(chosen.solution.cost,
            0.7 * *chosen.choice->problem().cost(std::vector<unsigned>(chosen.solution.values.size())))
      << name;
}

TEST(TensorChoice, BertIsNearTheBest) { expectNearBest("bert", 6, 1); }
TEST(TensorChoice, VitIsNearTheBest) { expectNearBest("vit", 6, 1); }
TEST(TensorChoice, MixerIsNearTheBest) { expectNearBest("mixer", 4, 1); }
TEST(TensorChoice, T5IsNearTheBest) { expectNearBest("t5", 6, 1); }

TEST(TensorChoice, CostsOfOneSplit) {
  const Chosen chosen("mixer");
  const auto &variables = chosen.choice->variables();
  std::vector<unsigned> values(variables.size());
  const std::optional<TensorCost> replicated = chosen.choice->cost(values);
  ASSERT_TRUE(replicated);
  EXPECT_EQ(replicated->sentBytes, 0);
  std::size_t column = variables.size(), row = column;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    column = variables[i].weights.front() == "blocks.0.channels.0.weight" ? i : column;
    row = variables[i].weights.front() == "blocks.0.channels.2.weight" ? i : row;
  }
  ASSERT_LT(std::max(row, column), variables.size());
  EXPECT_EQ(variables[column].weights.size(), 2u);
  EXPECT_EQ(variables[column].biases.size(), 2u);
  values[column] = 1;
  values[row] = 2;
  const std::optional<TensorCost> pair = chosen.choice->cost(values);
  ASSERT_TRUE(pair);
  // In each of two blocks an all_reduce forward and one backward, of [2, 256, 512] floats, and one of the norm.
  EXPECT_EQ(pair->sentBytes, 2 * 2 * 2 * (2.0 * 256 * 512 * 4) * 3 / 4 + 2 * 4.0 * 3 / 4);
  // Two weights of [2048, 512] and a bias of 2048 in each block, with gradients and two moments.
  EXPECT_EQ(replicated->heldBytes - pair->heldBytes, 2 * 4 * 4.0 * (2 * 2048 * 512 + 2048) * 3 / 4);
  // Three products of each of the weights.
  const double flops = 2 * 2 * 3 * 2.0 * 512 * 2048 * 512 * 3 / 4;
  EXPECT_NEAR(replicated->repeatedFlops - pair->repeatedFlops, flops, 0.01 * flops);
}

} // namespace
