//===- PlanTest.cpp - plans, statuses and reports of sluice.h --------------------------===//
#include "test/unit/capi/Fixture.h"

namespace sluice::test {
namespace {

TEST(CapiPlan, VersionsAreThoseOfTheHeaders) {
  EXPECT_EQ(sluice_api_version(), SLUICE_API_VERSION);
  EXPECT_EQ(sluice_compiler_api_version(), SLUICE_COMPILER_API_VERSION);
  EXPECT_STREQ(sluice_version(), sluice_compiler_version());
}

TEST(CapiPlan, NullIsAccepted) {
  EXPECT_EQ(sluice_status_code(nullptr), 0);
  EXPECT_STREQ(sluice_status_message(nullptr), "");
  EXPECT_EQ(sluice_status_note_count(nullptr), 0u);
  sluice_status_free(nullptr);
  sluice_text_free(nullptr);
  sluice_plan_free(nullptr);
  sluice_session_free(nullptr);
  const void *data = &data;
  std::size_t size = 1;
  sluice_plan_bytes(nullptr, &data, &size);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(sluice_tensor_share(nullptr, 1), nullptr);
}

TEST(CapiPlan, ArgumentsThatAreNullAreNamed) {
  sluice_plan *plan = nullptr;
  char *text = nullptr;
  expectError(sluice_plan_open(nullptr, &plan), 2, "argument 'path' is NULL");
  expectError(sluice_plan_open("p", nullptr), 2, "argument 'plan' is NULL");
  expectError(sluice_plan_from_bytes(nullptr, 4, "p", &plan), 2, "argument 'data' is NULL");
  expectError(sluice_plan_report(nullptr, "check", &text), 2, "argument 'plan' is NULL");
  expectError(sluice_session_open(nullptr, nullptr, nullptr), 2, "argument 'plan' is NULL");
  expectError(sluice_session_run(nullptr, "train_step", 0, nullptr), 2, "argument 'session' is NULL");
}

TEST(CapiPlan, OpensAFileAndGivesItsBytes) {
  const Folder folder;
  const std::string path = folder.write("p.plan", smallPlan());
  sluice_plan *opened = nullptr;
  expectOk(sluice_plan_open(path.c_str(), &opened));
  const Plan plan(opened);
  const void *data = nullptr;
  std::size_t size = 0;
  sluice_plan_bytes(plan.get(), &data, &size);
  EXPECT_EQ(std::string(static_cast<const char *>(data), size), smallPlan());
  expectError(sluice_plan_open(folder.path("none").c_str(), &opened), 1, "cannot read '");
  expectError(sluice_plan_open(folder.write("text", "this is no plan, but a text").c_str(), &opened), 4,
              "is not a plan");
}

TEST(CapiPlan, ReportsAreThoseOfTheTool) {
  // The accounts of FSDP are of one micro-batch.
  const Plan plan = openPlan(smallPlan(R"({"mesh.shard": 2})"));
  for (const char *name : {"check", "describe", "memory", "schedule", "explain", "account:fsdp1", "account:fsdp2"}) {
    char *text = nullptr;
    expectOk(sluice_plan_report(plan.get(), name, &text));
    EXPECT_TRUE(nlohmann::json::parse(text ? text : "").is_object()) << name;
    sluice_text_free(text);
  }
  char *page = nullptr;
  expectOk(sluice_plan_report(plan.get(), "memory.html", &page));
  EXPECT_NE(std::string(page).find("<html"), std::string::npos);
  sluice_text_free(page);
  expectError(sluice_plan_report(plan.get(), "memroy", &page), 2,
              "report 'memroy' is unknown, expected one of check, describe, memory");
}

TEST(CapiPlan, DamagedBytesAreRefused) {
  std::string bytes = smallPlan();
  for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 400) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    sluice_plan *plan = nullptr;
    const Outcome result = outcome(sluice_plan_from_bytes(damaged.data(), damaged.size(), "p", &plan));
    EXPECT_EQ(result.code, 4) << at;
    EXPECT_EQ(plan, nullptr);
  }
  for (std::size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 50) {
    sluice_plan *plan = nullptr;
    EXPECT_EQ(outcome(sluice_plan_from_bytes(bytes.data(), size, nullptr, &plan)).code, 4) << size;
  }
}

} // namespace
} // namespace sluice::test
