//===- RecipeTest.cpp - reading, checking and printing recipes ---------------------------===//

#include "passes/recipe/RecipeKeys.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>

using namespace sluice;

namespace {

/// The error of a recipe; empty for a valid one.
std::string errorOf(const std::string &text) {
  Recipe recipe;
  Status status = recipe.addText(text, "r.toml");
  if (status.isOk())
    status = recipe.resolve();
  return status.message();
}

std::string settingError(const std::string &setting) {
  Recipe recipe;
  return recipe.addSetting(setting).message();
}

RecipeValue text(const char *value) { return RecipeValue(std::string(value)); }

TEST(RecipeKeys, KeysAcceptTheirDefaults) {
  for (const RecipeKey &key : recipeKeys()) {
    if (std::holds_alternative<std::monostate>(key.defaultValue))
      continue;
    Recipe recipe;
    EXPECT_EQ(recipe.add(key.name, key.defaultValue, "here").message(), "") << key.name;
    EXPECT_TRUE(recipe.value(key.name) == key.defaultValue) << key.name;
  }
}

TEST(RecipeKeys, EveryKeyHasADocAndOneName) {
  std::map<std::string, int> seen;
  for (const RecipeKey &key : recipeKeys()) {
    EXPECT_FALSE(key.doc.empty()) << key.name;
    EXPECT_EQ(seen[key.name]++, 0) << key.name;
    EXPECT_EQ(findRecipeKey(key.name), &key);
  }
  EXPECT_EQ(findRecipeKey("mesh"), nullptr);
}

TEST(RecipeKeys, NearestKey) {
  EXPECT_EQ(nearestRecipeKey("mesh.shrad").name, "mesh.shard");
  EXPECT_EQ(nearestRecipeKey("strategy").name, "sharding.strategy");
  EXPECT_EQ(nearestRecipeKey("sharding.clip_norm").name, "gradient.clip_norm");
  EXPECT_EQ(nearestRecipeKey("optimizer.weigth_decay").name, "optimizer.weight_decay");
}

// Tests each key that takes a number at both bounds, and at the next numbers below and above them.
TEST(RecipeKeys, Bounds) {
  const auto accepts = [](const RecipeKey &key, RecipeValue value) {
    Recipe recipe;
    const Status status = recipe.add(key.name, std::move(value), "here");
    EXPECT_TRUE(status.isOk() || status.message().find("expected") != std::string::npos) << status.message();
    return status.isOk();
  };
  int seen = 0;
  for (const RecipeKey &key : recipeKeys()) {
    // A key of another version accepts its default only.
    if (key.onlyDefault || !(key.kinds & (recipeInteger | recipeNumber)))
      continue;
    ++seen;
    if (key.kinds & recipeInteger) {
      const auto least = static_cast<std::int64_t>(key.least), most = static_cast<std::int64_t>(key.most);
      EXPECT_TRUE(accepts(key, least)) << key.name;
      EXPECT_FALSE(accepts(key, least - 1)) << key.name;
      EXPECT_FALSE(accepts(key, std::int64_t(-1))) << key.name;
      EXPECT_TRUE(accepts(key, most)) << key.name;
      EXPECT_FALSE(accepts(key, most + 1)) << key.name;
    }
    if (key.kinds & recipeNumber) {
      EXPECT_EQ(accepts(key, key.least), !key.openBelow) << key.name;
      EXPECT_FALSE(accepts(key, std::nextafter(key.least, -1))) << key.name;
      EXPECT_TRUE(accepts(key, key.most)) << key.name;
      EXPECT_EQ(accepts(key, HUGE_VAL), std::isinf(key.most)) << key.name;
      EXPECT_FALSE(accepts(key, -HUGE_VAL)) << key.name;
      EXPECT_FALSE(accepts(key, std::nan(""))) << key.name;
      EXPECT_TRUE(std::isinf(key.most) || !accepts(key, std::nextafter(key.most, HUGE_VAL))) << key.name;
    }
  }
  EXPECT_GT(seen, 15);
  // Zero of these never had an effect.
  EXPECT_NE(settingError("lr_schedule.decay_steps=0"), "");
}

TEST(Recipe, ReadsTablesAndDottedKeys) {
  Recipe recipe;
  ASSERT_TRUE(recipe
                  .addText(R"(
mesh.shard = 4
[sharding]
reshard_after_forward = false
[optimizer]
name = "adamw"
lr = 1
betas = [0.9, 0.95]
no_decay = ["*.bias", "ln_f.*"]
[gradient]
clip_norm = 0.25
clip_type = inf
[memory]
budget = "24MiB"
)",
                           "r.toml")
                  .isOk());
  ASSERT_TRUE(recipe.resolve().isOk());
  EXPECT_TRUE(recipe.value("mesh.shard") == RecipeValue(std::int64_t(4)));
  EXPECT_TRUE(recipe.value("sharding.reshard_after_forward") == RecipeValue(false));
  // An integer is accepted for a number.
  EXPECT_TRUE(recipe.value("optimizer.lr") == RecipeValue(1.0));
  EXPECT_TRUE(recipe.value("optimizer.betas") == RecipeValue(std::vector<double>{0.9, 0.95}));
  EXPECT_TRUE(recipe.value("optimizer.no_decay") == RecipeValue(std::vector<std::string>{"*.bias", "ln_f.*"}));
  EXPECT_TRUE(std::isinf(std::get<double>(recipe.value("gradient.clip_type"))));
  EXPECT_TRUE(recipe.value("memory.budget") == RecipeValue(std::int64_t(24) << 20));
  EXPECT_EQ(recipe.origin("mesh.shard"), "r.toml:2");
  EXPECT_EQ(recipe.origin("optimizer.betas"), "r.toml:8");
  EXPECT_EQ(recipe.origin("mesh.replicate"), "default");
}

