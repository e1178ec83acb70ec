//===- TrainToolTest.cpp - sessions of sluice.h and runs of sluice-train give the same bits ------===//
#include "test/unit/capi/Fixture.h"

#include <cstdlib>

namespace sluice::test {
namespace {

/// The losses of a log of sluice-train, by step.
std::vector<double> lossesOf(const std::string &log) {
  std::vector<double> losses;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (json.contains("step") && json.contains("loss"))
      losses.push_back(json["loss"]);
  }
  return losses;
}

void runTool(const std::string &arguments) {
  const std::string command = std::string(SLUICE_TRAIN) + " " + arguments + " --quiet > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

/// As the log has it, which has the shortest text of an f32.
float logged(double loss) { return static_cast<float>(loss); }

TEST(CapiTrainTool, LossesAndWeightsAreThoseOfTheTool) {
  const std::string text = someText();
  for (const char *recipe : {R"({"mesh.shard": 2, "gradient.microbatches": 2})",
                             R"({"mesh.replicate": 2, "gradient.microbatches": 2, "precision.compute": "bf16",
                                 "lr_schedule": {"name": "cosine", "warmup_steps": 2, "total_steps": 6},
                                 "gradient.clip_norm": 0.5})"}) {
    const Folder folder;
    const std::string plan = folder.write("p.plan", smallPlan(recipe)), data = folder.write("data", text);
    runTool(plan + " --data " + data + " --seed 7 --steps 6 --log " + folder.path("log") + " --save " +
            folder.path("tool"));
    const std::vector<double> expected = lossesOf(folder.path("log"));
    ASSERT_EQ(expected.size(), 6u);
    const Session session = openSession(smallPlan(recipe), R"({"seed": 7, "steps": 6})");
    for (std::size_t step = 0; step < 6; ++step)
      EXPECT_EQ(logged(trainStep(session.get(), text, step).loss), logged(expected[step])) << recipe << step;
    expectOk(sluice_session_save(session.get(), folder.path("session").c_str(), nullptr));
    EXPECT_EQ(contentOf(folder.path("session/model.safetensors")), contentOf(folder.path("tool/model.safetensors")));
    EXPECT_EQ(contentOf(folder.path("session/config.json")), contentOf(folder.path("tool/config.json")));
  }
}

TEST(CapiTrainTool, ACheckpointContinuesTheRun) {
  const std::string text = someText();
  const Folder folder;
  std::vector<double> all;
  {
    const Session session = openSession(smallPlan(), R"({"seed": 7})");
    for (std::size_t step = 0; step < 8; ++step) {
      all.push_back(trainStep(session.get(), text, step).loss);
      if (step == 5)
        expectOk(sluice_session_save(session.get(), folder.path("all").c_str(), nullptr));
    }
    EXPECT_NE(expectError(sluice_session_checkpoint(session.get()), 2, "the session writes no checkpoints")
                  .find("'checkpoint'"),
              std::string::npos);
  }
  const std::string options = R"({"seed": 7, "every": 2, "checkpoint": ")" + folder.path("ck") + "\"}";
  {
    const Session session = openSession(smallPlan(), options.c_str());
    for (std::size_t step = 0; step < 3; ++step)
      EXPECT_EQ(trainStep(session.get(), text, step).loss, all[step]);
    expectOk(sluice_session_checkpoint(session.get()));
  }
  {
    const Session session = openSession(smallPlan(), options.c_str());
    const nlohmann::json json = describe(session.get());
    EXPECT_EQ(json["step"], 3);
    EXPECT_NE(json["notes"].dump().find("continuing after step 3"), std::string::npos) << json["notes"];
    for (std::size_t step = 3; step < 6; ++step)
      EXPECT_EQ(trainStep(session.get(), text, step).loss, all[step]);
    expectOk(sluice_session_save(session.get(), folder.path("resumed").c_str(), nullptr));
  }
  EXPECT_EQ(contentOf(folder.path("resumed/model.safetensors")), contentOf(folder.path("all/model.safetensors")));
  // sluice-train continues it too.
  const std::string plan = folder.write("p.plan", smallPlan());
  runTool(plan + " --data " + folder.write("data", text) + " --seed 7 --steps 8 --resume " + folder.path("ck") +
          " --log " + folder.path("log"));
  const std::vector<double> continued = lossesOf(folder.path("log"));
  ASSERT_EQ(continued.size(), 2u);
  EXPECT_EQ(logged(continued[0]), logged(all[6]));
  EXPECT_EQ(logged(continued[1]), logged(all[7]));
}

TEST(CapiTrainTool, WeightsOfTheToolAreLoaded) {
  const std::string text = someText();
  const Folder folder;
  const Session first = openSession(smallPlan(), R"({"seed": 7})");
  trainStep(first.get(), text, 0);
  expectOk(sluice_session_save(first.get(), folder.path("w").c_str(), R"({"dtype": "f32"})"));
  const Session second = openSession(smallPlan(), R"({"seed": 8})");
  expectOk(sluice_session_load(second.get(), folder.path("w").c_str()));
  const auto values = [](const Session &session) {
    return valuesOf<float>(readTensor(session.get(), "wte.weight")->dl_tensor);
  };
  EXPECT_EQ(values(first), values(second));
  const std::string options = R"({"init": ")" + folder.path("w") + "\"}";
  EXPECT_EQ(values(openSession(smallPlan(), options.c_str())), values(first));
  expectError(sluice_session_load(second.get(), folder.path("none").c_str()), 1, "none");
  expectError(sluice_session_save(second.get(), folder.path("w").c_str(), R"({"dtype": "f16"})"), 2,
              "save options: 'dtype', expected one of f32, bf16");
}

TEST(CapiTrainTool, ARankThatFailsEndsTheSession) {
  const Session session = openSession(smallPlan());
  Tensor<std::int32_t> tokens({8, 8}, std::vector<std::int32_t>(64, -7)), targets({8, 8}, rowsOf(someText(), 1, 64));
  expectOk(sluice_session_set_input(session.get(), "train_step", "tokens", &tokens.view));
  expectOk(sluice_session_set_input(session.get(), "train_step", "targets", &targets.view));
  const Outcome failed = outcome(sluice_session_run(session.get(), "train_step", NAN, nullptr));
  EXPECT_EQ(failed.code, 5) << failed.message;
  DLManagedTensorVersioned *tensor = nullptr;
  const std::string reason = "the session has ended: " + failed.message;
  expectError(setRows(session.get(), someText(), 0), 5, reason);
  expectError(sluice_session_run(session.get(), "train_step", NAN, nullptr), 5, reason);
  expectError(sluice_session_read(session.get(), "wpe.weight", &tensor), 5, reason);
  expectError(sluice_session_view(session.get(), "wpe.weight", 0, &tensor), 5, reason);
  expectError(sluice_session_save(session.get(), "x", nullptr), 5, reason);
  expectError(sluice_session_load(session.get(), "x"), 5, reason);
  expectError(sluice_session_checkpoint(session.get()), 5, reason);
  EXPECT_EQ(describe(session.get())["step"], 0);
}

} // namespace
} // namespace sluice::test
