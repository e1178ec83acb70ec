//===- ProcessesTest.cpp - sessions whose process is one rank of a job ----------------------===//
#include "test/unit/capi/Fixture.h"

#include <arpa/inet.h>
#include <functional>
#include <sys/socket.h>
#include <sys/wait.h>

namespace sluice::test {
namespace {

std::string freePort() {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listening, reinterpret_cast<sockaddr *>(&address), size), 0);
  EXPECT_EQ(getsockname(listening, reinterpret_cast<sockaddr *>(&address), &size), 0);
  close(listening);
  return std::to_string(ntohs(address.sin_port));
}

/// Runs the function in two processes with the environment of torchrun, and expects that no expectation fails.
void runOnTwo(const std::function<void(int rank)> &work) {
  const std::string port = freePort();
  std::vector<pid_t> children;
  for (int rank = 0; rank < 2; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (const auto &[name, value] : {std::pair<const char *, std::string>("RANK", std::to_string(rank)),
                                        {"LOCAL_RANK", std::to_string(rank)},
                                        {"WORLD_SIZE", "2"},
                                        {"LOCAL_WORLD_SIZE", "2"},
                                        {"MASTER_ADDR", "localhost"},
                                        {"MASTER_PORT", port}})
        setenv(name, value.c_str(), 1);
      work(rank);
      _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

/// Of the 8 rows of a step, those of a rank: two of each micro-batch.
std::vector<std::int32_t> rowsOfRank(const std::string &text, std::size_t first, int rank) {
  std::vector<std::int32_t> rows;
  for (const std::size_t microbatch : {0, 1}) {
    const std::size_t begin = first + (microbatch * 2 + static_cast<std::size_t>(rank)) * 16;
    for (const std::int32_t token : rowsOf(text, begin, 16))
      rows.push_back(token);
  }
  return rows;
}

TEST(CapiProcesses, EachProcessIsOneRankWithTheBitsOfThreads) {
  const Folder folder;
  const std::string &plan = smallPlan(), text = someText();
  // Children have no threads yet: the ranks of this process begin after them.
  runOnTwo([&](int rank) {
    const Session session = openSession(plan, R"({"seed": 7})");
    ASSERT_NE(session, nullptr);
    const nlohmann::json json = describe(session.get());
    EXPECT_EQ(json["world"], 2);
    EXPECT_EQ(json["ranks"], nlohmann::json({rank}));
    EXPECT_EQ(json["data_ranks"], 1);
    std::ofstream losses(folder.path("losses" + std::to_string(rank)));
    for (std::size_t step = 0; step < 3; ++step) {
      Tensor<std::int32_t> tokens({4, 8}, rowsOfRank(text, step * 64, rank)),
          targets({4, 8}, rowsOfRank(text, step * 64 + 1, rank));
      expectOk(sluice_session_set_input(session.get(), "train_step", "tokens", &tokens.view));
      expectOk(sluice_session_set_input(session.get(), "train_step", "targets", &targets.view));
      sluice_step result{};
      expectOk(sluice_session_run(session.get(), "train_step", NAN, &result));
      losses << std::hexfloat << result.loss << "\n";
    }
    DLManagedTensorVersioned *tensor = nullptr;
    expectError(sluice_session_view(session.get(), "wpe.weight", 1 - rank, &tensor), 1, "expected one of this process");
    const std::vector<float> values = valuesOf<float>(readTensor(session.get(), "wpe.weight")->dl_tensor);
    losses << std::hexfloat << values[0] << " " << values.back() << "\n";
    expectOk(sluice_session_save(session.get(), folder.path("job").c_str(), nullptr));
  });
  std::ofstream losses(folder.path("losses"));
  const Session session = openSession(plan, R"({"seed": 7})");
  for (std::size_t step = 0; step < 3; ++step)
    losses << std::hexfloat << trainStep(session.get(), text, step).loss << "\n";
  const std::vector<float> values = valuesOf<float>(readTensor(session.get(), "wpe.weight")->dl_tensor);
  losses << std::hexfloat << values[0] << " " << values.back() << "\n";
  losses.close();
  expectOk(sluice_session_save(session.get(), folder.path("threads").c_str(), nullptr));
  EXPECT_EQ(contentOf(folder.path("losses0")), contentOf(folder.path("losses")));
  EXPECT_EQ(contentOf(folder.path("losses1")), contentOf(folder.path("losses")));
  EXPECT_EQ(contentOf(folder.path("job/model.safetensors")), contentOf(folder.path("threads/model.safetensors")));
}

TEST(CapiProcesses, ProcessesWithOtherOptionsAreRefused) {
  const std::string &plan = smallPlan();
  runOnTwo([&](int rank) {
    sluice_session *session = nullptr;
    const std::string options = R"({"seed": )" + std::to_string(rank) + "}";
    expectError(sluice_session_open(openPlan(plan).get(), options.c_str(), &session), 2, "'seed'");
    EXPECT_EQ(session, nullptr);
  });
}

} // namespace
} // namespace sluice::test