TEST(Recipe, LaterSettingsTakePrecedence) {
  Recipe recipe;
  ASSERT_TRUE(recipe.addText("mesh.shard = 4\nprecision.compute = \"f32\"\n", "r.toml").isOk());
  ASSERT_TRUE(recipe.addSetting("mesh.shard=2").isOk());
  // An unquoted word is a string.
  ASSERT_TRUE(recipe.addSetting("precision.compute=bf16").isOk());
  ASSERT_TRUE(recipe.addSetting("optimizer.betas=[0.8, 0.9]").isOk());
  ASSERT_TRUE(recipe.addSetting("gradient.clip_type = inf").isOk());
  EXPECT_TRUE(recipe.value("mesh.shard") == RecipeValue(std::int64_t(2)));
  EXPECT_EQ(recipe.origin("mesh.shard"), "--set mesh.shard=2");
  EXPECT_TRUE(recipe.value("precision.compute") == text("bf16"));
}

TEST(Recipe, DefaultsThatDependOnOthers) {
  Recipe adamw, sgd;
  ASSERT_TRUE(adamw.resolve().isOk());
  EXPECT_TRUE(adamw.value("optimizer.weight_decay") == RecipeValue(0.01));
  EXPECT_EQ(adamw.origin("optimizer.weight_decay"), "default of adamw");
  EXPECT_TRUE(adamw.value("target.isa") == text(stringifyEnum(hostInstructionSet()).data()));
  ASSERT_TRUE(sgd.addSetting("optimizer.name=sgd").isOk());
  ASSERT_TRUE(sgd.resolve().isOk());
  EXPECT_TRUE(sgd.value("optimizer.weight_decay") == RecipeValue(0.0));
}

TEST(Recipe, AliasesAreNormalized) {
  Recipe recipe;
  ASSERT_TRUE(
      recipe
          .addText("mesh.replicate = 2\nsharding.strategy = \"hybrid_shard_grad_op\"\n"
                   "schedule.backward_prefetch = \"none\"\ngradient.clip_norm = \"off\"\nmemory.budget = \"none\"",
                   "r.toml")
          .isOk());
  ASSERT_TRUE(recipe.resolve().isOk());
  EXPECT_TRUE(recipe.value("sharding.strategy") == text("shard_grad_op"));
  EXPECT_TRUE(recipe.value("schedule.backward_prefetch") == RecipeValue(std::int64_t(0)));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(recipe.value("gradient.clip_norm")));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(recipe.value("memory.budget")));
}

TEST(Recipe, GivenValuesDifferFromDefaults) {
  Recipe recipe;
  ASSERT_TRUE(recipe.addText("mesh.shard = 1\nmesh.replicate = 2\ntarget.isa = \"avx2\"", "r.toml").isOk());
  ASSERT_TRUE(recipe.resolve().isOk());
  std::map<std::string, RecipeValue> given = recipe.given();
  EXPECT_EQ(given.size(), 3u);
  EXPECT_TRUE(given.count("mesh.replicate") && given.count("target.isa") && given.count("optimizer.weight_decay"));
}

