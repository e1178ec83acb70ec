//===- GenerateTest.cpp - sampling, the context window, traces ----------------------===//
#include "runtime/train/Generate.h"
#include "runtime/train/Trace.h"
#include "test/unit/train/Fixture.h"

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

TEST(SampleToken, GreedyTopKAndTemperature) {
  std::vector<float> scores{0, 2, 2, 1};
  EXPECT_EQ(sampleToken(scores, 0, 0, 0.99), 1u);
  EXPECT_EQ(sampleToken(scores, 1, 1, 0.99), 1u);
  EXPECT_EQ(sampleToken(scores, 1, 2, 0.49), 1u);
  EXPECT_EQ(sampleToken(scores, 1, 2, 0.51), 2u);
  EXPECT_EQ(sampleToken(scores, 1, 2, 0.999999), 2u);
  EXPECT_EQ(sampleToken(scores, 1, 0, 0.999999), 0u);
  EXPECT_EQ(sampleToken(scores, 0.01, 0, 0.999999), 2u);
  int counts[4] = {};
  for (int i = 0; i < 10000; ++i)
    ++counts[sampleToken(scores, 1, 0, (i + 0.5) / 10000)];
  double sum = 1 + 2 * std::exp(2.0) + std::exp(1.0);
  EXPECT_NEAR(counts[1] / 10000.0, std::exp(2.0) / sum, 1e-3);
  EXPECT_NEAR(counts[0] / 10000.0, 1 / sum, 1e-3);
}

/// Two rows of 4 tokens, a vocabulary of 128; the next token is always the last one plus 1.
FakeRanks counter() {
  PlanBuilder builder({{"shard", 2}});
  plan::EntryT &entry = builder.entry("logits");
  entry.inputs.push_back(builder.port("tokens", plan::DType::i32, {2, 4}, 0, 128));
  entry.outputs.push_back(builder.port("logits", plan::DType::f32, {2, 4, 128}));
  FakeRanks ranks(std::move(builder.plan));
  ranks.onRun = [](FakeRanks &self, std::string_view) {
    std::vector<std::int32_t> tokens = self.values<std::int32_t>(1, 0);
    std::vector<float> logits(2 * 4 * 128);
    for (std::size_t i = 0; i < 4; ++i)
      logits[i * 128 + static_cast<std::size_t>((tokens[i] + 1) % 128)] = 10;
    return self.write(0, 1, 0, std::as_bytes(std::span(logits)));
  };
  return ranks;
}

TEST(Generate, ContinuesThePromptPastTheWindow) {
  FakeRanks ranks = counter();
  GenerateOptions options;
  options.prompt = "ab";
  options.count = 6;
  options.temperature = 0;
  std::string text;
  Status status = generate(ranks, options, [&](std::string_view piece) { text += piece; });
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(text, "cdefgh");
  EXPECT_EQ(ranks.runs.size(), 6u);
}

// Each token is computed in the shortest rows that have the context: the same text in fewer rows times positions.
TEST(Generate, ComputesInTheShortestRows) {
  std::map<std::string, std::uint64_t> positions;
  const auto ranksOf = [&](std::initializer_list<std::pair<std::int64_t, std::int64_t>> shapes) {
    PlanBuilder builder({{"shard", 2}});
    for (const auto &[rows, length] : shapes) {
      plan::EntryT &entry = builder.entry(positions.empty() ? "logits" : "logits_" + std::to_string(length));
      entry.inputs.push_back(builder.port("tokens", plan::DType::i32, {rows, length}, 0, 128));
      entry.outputs.push_back(builder.port("logits", plan::DType::f32, {rows, length, 128}));
      positions[entry.name] = static_cast<std::uint64_t>(rows * length);
    }
    return FakeRanks(std::move(builder.plan));
  };
  const auto sample = [&](FakeRanks ranks) {
    std::uint64_t computed = 0;
    ranks.onRun = [&](FakeRanks &self, std::string_view name) {
      const plan::EntryT &entry = *self.plan().entries[static_cast<std::size_t>(findEntry(self.plan(), name))];
      const std::vector<std::int32_t> tokens = self.values<std::int32_t>(1, entry.inputs[0]->view->buffer);
      std::vector<float> logits(tokens.size() * 128);
      for (std::size_t i = 0; i < tokens.size(); ++i)
        logits[i * 128 + static_cast<std::size_t>((tokens[i] + 1) % 128)] = 10;
      computed += positions.at(std::string(name));
      return self.write(0, entry.outputs[0]->view->buffer, 0, std::as_bytes(std::span(logits)));
    };
    GenerateOptions options;
    options.prompt = "You may";
    options.count = 150;
    options.temperature = 0;
    std::string text;
    EXPECT_TRUE(generate(ranks, options, [&](std::string_view piece) { text += piece; }).isOk());
    return std::pair(text, computed);
  };
  const auto [expected, full] = sample(ranksOf({{4, 64}}));
  positions.clear();
  const auto [text, few] = sample(ranksOf({{1, 64}, {1, 32}, {1, 16}, {1, 8}}));
  EXPECT_EQ(text, expected);
  EXPECT_EQ(full, 150u * 4 * 64);
  // 7 and 8 tokens in rows of 8, 8 in those of 16, 16 in those of 32, and the rest in the longest.
  EXPECT_EQ(few, 2u * 8 + 8 * 16 + 16 * 32 + 124 * 64);
}

