//===- TransformersTest.cpp - saved weights have the same logits in transformers -----------===//
//
// Each family, trained from its checkpoint on two ranks and saved, as one file and in shards: transformers loads the
// folder without missing or unexpected keys, and its logits are those of the plan with these weights. Needs a
// Python with torch and transformers: $SLUICE_PYTHON, else python3.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Checkpoint.h"
#include "test/numeric/Training.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

constexpr int ranks = 2, rows = 2, sequence = 24;

std::string python() {
  const char *given = std::getenv("SLUICE_PYTHON");
  return given ? given : "python3";
}

template <typename T>
SafetensorsTensor tensorOf(const std::string &name, const std::string &dtype, std::vector<std::int64_t> shape,
                           const std::vector<T> &values) {
  return {name, dtype, std::move(shape),
          [&values](const SafetensorsTensor::Sink &sink) { return sink(std::as_bytes(std::span(values))); }};
}

/// A copy of the checkpoint `from` in shards of at most 8 KiB, with its config.
void saveInShards(const std::string &from, const std::string &to) {
  TensorMap weights = readSafetensors(from + "/model.safetensors");
  std::map<std::string, std::vector<float>> values;
  std::vector<SafetensorsTensor> tensors;
  for (const auto &[name, tensor] : weights) {
    std::vector<float> &held = values[name];
    held.assign(tensor.values.begin(), tensor.values.end());
    tensors.push_back(tensorOf(name, "F32", tensor.shape, held));
  }
  std::filesystem::create_directories(to);
  Status saved = writeCheckpoint(to, std::move(tensors), 8192);
  ASSERT_TRUE(saved.isOk()) << saved.message();
  ASSERT_TRUE(std::filesystem::exists(to + "/model.safetensors.index.json"));
  std::filesystem::copy_file(from + "/config.json", to + "/config.json");
}

TEST(Transformers, LoadsSavedCheckpoints) {
  const char *looks = " -c 'import sys, importlib.util as u; "
                      "sys.exit(any(u.find_spec(m) is None for m in (\"torch\", \"transformers\")))'";
  if (runCommand(python() + looks).code != 0)
    GTEST_SKIP() << "this Python has no torch or no transformers (SLUICE_PYTHON names another)";
  std::string command = python() + " " SLUICE_SOURCE_DIR "/test/tools/hf_logits.py";
  std::size_t folders = 0;
  for (const auto &entry : std::filesystem::directory_iterator(referenceFolder() + "/families")) {
    const std::string folder = entry.path(), family = entry.path().filename();
    SCOPED_TRACE(family);
    TrainingRun run;
    run.label = "transformers-" + family;
    run.config = folder + "/config.json";
    run.batch = rows;
    run.sequence = sequence;
    run.importOptions = "--allow-longer";
    run.steps = 2;
    run.recipe = "mesh.shard = 2\noptimizer.lr = 1e-2\n";
    run.options = "--data " + folder + "/tokens.bin --save-dtype f32 --init " + folder;
    Training training = train(run, /*save=*/true);
    ASSERT_EQ(training.loss.size(), 2u);
    std::string saved = scratchFolder() + "/" + run.label + ".out";
    // Tokens in every family's vocabulary.
    std::vector<std::int32_t> tokens;
    for (std::int32_t i = 0; i < ranks * rows * sequence; ++i)
      tokens.push_back((i * 37 + i / 5) % 97);
    std::vector<double> logits = logitsOf(training.planPath, saved, tokens);
    ASSERT_FALSE(logits.empty());
    std::vector<float> narrow(logits.begin(), logits.end());
    auto words = static_cast<std::int64_t>(logits.size() / tokens.size());
    std::string expected = scratchFolder() + "/" + run.label + ".logits";
    ASSERT_TRUE(writeSafetensors(expected, {tensorOf("tokens", "I32", {ranks * rows, sequence}, tokens),
                                            tensorOf("logits", "F32", {ranks * rows, sequence, words}, narrow)})
                    .isOk());
    saveInShards(saved, saved + ".shards");
    for (const char *form : {"", ".shards"}) {
      command += " " + saved + form + " " + expected;
      ++folders;
    }
  }
  CommandResult result = runCommand(command);
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find(std::to_string(folders) + " folders agree"), std::string::npos) << result.out << result.err;
}

} // namespace
} // namespace sluice::numeric