TEST(Recipe, PrintedRecipeIsARecipe) {
  Recipe recipe, again;
  ASSERT_TRUE(
      recipe
          .addText("mesh.shard = 4\noptimizer.no_decay = [\"a\\\"b\", \"\\u007f\"]\ngradient.clip_type = inf", "r.toml")
          .isOk());
  ASSERT_TRUE(recipe.resolve().isOk());
  std::string printed = recipe.print();
  EXPECT_NE(printed.find("# r.toml:1"), std::string::npos);
  EXPECT_NE(printed.find("# memory.budget is off"), std::string::npos);
  ASSERT_EQ(again.addText(printed, "printed").message(), "");
  ASSERT_EQ(again.resolve().message(), "");
  for (const RecipeKey &key : recipeKeys()) {
    EXPECT_NE(printed.find(key.name), std::string::npos) << key.name;
    EXPECT_TRUE(again.value(key.name) == recipe.value(key.name)) << key.name;
  }
}

TEST(RecipeErrors, UnknownKeys) {
  EXPECT_EQ(errorOf("\n\nmesh.shrad = 2"),
            "r.toml:3: unknown recipe key, expected 'mesh.shard' or another of the recipe's "
            "keys but got 'mesh.shrad'");
  EXPECT_EQ(errorOf("[shcedule]\norder = 2"), "r.toml:1: unknown recipe key, expected '" +
                                                  nearestRecipeKey("shcedule").name +
                                                  "' or another of the recipe's keys but got 'shcedule'");
  EXPECT_EQ(settingError("nothing=1"), "--set nothing=1: unknown recipe key, expected '" +
                                           nearestRecipeKey("nothing").name +
                                           "' or another of the recipe's keys but got 'nothing'");
}

TEST(RecipeErrors, RenamedKeys) {
  EXPECT_EQ(errorOf("[schedule]\nlr = \"cosine\""),
            "r.toml:2: recipe key 'schedule.lr' is renamed to 'lr_schedule.name'");
  EXPECT_EQ(errorOf("schedule.warmup_steps = 2"),
            "r.toml:1: recipe key 'schedule.warmup_steps' is renamed to 'lr_schedule.warmup_steps'");
  EXPECT_EQ(errorOf("schedule.min_lr = 2"),
            "r.toml:1: recipe key 'schedule.min_lr' is renamed to 'lr_schedule.min_lr'");
  EXPECT_EQ(settingError("schedule.total_steps=2"),
            "--set schedule.total_steps=2: recipe key 'schedule.total_steps' is renamed to 'lr_schedule.total_steps'");
}

TEST(RecipeErrors, WrongTypesAndSizes) {
  EXPECT_EQ(errorOf("mesh.shard = \"four\""),
            "r.toml:1: value of 'mesh.shard', expected an integer of at least 1 and at most 1048576 but got \"four\"");
  EXPECT_EQ(errorOf("mesh.shard = 0"),
            "r.toml:1: value of 'mesh.shard', expected an integer of at least 1 and at most 1048576 but got 0");
  EXPECT_EQ(errorOf("mesh.shard = -3"),
            "r.toml:1: value of 'mesh.shard', expected an integer of at least 1 and at most 1048576 but got -3");
  EXPECT_EQ(errorOf("gradient.microbatches = 1.5"),
            "r.toml:1: value of 'gradient.microbatches', expected an integer of at least 1 and at most 1048576 or a "
            "table from globs of train entry points to these but got 1.5");
  EXPECT_EQ(errorOf("optimizer.betas = [0.9]"),
            "r.toml:1: value of 'optimizer.betas', expected a list of 2 numbers from 0 to 1 (below 1) but got [0.9]");
  EXPECT_EQ(errorOf("optimizer.name = \"lion\""),
            "r.toml:1: value of 'optimizer.name', expected \"adamw\", \"adam\" or \"sgd\" but got \"lion\"");
  EXPECT_EQ(errorOf("optimizer.name = 1979-05-27"),
            "r.toml:1: value of 'optimizer.name', expected \"adamw\", \"adam\" or \"sgd\" but got a date or time");
  EXPECT_EQ(errorOf("gradient.clip_norm = 0.0"),
            "r.toml:1: value of 'gradient.clip_norm', expected \"off\" or a number above 0 but got 0.0");
  EXPECT_EQ(errorOf("optimizer.lr = nan"),
            "r.toml:1: value of 'optimizer.lr', expected a number of at least 0 but got nan");
  EXPECT_EQ(
      errorOf("memory.budget = \"24 buckets\""),
      "r.toml:1: value of 'memory.budget', expected \"none\" or a number of bytes (as 1048576 or \"24MiB\") but got "
      "\"24 buckets\"");
  EXPECT_EQ(errorOf("memory.budget = 0").substr(0, 32), "r.toml:1: value of 'memory.budge");
}

