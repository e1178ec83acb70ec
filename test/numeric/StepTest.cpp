//===- StepTest.cpp - dropout, counted losses, frozen parameters, evaluation, entries ------===//
//
// Random numbers and counts of a step depend only on its rows: not on ranks, micro-batches or recompute.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Safetensors.h"
#include "test/numeric/Training.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

/// Eight rows per step, shared by `parts` ranks times micro-batches.
TrainingRun stepRun(const std::string &label, int parts, const std::string &recipe) {
  return tinyRun("step-" + label, 8 / parts, 3, recipe);
}

void expectNear(const Training &a, const Training &b, double tolerance) { expectNearRuns(a, b, tolerance, tolerance); }

void expectSameRuns(const Training &a, const Training &b) {
  ASSERT_FALSE(a.loss.empty());
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.gradientNorm, b.gradientNorm);
  ASSERT_FALSE(a.weights.empty());
  for (const auto &[name, tensor] : a.weights)
    EXPECT_EQ(tensor.values, b.weights.at(name).values) << name;
}

struct Split {
  int parts;
  const char *recipe;
};
constexpr Split splits[] = {{2, "mesh.shard = 2\n"},
                            {2, "gradient.microbatches = 2\n"},
                            {4, "mesh.shard = 2\ngradient.microbatches = 2\n"},
                            {4, "mesh.shard = 2\nmesh.replicate = 2\n"}};

/// A model whose dropouts are set by `--dropout`, with weights large enough that dropout has a visible effect, and
/// data.
struct DropoutModel {
  std::string label, config, weights, data;
};

/// GPT-2's three kinds of dropout; dropout of attention only, with shared keys and a sliding window.
std::vector<DropoutModel> dropoutModels() {
  std::string folder = referenceFolder();
  std::vector<DropoutModel> list = {
      {"gpt2", folder + "/gpt2-tiny/config.json", folder + "/gpt2-tiny/init.safetensors", folder + "/tokens.bin"}};
  for (const std::string name : {"llama", "mistral"}) {
    std::string family = folder + "/families/" + name;
    list.push_back({name, family + "/config.json", family, "random:5"});
  }
  return list;
}

class Dropout : public testing::TestWithParam<DropoutModel> {
protected:
  /// Eight rows per step; a dropout probability of 0 is no dropout.
  TrainingRun run(const std::string &label, int parts, const std::string &recipe, const std::string &rate = "0.2",
                  const std::string &seed = "3") const {
    TrainingRun training = stepRun("dropout-" + GetParam().label + "-" + label, parts, recipe);
    training.config = GetParam().config;
    training.importOptions = "--dropout " + rate;
    training.options =
        "--data " + GetParam().data + " --seed " + seed + " --save-dtype f32 --init " + GetParam().weights;
    return training;
  }
};

