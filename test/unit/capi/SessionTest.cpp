//===- SessionTest.cpp - sessions of sluice.h -------------------------------------------===//
#include "test/unit/capi/Fixture.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace sluice::test {
namespace {

TEST(CapiSession, DescribesRanksPortsAndTensors) {
  const Session session = openSession(smallPlan());
  const nlohmann::json json = describe(session.get());
  EXPECT_EQ(json["world"], 2);
  EXPECT_EQ(json["ranks"], nlohmann::json({0, 1}));
  EXPECT_EQ(json["data_ranks"], 2);
  EXPECT_EQ(json["step"], 0);
  std::map<std::string, nlohmann::json> entries;
  for (const auto &entry : json["entries"])
    entries[entry["name"]] = entry;
  ASSERT_TRUE(entries.contains("train_step") && entries.contains("eval_step") && entries.contains("logits"));
  EXPECT_FALSE(entries.contains("init"));
  EXPECT_EQ(entries["train_step"]["trains"], true);
  EXPECT_EQ(entries["eval_step"]["trains"], false);
  const nlohmann::json tokens = entries["train_step"]["inputs"][0];
  EXPECT_EQ(tokens["name"], "tokens");
  EXPECT_EQ(tokens["dtype"], "i32");
  EXPECT_EQ(tokens["shape"], nlohmann::json({8, 8}));
  EXPECT_EQ(tokens["limit"], 256);
  std::vector<std::string> states;
  for (const auto &state : json["states"])
    states.push_back(state["name"]);
  EXPECT_NE(std::find(states.begin(), states.end(), "optimizer.state.wte.weight.exp_avg"), states.end())
      << json["states"];
}

TEST(CapiSession, TrainsEvaluatesAndCountsSteps) {
  const Session session = openSession(smallPlan(), R"({"seed": 3})");
  const std::string text = someText();
  const sluice_step first = trainStep(session.get(), text, 0);
  EXPECT_EQ(first.step, 1u);
  EXPECT_EQ(first.applied, 1);
  EXPECT_EQ(first.loss_scale, 1);
  EXPECT_EQ(first.lr, 1e-3);
  EXPECT_GT(first.grad_norm, 0);
  sluice_step evaluated{};
  // This entry point has no micro-batches.
  Tensor<std::int32_t> tokens({4, 8}, rowsOf(text, 0, 32)), targets({4, 8}, rowsOf(text, 1, 32));
  expectOk(sluice_session_set_input(session.get(), "eval_step", "tokens", &tokens.view));
  expectOk(sluice_session_set_input(session.get(), "eval_step", "targets", &targets.view));
  expectOk(sluice_session_run(session.get(), "eval_step", NAN, &evaluated));
  EXPECT_EQ(evaluated.step, 1u);
  EXPECT_EQ(evaluated.applied, 0);
  EXPECT_LT(evaluated.loss, first.loss);
  EXPECT_EQ(trainStep(session.get(), text, 0, 0.5).lr, 0.5);
  EXPECT_EQ(describe(session.get())["step"], 2);
}

TEST(CapiSession, AnyOrderOfEntryPointsGivesTheSameBits) {
  const std::string text = someText();
  std::vector<double> losses[2];
  for (const bool alternates : {false, true}) {
    const Session session = openSession(smallPlan());
    for (std::size_t step = 0; step < 4; ++step) {
      losses[alternates].push_back(trainStep(session.get(), text, step).loss);
      if (!alternates)
        continue;
      // Reads end the overlap of steps.
      readTensor(session.get(), "wpe.weight");
      const std::int64_t prompt[] = {104, 105};
      std::int64_t tokens[2] = {};
      std::size_t written = 0;
      expectOk(sluice_session_generate(session.get(), prompt, 2, 2, nullptr, tokens, &written));
      EXPECT_EQ(written, 2u);
    }
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST(CapiSession, OptionsThatAreUnknownOrWrongAreErrors) {
  const Plan plan = openPlan(smallPlan());
  sluice_session *session = nullptr;
  const auto open = [&](const char *options) { return sluice_session_open(plan.get(), options, &session); };
  expectError(open(R"({"sed": 1})"), 2, "session options: 'sed' is unknown, expected 'seed' or another option");
  expectError(open(R"({"seed": "x"})"), 2, "session options: 'seed', expected an integer of at least 0 but got \"x\"");
  expectError(open(R"({"entries": "train_step"})"), 2, "'entries', expected a list of texts");
  expectError(open(R"({"launch": "ssh"})"), 2, "'launch', expected one of auto, local, mpi, socket but got \"ssh\"");
  expectError(open("[1]"), 2, "session options: expected a JSON object");
  expectError(open("{"), 2, "session options: they are not JSON");
  expectError(open(R"({"threads": 9})"), 2, "9 threads per rank");
  expectError(open(R"({"entries": ["trian_step"]})"), 1, "trian_step");
  expectError(open(R"({"init": "/none.safetensors"})"), 1, "none.safetensors");
  EXPECT_EQ(session, nullptr);
}

TEST(CapiSession, EntriesLimitTheMemoryAndWhatRuns) {
  const Session session = openSession(smallPlan(), R"({"entries": ["train_step"]})");
  EXPECT_EQ(describe(session.get())["entries"].size(), 1u);
  EXPECT_GT(trainStep(session.get(), someText(), 0).loss, 0);
  expectError(sluice_session_run(session.get(), "eval_step", NAN, nullptr), 1,
              "entry point 'eval_step' is unknown, expected one of train_step");
}

TEST(CapiSession, InputsAreSetBeforeEachRun) {
  const Session session = openSession(smallPlan());
  expectError(sluice_session_run(session.get(), "train_step", NAN, nullptr), 1,
              "input 'tokens' of entry point 'train_step' is not set");
  trainStep(session.get(), someText(), 0);
  const std::string notes = expectError(sluice_session_run(session.get(), "train_step", NAN, nullptr), 1, "is not set");
  EXPECT_NE(notes.find("each input is set before each run"), std::string::npos);
  Tensor<float> rate({1}, {0.1f});
  expectError(sluice_session_set_input(session.get(), "train_step", "lr", &rate.view), 1,
              "input 'lr' of entry point 'train_step' is set by the session");
  expectError(sluice_session_set_input(session.get(), "train_step", "token", &rate.view), 1,
              "has no input 'token', expected one of tokens, targets");
  expectError(sluice_session_set_input(session.get(), "train", "tokens", &rate.view), 1,
              "entry point 'train' is unknown, expected one of eval_step, logits, train_step");
}

TEST(CapiSession, OutputsAreThoseOfTheLastRun) {
  const Session session = openSession(smallPlan());
  DLManagedTensorVersioned *tensor = nullptr;
  expectError(sluice_session_get_output(session.get(), "train_step", "loss", &tensor), 1, "which did not run last");
  const sluice_step step = trainStep(session.get(), someText(), 0);
  expectOk(sluice_session_get_output(session.get(), "train_step", "loss", &tensor));
  const Managed loss(tensor);
  EXPECT_EQ(loss->dl_tensor.ndim, 0);
  EXPECT_EQ(valuesOf<float>(loss->dl_tensor)[0], static_cast<float>(step.loss));
  expectError(sluice_session_get_output(session.get(), "train_step", "losses", &tensor), 1,
              "has no output 'losses', expected one of");
}

TEST(CapiSession, LogitsOfAllRanksAreConcatenated) {
  // Each rank has separate rows.
  const Session two = openSession(smallPlan(R"({"mesh.shard": 2})"));
  const nlohmann::json entries = describe(two.get())["entries"];
  for (const auto &entry : entries) {
    if (entry["name"] != "logits")
      continue;
    const std::int64_t rows = entry["inputs"][0]["shape"][0];
    EXPECT_EQ(entry["outputs"][0]["shape"], nlohmann::json({rows, 8, 256}));
    Tensor<std::int32_t> tokens({rows, 8}, rowsOf(someText(), 0, static_cast<std::size_t>(rows) * 8));
    const std::string input = entry["inputs"][0]["name"];
    expectOk(sluice_session_set_input(two.get(), "logits", input.c_str(), &tokens.view));
    expectOk(sluice_session_run(two.get(), "logits", NAN, nullptr));
    DLManagedTensorVersioned *tensor = nullptr;
    expectOk(sluice_session_get_output(two.get(), "logits", "logits", &tensor));
    const Managed logits(tensor);
    ASSERT_EQ(logits->dl_tensor.ndim, 3);
    EXPECT_EQ(logits->dl_tensor.shape[0], rows);
    for (const float value : valuesOf<float>(logits->dl_tensor))
      ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(CapiSession, ASecondThreadGetsAnError) {
  const Session session = openSession(smallPlan());
  const std::string text = someText();
  std::atomic<bool> stop = false;
  std::atomic<int> refused = 0, other = 0;
  const auto work = [&] {
    while (!stop) {
      const Outcome result = outcome(sluice_session_run(session.get(), "logits", NAN, nullptr));
      // Without inputs a run is an error too.
      (result.message.find("another thread") != std::string::npos ? refused : other)++;
    }
  };
  std::thread second(work);
  for (int step = 0; step < 200 && refused == 0; ++step) {
    sluice_status *status = setRows(session.get(), text, 0);
    if (!status)
      status = sluice_session_run(session.get(), "train_step", NAN, nullptr);
    const Outcome result = outcome(status);
    if (result.message.find("another thread") != std::string::npos)
      ++refused;
    else
      EXPECT_EQ(result.code, 0) << result.message;
  }
  stop = true;
  second.join();
  EXPECT_GT(refused, 0);
  EXPECT_GT(trainStep(session.get(), text, 0).step, 0u);
}

TEST(CapiSession, ANonFiniteStepLeavesTheSessionUsable) {
  const Session session = openSession(smallPlan());
  const std::string text = someText();
  trainStep(session.get(), text, 0);
  // A weight that is not a number.
  const std::string name = "ln_f.weight";
  const Managed before = readTensor(session.get(), name);
  std::vector<float> values = valuesOf<float>(before->dl_tensor);
  Tensor<float> good({16}, values);
  values[3] = NAN;
  Tensor<float> bad({16}, values);
  expectOk(sluice_session_write(session.get(), name.c_str(), &bad.view));
  expectOk(setRows(session.get(), text, 64));
  sluice_step untouched{};
  untouched.step = 77;
  const std::string notes = expectError(sluice_session_run(session.get(), "train_step", NAN, &untouched), 5,
                                        "step 2, expected a finite loss and gradient norm but got loss nan");
  EXPECT_NE(notes.find("the weights are those after step 1"), std::string::npos);
  EXPECT_EQ(untouched.step, 77u);
  expectOk(sluice_session_write(session.get(), name.c_str(), &good.view));
  EXPECT_EQ(trainStep(session.get(), text, 1).step, 2u);
}

TEST(CapiSession, AnUnsupportedInstructionSetOrPlanIsRefused) {
  const Session session = openSession(smallPlan(), R"({"require_proof": false})");
  ASSERT_NE(session, nullptr);
  sluice_session *none = nullptr;
  const Plan gpu = openPlan(smallPlan(R"({"target": {"device": "cuda", "arch": "sm_80"}})"));
  const Outcome result = outcome(sluice_session_open(gpu.get(), nullptr, &none));
  EXPECT_EQ(result.code, 4);
  // Without a GPU, or with one of another architecture.
  EXPECT_TRUE(result.message.starts_with("cuda driver, expected the library libcuda.so.1") ||
              result.message.starts_with("architecture of the device, expected sm_80"))
      << result.message;
  EXPECT_EQ(none, nullptr);
}

/// A session whose folder of checkpoints has become a file.
Session openWithoutFolder(const Folder &folder) {
  const std::string path = folder.path("ck");
  std::filesystem::remove_all(path);
  Session session = openSession(smallPlan(), (R"({"every": 1, "checkpoint": ")" + path + "\"}").c_str());
  std::filesystem::remove_all(path);
  folder.write("ck", "no folder");
  return session;
}

TEST(CapiSession, CloseReturnsTheErrorOfTheLastCheckpoint) {
  const Folder folder;
  const Session session = openWithoutFolder(folder);
  trainStep(session.get(), someText(), 0);
  const std::string notes = expectError(sluice_session_close(session.get()), 1, folder.path("ck"));
  EXPECT_NE(notes.find("the checkpoint of step 1 could not be written, and 0 before it"), std::string::npos) << notes;
  expectOk(sluice_session_close(session.get()));
  EXPECT_EQ(describe(session.get())["step"], 1);
  DLManagedTensorVersioned *tensor = nullptr;
  expectError(sluice_session_read(session.get(), "wpe.weight", &tensor), 1, "the session is closed");
}

TEST(CapiSession, AStepWhoseCheckpointFailsIsComplete) {
  const Folder folder;
  const Session session = openWithoutFolder(folder);
  const std::string text = someText();
  for (std::size_t step = 0; step < 3; ++step)
    trainStep(session.get(), text, step);
  sluice_step result{};
  expectOk(setRows(session.get(), text, 3 * 64));
  const std::string notes =
      expectError(sluice_session_run(session.get(), "train_step", NAN, &result), 1, folder.path("ck"));
  EXPECT_NE(notes.find("the checkpoint of step 3 could not be written, and 2 before it"), std::string::npos) << notes;
  EXPECT_EQ(result.step, 4u);
  EXPECT_TRUE(std::isfinite(result.loss));
  const nlohmann::json noted = describe(session.get())["notes"];
  EXPECT_EQ(std::ranges::count_if(
                noted, [](const std::string &note) { return note.find("could not be written") != std::string::npos; }),
            2);
}

TEST(CapiSession, GenerateRefusesBadPromptsAndOptions) {
  const Session session = openSession(smallPlan());
  std::int64_t tokens[4] = {};
  std::size_t written = 9;
  const std::int64_t prompt[] = {1, 256};
  const auto generate = [&](std::size_t size, const char *options) {
    return sluice_session_generate(session.get(), prompt, size, 4, options, tokens, &written);
  };
  expectError(generate(2, nullptr), 1, "prompt, expected tokens below the vocabulary of 256 but got 256");
  expectError(generate(0, nullptr), 1, "prompt, expected at least one token");
  expectError(generate(1, R"({"temperature": -1})"), 2, "temperature, expected at least 0 but got -1");
  expectError(generate(1, R"({"topk": 1})"), 2, "generate options: 'topk' is unknown, expected 'top_k'");
  expectError(generate(1, R"({"stop": ["x"]})"), 2, "'stop', expected a list of integers but got [\"x\"]");
  EXPECT_EQ(written, 9u);
  expectOk(generate(1, R"({"temperature": 0})"));
  EXPECT_EQ(written, 4u);
  std::int64_t again[4] = {};
  expectOk(sluice_session_generate(session.get(), prompt, 1, 4, R"({"temperature": 0})", again, &written));
  EXPECT_TRUE(std::equal(tokens, tokens + 4, again));
  const std::string stop = R"({"temperature": 0, "stop": [)" + std::to_string(tokens[0]) + "]}";
  expectOk(sluice_session_generate(session.get(), prompt, 1, 4, stop.c_str(), again, &written));
  EXPECT_EQ(written, 0u);
}

} // namespace
} // namespace sluice::test