TEST(RecipeErrors, UnsupportedValues) {
  EXPECT_EQ(errorOf("mesh.context = 2"),
            "r.toml:1: value of 'mesh.context' that this version does not support, expected 1 but got 2");
  EXPECT_NE(errorOf("target.arch = \"sm_70\"").find("' that this version does not support, expected "),
            std::string::npos);
}

TEST(Recipe, Tables) {
  Recipe recipe;
  ASSERT_EQ(
      recipe
          .addText("[sharding.units]\nfirst = [\"h.0\", \"h.1\"]\nw1 = \"*.w1.*\"\n[sharding.reshard_after_forward]\n"
                   "h.0 = 2\n\"*\" = true\n[gradient]\nsync = [false, true]\ndivide = {root = 4}",
                   "r.toml")
          .message(),
      "");
  RecipeTable units{{{"first", RecipeValue(std::vector<std::string>{"h.0", "h.1"})}, {"w1", text("*.w1.*")}}};
  EXPECT_TRUE(recipe.value("sharding.units") == RecipeValue(units));
  RecipeTable reshards{{{"*", RecipeValue(true)}, {"h.0", RecipeValue(std::int64_t(2))}}};
  EXPECT_TRUE(recipe.value("sharding.reshard_after_forward") == RecipeValue(reshards));
  EXPECT_TRUE(recipe.value("gradient.sync") == RecipeValue(std::vector<bool>{false, true}));
  EXPECT_TRUE(recipe.value("gradient.divide") == RecipeValue(RecipeTable{{{"root", RecipeValue(4.0)}}}));
  Recipe again;
  ASSERT_EQ(again.addText(recipe.print(), "printed").message(), "");
  EXPECT_TRUE(again.value("sharding.reshard_after_forward") == RecipeValue(reshards));
}

TEST(RecipeErrors, Tables) {
  EXPECT_EQ(errorOf("gradient.divide = {root = 0}").substr(0, 34), "r.toml:1: value of 'gradient.divid");
  EXPECT_EQ(errorOf("gradient.divide = nan").substr(0, 34), "r.toml:1: value of 'gradient.divid");
  EXPECT_EQ(errorOf("gradient.clip_type = 0.5"),
            "r.toml:1: value of 'gradient.clip_type', expected a number of at least 1 but got 0.5");
  EXPECT_EQ(errorOf("sharding.units = \"bytes:0\"").substr(0, 34), "r.toml:1: value of 'sharding.units");
  EXPECT_EQ(errorOf("mesh.shard = {a = 1}").substr(0, 30), "r.toml:1: value of 'mesh.shard");
  EXPECT_EQ(errorOf("sharding.reshard_after_forward = {a = {b = true}, \"a.b\" = false}").substr(0, 34),
            "r.toml:1: value of 'sharding.resha");
}