TEST_P(Dropout, MasksDependOnlyOnRows) {
  Training oneRank = train(run("whole", 1, ""), false);
  ASSERT_FALSE(oneRank.loss.empty());
  int number = 0;
  for (const Split &split : splits) {
    SCOPED_TRACE(split.recipe);
    expectNear(train(run(std::to_string(number++), split.parts, split.recipe), false), oneRank, 2e-5);
  }
  // The mask is generated again for the derivative and in a recompute, with the same bits.
  std::string mesh = "mesh.shard = 2\ngradient.microbatches = 2\n";
  expectSameRuns(train(run("again", 4, mesh), true),
                 train(run("recompute", 4, mesh + "recompute.policy = \"block\"\n"), true));
  // Dropout has an effect, which depends on the seed.
  double first = oneRank.loss.at(0);
  EXPECT_GT(std::abs(train(run("without", 1, "", "0"), false).loss.at(0) - first), 1e-3);
  EXPECT_GT(std::abs(train(run("seed", 1, "", "0.2", "4"), false).loss.at(0) - first), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, Dropout, testing::ValuesIn(dropoutModels()),
                         [](const auto &info) { return info.param.label; });

/// Targets of eight rows with different numbers of counted positions: few in rows 0 to 2, all in the last ones.
std::string unevenTargets() {
  std::vector<std::int32_t> tokens, targets;
  for (std::int32_t row = 0; row < 24; ++row)
    for (std::int32_t i = 0; i < 16; ++i) {
      tokens.push_back((row * 31 + i * 7) % 256);
      targets.push_back(i < (row % 8) * 2 + 1 ? (row * 17 + i * 5) % 256 : -100);
    }
  std::string path = scratchFolder() + "/uneven.safetensors";
  auto tensor = [&](const char *name, const std::vector<std::int32_t> &values) {
    return SafetensorsTensor{name, "I32", {24, 16}, [&values](const SafetensorsTensor::Sink &sink) {
                               return sink(std::as_bytes(std::span(values)));
                             }};
  };
  EXPECT_TRUE(writeSafetensors(path, {tensor("tokens", tokens), tensor("targets", targets)}).isOk());
  return path;
}

TEST(LossMean, OverTokensMatchesTheGlobalBatch) {
  std::string data = unevenTargets();
  auto run = [&](const std::string &label, int parts, const std::string &recipe) {
    TrainingRun training = stepRun("mean-" + label, parts, recipe);
    training.options = "--data " + data + " --seed 3";
    return training;
  };
  // On one rank with all rows both means are the same.
  Training oneRank = train(run("whole", 1, ""), false);
  expectNear(train(run("tokens", 1, "loss.mean = \"tokens\"\n"), false), oneRank, 2e-5);
  int number = 0;
  for (const Split &split : splits) {
    SCOPED_TRACE(split.recipe);
    std::string label = std::to_string(number++);
    expectNear(train(run(label, split.parts, std::string(split.recipe) + "loss.mean = \"tokens\"\n"), false), oneRank,
               2e-5);
    Training byRank = train(run(label + "-rank", split.parts, split.recipe), false);
    EXPECT_GT(std::abs(byRank.loss[0] - oneRank.loss[0]), 1e-3) << "the means are equal for these rows";
  }
  // Clipping and evaluation use the same mean.
  Training clipped = train(run("clipped", 1, "gradient.clip_norm = 0.1\n"), false);
  expectNear(
      train(run("clipped-tokens", 4, "mesh.shard = 4\ngradient.clip_norm = 0.1\nloss.mean = \"tokens\"\n"), false),
      clipped, 2e-5);
}

TEST(Frozen, ParametersAreUnchangedAndNotReduced) {
  TrainingRun run = stepRun("frozen", 4, "mesh.shard = 4\nparameters.frozen = [\"wte.weight\", \"h.1.*\"]\n");
  Training frozen = train(run, true);
  run.label += "-start";
  run.steps = 0;
  Training start = train(run, true);
  bool moved = false;
  for (const auto &[name, tensor] : start.weights) {
    bool isFrozen = name == "wte.weight" || name.rfind("h.1.", 0) == 0;
    if (isFrozen)
      EXPECT_EQ(frozen.weights.at(name).values, tensor.values) << name;
    else
      moved = frozen.weights.at(name).values != tensor.values || moved;
  }
  EXPECT_TRUE(moved);
  // Gathered like the others, never reduced, and without optimizer state.
  CommandResult described = runCommand("sluice-plan describe --json " + frozen.planPath);
  ASSERT_EQ(described.code, 0) << described.err;
  nlohmann::json plan = nlohmann::json::parse(described.out);
  int gathers = 0;
  for (const auto &collective : plan["collectives"]) {
    if (collective["entry"] != "train_step" || collective["unit"] != "h.1")
      continue;
    EXPECT_EQ(collective["kind"], "all_gather");
    gathers += collective["kind"] == "all_gather";
  }
  EXPECT_GE(gathers, 1);
  CommandResult all =
      runCommand("sluice-plan describe --json " + train(stepRun("not-frozen", 4, "mesh.shard = 4\n"), false).planPath);
  auto optimizer = [](const nlohmann::json &of) {
    return of["memory"]["peak"]["by_class"]["optimizer"].get<std::int64_t>();
  };
  EXPECT_LT(optimizer(plan), optimizer(nlohmann::json::parse(all.out)));
}

TEST(Frozen, OtherParametersTrainUnchanged) {
  // Freezing is the same as a learning rate of 0 for these parameters: in the first step nothing else differs.
  Training oneRank = train(stepRun("all", 1, ""), false);
  Training part =
      train(stepRun("last-block", 1, "parameters.frozen = [\"w?e.weight\", \"h.0.*\", \"h.1.*\", \"h.2.*\"]\n"), false);
  ASSERT_FALSE(part.loss.empty());
  EXPECT_EQ(part.loss[0], oneRank.loss[0]);
  EXPECT_LT(part.gradientNorm[0], oneRank.gradientNorm[0]);
}

TEST(NoDecay, ExcludesNamedParameters) {
  auto run = [](const std::string &label, const std::string &recipe) {
    TrainingRun training = stepRun("decay-" + label, 2, "mesh.shard = 2\n" + recipe);
    training.steps = 1;
    return train(training, true);
  };
  Training none = run("none", "optimizer.weight_decay = 0.0\n"), all = run("all", "optimizer.weight_decay = 0.5\n"),
           some = run("some", "optimizer.weight_decay = 0.5\noptimizer.no_decay = [\"*.bias\", \"wte.weight\"]\n");
  ASSERT_FALSE(some.weights.empty());
  for (const auto &[name, tensor] : some.weights) {
    bool isNamed = name == "wte.weight" || name.ends_with(".bias");
    EXPECT_EQ(tensor.values, (isNamed ? none : all).weights.at(name).values) << name;
    // Biases are initialized with 0, which does not decay.
    if (!name.ends_with(".bias")) {
      EXPECT_NE(none.weights.at(name).values, all.weights.at(name).values) << name;
    }
  }
}

TEST(Evaluation, UsesTheStateAndTheArena) {
  TrainingRun run = stepRun("eval", 2, "mesh.shard = 2\n");
  run.importOptions = "--dropout 0.3";
  run.options += " --eval-data " + referenceFolder() + "/tokens.bin --eval-every 2 --eval-batches 2";
  Training with = train(run, true);
  std::vector<nlohmann::json> lines;
  std::ifstream log(scratchFolder() + "/" + run.label + ".jsonl");
  for (std::string line; std::getline(log, line);)
    lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_FALSE(lines[0].contains("eval_loss"));
  ASSERT_TRUE(lines[1].contains("eval_loss"));
  ASSERT_TRUE(lines[2].contains("eval_loss"));
  EXPECT_NE(lines[1]["eval_loss"], lines[2]["eval_loss"]);
  // Evaluation does not change the training.
  TrainingRun plain = stepRun("no-eval", 2, "mesh.shard = 2\n");
  plain.importOptions = run.importOptions;
  Training without = train(plain, true);
  expectSameRuns(with, without);
  // The loss without dropout, of the weights after the step, over the first rows: that of a first step without
  // dropout.
  TrainingRun check = stepRun("eval-check", 1, "");
  check.steps = 1;
  check.batch = 16;
  check.options = "--data " + referenceFolder() + "/tokens.bin --init " + scratchFolder() + "/" + run.label + ".out";
  EXPECT_NEAR(train(check, false).loss.at(0), lines[2]["eval_loss"].get<double>(), 2e-5);
}

/// Two layers; a second entry point trains only the first.
std::string twoEntries(int rows) {
  std::string n = std::to_string(rows);
  auto layer = [&](const std::string &name, const std::string &x, const std::string &result) {
    std::string type = "tensor<" + n + "x4xf32>";
    return "    " + result + " = model.block \"" + name + "\" -> " + type + " {\n      %w = model.read @" + name +
           ".weight : tensor<4x4xf32>\n      %p = model.matmul " + x + ", %w : (" + type + ", tensor<4x4xf32>) -> " +
           type + "\n      %r = model.tanh %p : (" + type + ") -> " + type + "\n      model.yield %r : " + type +
           "\n    }\n";
  };
  auto entry = [&](const std::string &name, const std::string &body, const std::string &out) {
    return "  func.func @" + name + "(%x: tensor<" + n +
           "x4xf32> {model.input = \"x\"}) -> (tensor<f32> {model.output = \"loss\"}) attributes {model.entry = "
           "#model.entry<train>} {\n" +
           body + "    %s = model.multiply " + out + ", " + out + " : (tensor<" + n + "x4xf32>, tensor<" + n +
           "x4xf32>) -> tensor<" + n +
           "x4xf32>\n    %loss = model.reduce_mean %s {dims = array<i64: 0, 1>} : (tensor<" + n +
           "x4xf32>) -> tensor<f32>\n    return %loss : tensor<f32>\n  }\n";
  };
  return "module attributes {model.name = \"two\"} {\n"
         "  model.parameter @a.weight : tensor<4x4xf32> uniform(-1.0, 1.0)\n"
         "  model.parameter @b.weight : tensor<4x4xf32> uniform(-1.0, 1.0)\n" +
         entry("train_step", layer("a", "%x", "%y") + layer("b", "%y", "%z"), "%z") +
         entry("train_first", layer("a", "%x", "%y"), "%y") + "}\n";
}

TEST(Entries, TrainSharedParameters) {
  auto run = [](const std::string &label, int ranks, const std::string &entries) {
    TrainingRun training;
    training.label = "entries-" + label;
    training.module = twoEntries(8 / ranks);
    training.steps = 4;
    training.recipe = "optimizer.name = \"sgd\"\noptimizer.lr = 0.5\nmesh.shard = " + std::to_string(ranks) + "\n";
    training.options = "--data random:5 --entries " + entries;
    return training;
  };
  Training both = train(run("both", 1, "train_step,train_first"), true);
  Training sharded = train(run("sharded", 2, "train_step,train_first"), true);
  expectNear(sharded, both, 1e-5);
  for (const auto &[name, tensor] : both.weights)
    EXPECT_LE(compare(sharded.weights.at(name), tensor).largest, 1e-5) << name;
  // The second entry point changes only that layer.
  Training first = train(run("first", 1, "train_first"), true);
  TrainingRun start = run("start", 1, "train_first");
  start.steps = 0;
  Training before = train(start, true);
  EXPECT_EQ(first.weights.at("b.weight").values, before.weights.at("b.weight").values);
  EXPECT_NE(first.weights.at("a.weight").values, before.weights.at("a.weight").values);
}

} // namespace
} // namespace sluice::numeric
