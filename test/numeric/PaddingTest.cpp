//===- PaddingTest.cpp - the embedding's padding row ------------------------------------------===//
//
// `pad_token_id` is torch's padding_idx: the row is initialized with zeros, a checkpoint's row is read unchanged, and
// the embedding computes no gradient for it. All other numbers are those of the same model without it, which
// FamiliesTest compares with transformers.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Safetensors.h"
#include "test/numeric/Program.h"
#include "test/numeric/Training.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <span>
#include <sstream>

namespace sluice::numeric {
namespace {

/// A token of the reference's data.
constexpr std::int64_t padding = 5;

std::string textOf(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A family's config with a different value of a field.
std::string configWith(const std::string &family, const std::string &field, const std::string &value) {
  nlohmann::json config = nlohmann::json::parse(textOf(referenceFolder() + "/families/" + family + "/config.json"));
  config[field] = nlohmann::json::parse(value);
  return writeScratch("padding-" + family + "-" + field + value + ".json", config.dump());
}

/// One step of SGD: the change of a weight is its gradient times the learning rate, 64.
TrainingRun descent(const std::string &label, const std::string &config, int ranks, const std::string &more = "") {
  TrainingRun run;
  run.label = "padding-" + label;
  run.config = config;
  run.batch = 2 / ranks;
  run.sequence = 24;
  run.steps = 1;
  run.recipe = "optimizer.name = \"sgd\"\noptimizer.lr = 64.0\noptimizer.weight_decay = 0.0\n" +
               (more.empty() ? "mesh.shard = " + std::to_string(ranks) + "\n" : more);
  // Consecutive tokens, all below any vocabulary, so that the padding token occurs.
  std::string tokens;
  for (int i = 0; i < 97; ++i)
    tokens += static_cast<char>(i * 7 % 31);
  run.options = "--data " + writeScratch("padding-tokens", tokens) + " --order sequential --save-dtype f32";
  return run;
}

std::vector<double> rowOf(const Tensor &table, std::int64_t row) {
  auto begin = table.values.begin() + row * table.shape[1];
  return {begin, begin + table.shape[1]};
}

constexpr const char *table = "model.embed_tokens.weight";

// The values are those of the table, for every split of it.
TEST(Padding, PaddingRowHasNoGradient) {
  for (const char *family : {"llama", "mistral", "qwen3"}) {
    SCOPED_TRACE(family);
    std::string folder = referenceFolder() + "/families/" + family;
    TensorMap initial = readCheckpoint(folder);
    ASSERT_TRUE(initial.count(table));
    struct {
      const char *name;
      int ranks;
      std::string recipe;
    } splits[] = {{"one", 1, ""},
                  {"two", 2, ""},
                  {"flat", 2, "mesh.shard = 2\nsharding.dim = \"flat\"\n"},
                  {"tensor", 1, "mesh.tensor = 2\nsharding.tensor = \"megatron\"\n"}};
    for (const auto &split : splits) {
      SCOPED_TRACE(split.name);
      std::string label = std::string(family) + "-" + split.name;
      TrainingRun with = descent(label, configWith(family, "pad_token_id", "5"), split.ranks, split.recipe);
      TrainingRun without = descent(label + "-none", folder + "/config.json", split.ranks, split.recipe);
      with.options += " --init " + folder, without.options += " --init " + folder;
      Training a = train(with, true), b = train(without, true);
      ASSERT_EQ(a.loss.size(), 1u);
      EXPECT_EQ(a.loss, b.loss);
      for (const auto &[name, tensor] : b.weights) {
        if (name != table) {
          EXPECT_EQ(a.weights.at(name).values, tensor.values) << name;
          continue;
        }
        for (std::int64_t row = 0; row < tensor.shape[0]; ++row)
          if (row != padding) {
            EXPECT_EQ(rowOf(a.weights.at(name), row), rowOf(tensor, row)) << row;
          }
        EXPECT_NE(rowOf(tensor, padding), rowOf(initial.at(name), padding));
        EXPECT_EQ(rowOf(a.weights.at(name), padding), rowOf(initial.at(name), padding));
      }
    }
  }
}

// The projection's gradient of a row is that of an untied projection with the same initial weights.
TEST(Padding, TiedTableHasTheGradientOfTheProjection) {
  std::string folder = referenceFolder() + "/families/qwen2";
  TensorMap initial = readCheckpoint(folder);
  ASSERT_TRUE(initial.count(table));
  std::string untiedFolder = scratchFolder() + "/padding-untiedFolder";
  std::filesystem::create_directories(untiedFolder);
  std::map<std::string, std::vector<float>> values;
  std::vector<SafetensorsTensor> tensors;
  initial["lm_head.weight"] = initial.at(table);
  for (const auto &[name, tensor] : initial) {
    std::vector<float> &held = values[name];
    held.assign(tensor.values.begin(), tensor.values.end());
    tensors.push_back({name, "F32", tensor.shape,
                       [&held](const SafetensorsTensor::Sink &sink) { return sink(std::as_bytes(std::span(held))); }});
  }
  ASSERT_TRUE(writeSafetensors(untiedFolder + "/model.safetensors", tensors).isOk());
  for (int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    std::string number = std::to_string(ranks);
    TrainingRun tied = descent("tied-" + number, configWith("qwen2", "pad_token_id", "5"), ranks);
    TrainingRun untied = descent("untied-" + number, configWith("qwen2", "tie_word_embeddings", "false"), ranks);
    tied.options += " --init " + folder, untied.options += " --init " + untiedFolder;
    Training a = train(tied, true), b = train(untied, true);
    ASSERT_EQ(a.loss.size(), 1u);
    EXPECT_EQ(a.loss, b.loss);
    const Tensor &one = a.weights.at(table), &own = b.weights.at(table), &head = b.weights.at("lm_head.weight");
    std::size_t moved = 0;
    for (std::int64_t row = 0; row < one.shape[0]; ++row) {
      std::vector<double> found = rowOf(one, row), start = rowOf(initial.at(table), row), by = rowOf(head, row),
                          in = rowOf(own, row);
      for (std::size_t c = 0; c < found.size(); ++c) {
        double ways = by[c] - start[c] + (row == padding ? 0 : in[c] - start[c]);
        EXPECT_NEAR(found[c] - start[c], ways, 2e-6 + 1e-5 * std::abs(ways)) << row << " " << c;
        moved += row == padding && std::abs(in[c] - start[c]) > 1e-3;
      }
    }
    EXPECT_GT(moved, 0u);
  }
}

// Random numbers are keyed by element index, so the row's zeros change no other number, for any split.
TEST(Padding, RowIsInitializedWithZerosAndConfigIsSaved) {
  std::string plainConfig = referenceFolder() + "/families/llama/config.json";
  auto start = [](TrainingRun run) {
    run.recipe += "optimizer.lr = 0.0\n";
    run.recipe.replace(run.recipe.find("optimizer.lr = 64.0\n"), 20, "");
    return train(run, true).weights;
  };
  TensorMap plain = start(descent("plain", plainConfig, 1));
  ASSERT_TRUE(plain.count(table));
  for (const char *value : {"5", "-126"})
    for (const char *split :
         {"mesh.shard = 1\n", "mesh.shard = 2\n", "mesh.shard = 2\nsharding.dim = \"largest\"\n", "mesh.shard = 3\n",
          "mesh.shard = 2\nsharding.dim = \"flat\"\n", "mesh.tensor = 2\nsharding.tensor = \"megatron\"\n",
          "mesh.shard = 2\nmesh.tensor = 2\nsharding.tensor = {\"model.embed*\" = \"row\"}\n"}) {
      SCOPED_TRACE(std::string(value) + " " + split);
      std::string label = std::string("zeros") + value + "-" + std::to_string(std::hash<std::string>()(split));
      TensorMap found = start(descent(label, configWith("llama", "pad_token_id", value), 1, split));
      ASSERT_TRUE(found.count(table));
      for (const auto &[name, tensor] : plain)
        if (name != table) {
          EXPECT_EQ(found.at(name).values, tensor.values) << name;
        }
      const Tensor &complete = plain.at(table), &rows = found.at(table);
      for (std::int64_t row = 0; row < complete.shape[0]; ++row)
        EXPECT_EQ(rowOf(rows, row), row == padding ? std::vector<double>(complete.shape[1], 0) : rowOf(complete, row))
            << row;
      nlohmann::json saved = nlohmann::json::parse(textOf(scratchFolder() + "/padding-" + label + ".out/config.json"));
      EXPECT_EQ(saved["pad_token_id"], nlohmann::json::parse(value));
    }
}

// The derivative of the op, in f64: that of the op without a padding row, which is compared with finite differences,
// except in that row.
TEST(Padding, DerivativeOfTheOp) {
  auto derived = [](const std::string &attributes) {
    Function f;
    TensorMap inputs;
    std::string given = f.input("table", {5, 3}, "f64"), index = f.input("index", {2, 4}, "i32");
    inputs["table"] = uniform("f64", {5, 3}, 7);
    inputs["index"] = {"i32", {2, 4}, {0, 3, 2, 3, 4, 3, 1, 2}};
    f.output("y", f.op("embedding", {given, index}, attributes, "tensor<2x4x3xf64>"));
    Program program(f.module(), "-model-differentiate-function=\"function=f wrt=0\"",
                    "vjp-padding" + std::to_string(attributes.size()));
    EXPECT_TRUE(program.isOk());
    TensorMap outputs = program.run("f", inputs);
    inputs["cotangent.y"] = uniform("f64", {2, 4, 3}, 99);
    Tensor gradient = program.run("f_vjp", inputs).at("grad.table");
    return std::pair(outputs.at("y"), gradient);
  };
  auto [y, complete] = derived("");
  auto [same, without] = derived("{padding = 3 : i64}");
  EXPECT_EQ(y.values, same.values);
  for (std::int64_t row = 0; row < 5; ++row)
    EXPECT_EQ(rowOf(without, row), row == 3 ? std::vector<double>(3, 0) : rowOf(complete, row)) << row;
  EXPECT_NE(rowOf(complete, 3), std::vector<double>(3, 0));
}

} // namespace
} // namespace sluice::numeric