TEST(RecipeErrors, ImpossibleCombinations) {
  EXPECT_EQ(errorOf("precision.compute = \"f16\""),
            "r.toml:1: 'precision.compute' = \"f16\" requires 'precision.loss_scale'");
  EXPECT_EQ(errorOf("precision.loss_scale = 0"),
            "r.toml:1: value of 'precision.loss_scale', expected \"none\", \"dynamic\" or a number above 0 but got 0");
  EXPECT_EQ(errorOf("sharding.strategy = \"hybrid_shard\""),
            "r.toml:1: 'sharding.strategy' = \"hybrid_shard\", expected 'mesh.replicate' above 1 but got 1");
  EXPECT_EQ(errorOf("sharding.strategy = \"no_shard\"\nsharding.reshard_after_forward = true"),
            "r.toml:2: 'sharding.reshard_after_forward' = true cannot be combined with "
            "'sharding.strategy' = \"no_shard\"");
  EXPECT_EQ(errorOf("optimizer.momentum = 0.9"),
            "r.toml:1: 'optimizer.momentum' = 0.9, expected the optimizer \"sgd\" but got \"adamw\"");
  EXPECT_EQ(errorOf("optimizer.name = \"sgd\"\noptimizer.betas = [0.9, 0.95]"),
            "r.toml:2: 'optimizer.betas' = [0.9, 0.95], expected the optimizer \"adamw\" or \"adam\" but got \"sgd\"");
  EXPECT_EQ(errorOf("optimizer.name = \"sgd\"\noptimizer.nesterov = true"),
            "r.toml:2: 'optimizer.nesterov' = true, expected 'optimizer.momentum' above 0 but got 0");
  EXPECT_EQ(errorOf("loss.mean = \"tokens\"\nloss.per_rank = true"),
            "r.toml:2: 'loss.per_rank' = true cannot be combined with 'loss.mean' = \"tokens\"");
  EXPECT_EQ(errorOf("lr_schedule.name = \"cosine\""),
            "r.toml:1: 'lr_schedule.name' = \"cosine\", expected 'lr_schedule.total_steps' of at least 1 but got 0");
  EXPECT_EQ(errorOf("lr_schedule.total_steps = 10\nlr_schedule.warmup_steps = 20"),
            "r.toml:2: 'lr_schedule.warmup_steps' = 20, expected at most 'lr_schedule.total_steps' but that is 10");
  EXPECT_EQ(errorOf("lr_schedule.name = \"linear\"\nlr_schedule.total_steps = 10\nlr_schedule.decay_steps = 3"),
            "r.toml:3: 'lr_schedule.decay_steps' = 3, expected the schedule \"wsd\" but got \"linear\"");
  EXPECT_EQ(
      errorOf("lr_schedule = {name = \"wsd\", total_steps = 10, warmup_steps = 8, decay_steps = 3}"),
      "r.toml:1: 'lr_schedule.decay_steps' = 3, expected at most the 2 steps of the schedule after its warm-up but "
      "got 3");
  EXPECT_EQ(errorOf("lr_schedule.min_lr = 0.1"),
            "r.toml:1: 'lr_schedule.min_lr' = 0.1, expected at most 'optimizer.lr' but that is 0.001");
  EXPECT_EQ(errorOf("mesh.shard = 1048576\nmesh.replicate = 2"),
            "r.toml:1: 'mesh.shard' = 1048576, expected at most 1048576 ranks in all but got 2097152");
}

TEST(Recipe, SettingDefaultUnsetsAKey) {
  Recipe recipe;
  ASSERT_TRUE(recipe
                  .addText("mesh.shard = 4\ngradient.clip_norm = 1.0\noptimizer.betas = [0.8, 0.9]\n"
                           "lr_schedule = {name = \"wsd\", total_steps = 10}",
                           "r.toml")
                  .isOk());
  for (const char *key : {"mesh.shard", "gradient.clip_norm", "optimizer.betas", "lr_schedule.name"}) {
    ASSERT_TRUE(recipe.addSetting(std::string(key) + "=default").isOk());
    EXPECT_EQ(recipe.origin(key), "default") << key;
    EXPECT_TRUE(recipe.value(key) == findRecipeKey(key)->defaultValue) << key;
  }
  EXPECT_TRUE(recipe.resolve().isOk());
  EXPECT_FALSE(recipe.lrSchedule.decaySteps.has_value());
  EXPECT_EQ(
      recipe.addSetting("mesh.shart=default").message(),
      "--set mesh.shart=default: unknown recipe key, expected 'mesh.shard' or another of the recipe's keys but got "
      "'mesh.shart'");
}

TEST(Recipe, DecayStepsOfWsd) {
  for (auto [total, warmup, decay] : {std::array{100, 10, 20}, {12, 0, 3}, {10, 9, 1}, {10, 10, 0}, {1, 0, 0}}) {
    Recipe recipe;
    recipe.lrSchedule.name = LearningRateSchedule::wsd;
    recipe.lrSchedule.totalSteps = total;
    recipe.lrSchedule.warmupSteps = warmup;
    ASSERT_TRUE(recipe.resolve().isOk());
    EXPECT_EQ(recipe.lrSchedule.decaySteps, decay) << total << " steps, warm-up " << warmup;
    EXPECT_EQ(recipe.origin("lr_schedule.decay_steps"), "a fifth of 'lr_schedule.total_steps'");
  }
}

TEST(RecipeErrors, Files) {
  Recipe recipe;
  EXPECT_EQ(recipe.addFile("/nowhere/r.toml").message(), "cannot read '/nowhere/r.toml': No such file or directory");
  EXPECT_EQ(recipe.addFile("/").message(), "cannot read '/', expected a regular file but got a directory");
  EXPECT_EQ(errorOf("mesh.shard = \n").substr(0, 42), "r.toml:1: recipe that is not TOML: Error w");
  EXPECT_EQ(errorOf("[=]").substr(0, 33), "r.toml:1: recipe that is not TOML");
  EXPECT_EQ(errorOf("mesh.shard = 1\nmesh.shard = 2").substr(0, 33), "r.toml:2: recipe that is not TOML");
  EXPECT_EQ(settingError("mesh.shard"), "--set mesh.shard: setting, expected key=value but got 'mesh.shard'");
  EXPECT_EQ(recipe.addSetting("=1").code(), StatusCode::usage);
  // A setting is one value: text on a second line is no second key.
  EXPECT_NE(settingError("mesh.shard=1\nmesh.replicate=2"), "");
}