TEST(Generate, StopsBeforeAStopToken) {
  FakeRanks ranks = counter();
  GenerateOptions options;
  options.prompt = "ab";
  options.count = 6;
  options.temperature = 0;
  options.stopTokens = {'z', 'e'};
  std::string text;
  ASSERT_TRUE(generate(ranks, options, [&](std::string_view piece) { text += piece; }).isOk());
  EXPECT_EQ(text, "cd");
}

TEST(Generate, StopsOnASignal) {
  FakeRanks ranks = counter();
  std::atomic<bool> stop = false;
  GenerateOptions options;
  options.count = 6;
  options.stop = &stop;
  int made = 0;
  ASSERT_TRUE(generate(ranks, options, [&](std::string_view) { stop = ++made == 2; }).isOk());
  EXPECT_EQ(made, 2);
}

TEST(Generate, Faults) {
  FakeRanks ranks = counter();
  GenerateOptions options;
  options.prompt = "\xff";
  expectError(checkGenerate(ranks.plan(), options), StatusCode::input,
              "prompt, expected bytes below the vocabulary of 128 but got 255");
  options.prompt = "";
  expectError(checkGenerate(ranks.plan(), options), StatusCode::usage, "'--prompt' is empty");
  options.prompt = "a";
  options.temperature = -1;
  expectError(checkGenerate(ranks.plan(), options), StatusCode::usage, "temperature, expected at least 0 but got -1");
  FakeRanks more = counter();
  more.change().entries[0]->inputs.push_back(std::make_unique<plan::PortT>(*ranks.plan().entries[0]->inputs[0]));
  more.change().entries[0]->inputs[1]->name = "mask";
  more.change().entries[0]->inputs[1]->role = plan::PortRole::data;
  options.temperature = 1;
  expectError(checkGenerate(more.plan(), options), StatusCode::refused,
              "entry point 'logits' reads 'tokens' and 'mask', expected one input, the tokens");
  PlanBuilder empty({{"shard", 1}});
  expectError(checkGenerate(empty.plan, options), StatusCode::input, "the plan has no entry point 'logits'");
  empty.entry("logits");
  expectError(checkGenerate(empty.plan, options), StatusCode::refused,
              "entry point 'logits' needs an input of integers [rows, length]");
}

TEST(Trace, HasChromesFormat) {
  TemporaryFolder folder;
  std::vector<Span> spans{{0, "compute", "launch \"x\"", 1, 3.5}, {1, "gather", "all_gather h.0", 2, 4}};
  ASSERT_TRUE(writeTrace(folder.path("t.json"), spans).isOk());
  nlohmann::json events = nlohmann::json::parse(contentOf(folder.path("t.json")))["traceEvents"];
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[4]["name"], "launch \"x\"");
  EXPECT_EQ(events[4]["dur"], 2.5);
  EXPECT_EQ(events[5]["pid"], 1);
  ASSERT_TRUE(writeTrace(folder.path("t.json"), {}).isOk());
  EXPECT_TRUE(nlohmann::json::parse(contentOf(folder.path("t.json")))["traceEvents"].empty());
  expectError(writeTrace(folder.path("no/t.json"), {}), StatusCode::input, "cannot write");
}

} // namespace