TEST(Recipe, TypedFields) {
  Recipe recipe;
  ASSERT_EQ(
      recipe
          .addText("sharding.strategy = \"no_shard\"\nsharding.reshard_after_forward = {\"h.*\" = 2, root = false}\n"
                   "sharding.dim = \"largest\"\nsharding.units = {w = [\"*.w\"], b = \"*.b\"}\n"
                   "gradient.sync = [true, false]\nschedule.backward_prefetch = \"post\"\n"
                   "memory.offload = [\"optimizer\"]\nprecision.loss_scale = \"dynamic\"",
                   "r.toml")
          .message(),
      "");
  EXPECT_EQ(recipe.sharding.strategy, ShardingStrategy::no_shard);
  const auto &reshards = recipe.sharding.reshardAfterForward;
  EXPECT_EQ(std::get<std::int64_t>(reshards.at("h.3")), 2);
  EXPECT_EQ(std::get<bool>(reshards.at("root")), false);
  EXPECT_EQ(std::get<ReshardRule>(reshards.at("other")), ReshardRule::by_strategy);
  EXPECT_TRUE(recipe.sharding.dim.isEverywhere(ShardDim::largest));
  EXPECT_EQ(std::get<1>(recipe.sharding.units).size(), 2u);
  EXPECT_EQ(std::get<std::vector<bool>>(recipe.gradient.sync.at("h")), (std::vector<bool>{true, false}));
  EXPECT_EQ(std::get<BackwardPrefetch>(recipe.schedule.backwardPrefetch), BackwardPrefetch::post);
  EXPECT_TRUE(recipe.memory.offloads(Offloaded::optimizer) && !recipe.memory.offloads(Offloaded::parameters));
  EXPECT_TRUE(std::holds_alternative<LossScaling>(recipe.precision.lossScale));
  // A later value replaces an earlier one completely; names that a table does not match have the default.
  ASSERT_TRUE(recipe.addSetting("sharding.reshard_after_forward=true").isOk());
  ASSERT_TRUE(recipe.addSetting("sharding.reshard_after_forward={root = false}").isOk());
  EXPECT_EQ(std::get<ReshardRule>(reshards.at("h.3")), ReshardRule::by_strategy);
}

TEST(Recipe, GlobsHaveTwoSpecialCharacters) {
  EXPECT_TRUE(matchesGlob("h.*.w", "h.0.attn.w") && matchesGlob("*", "") && matchesGlob("h.?", "h.1"));
  EXPECT_TRUE(matchesGlob("a*b*c", "aXbYbZc") && !matchesGlob("h.?", "h.10") && !matchesGlob("h.*.w", "h.0.wx"));
  // Characters with a meaning in other globs are literal.
  EXPECT_TRUE(matchesGlob("w[0]", "w[0]") && !matchesGlob("w[0]", "w0") && !matchesGlob("[", "x"));
  EXPECT_TRUE(matchesGlob("{a,b}", "{a,b}") && !matchesGlob("{a,b}", "a"));
  EXPECT_TRUE(matchesGlob("a\\b", "a\\b") && matchesGlob("a\\", "a\\") && !matchesGlob("\\*", "x"));
  EXPECT_TRUE(matchesGlob("\\*", "\\x") && matchesGlob("^a!", "^a!"));
}

TEST(Recipe, ByteCounts) {
  std::int64_t bytes = 0;
  EXPECT_TRUE(parseByteCount("24MiB", bytes) && bytes == 24 << 20);
  EXPECT_TRUE(parseByteCount("1.5 kB", bytes) && bytes == 1500);
  EXPECT_TRUE(parseByteCount("7", bytes) && bytes == 7);
  EXPECT_FALSE(parseByteCount("", bytes));
  EXPECT_FALSE(parseByteCount("-1MiB", bytes));
  EXPECT_FALSE(parseByteCount("1e300TiB", bytes));
  EXPECT_FALSE(parseByteCount("nan", bytes));
}

} // namespace
