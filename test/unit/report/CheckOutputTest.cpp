//===- CheckOutputTest.cpp - the report of the checker as text and JSON --------------------===//

#include "runtime/report/CheckOutput.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::test {
namespace {

using Outcome = CheckReport::Outcome;

/// P3 and P12 in one stage, P3 in a separate stage as well, P7 without a proof.
CheckReport someReport() {
  CheckReport report;
  report.stages = {{{3}, 0.001}, {{3, 12}, 0.25}, {{7}, 0.5}};
  report.properties[2] = {Outcome::proved, 1234, ""};
  report.properties[11] = {Outcome::proved, 5, ""};
  report.properties[6] = {Outcome::notProved, 2, "kernel 'sort' has no rule"};
  report[9] = Outcome::notRun;
  return report;
}

bool hasLine(const std::string &text, const std::string &line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(CheckOutput, TextHasVerdictsFactsAndTimes) {
  const std::string text = checkText(someReport());
  EXPECT_TRUE(hasLine(text, "P3  no race                                             proved         "
                            "1234 pairs of accesses                     251.00 ms*"))
      << text;
  EXPECT_TRUE(hasLine(text, "P7  each gradient is reduced once                       not proved     "
                            "2 writes and sums                          500.00 ms"))
      << text;
  EXPECT_TRUE(hasLine(text, "    reason: kernel 'sort' has no rule")) << text;
  EXPECT_TRUE(hasLine(text, "P9  it computes the unsharded program                   not run")) << text;
  EXPECT_TRUE(hasLine(text, "P17 the same plan everywhere                            not reached")) << text;
  // The stage that two properties share counts once.
  EXPECT_TRUE(hasLine(text, "all stages" + std::string(101, ' ') + "   751.00 ms")) << text;
  EXPECT_TRUE(hasLine(text, "* P3, P12 are decided in one stage of 250.00 ms")) << text;
}

TEST(CheckOutput, JsonHasTheSame) {
  const Json json = checkJson(someReport());
  ASSERT_EQ(json["properties"].size(), std::size_t(propertyCount));
  EXPECT_EQ(json["properties"][2], Json::parse(R"({"property": "P3", "title": "no race", "outcome": "proved",
                                                   "facts": 1234, "unit": "pairs of accesses", "seconds": 0.251})"));
  EXPECT_EQ(json["properties"][6]["outcome"], "not proved");
  EXPECT_EQ(json["properties"][6]["reason"], "kernel 'sort' has no rule");
  EXPECT_EQ(json["properties"][8], Json::parse(R"({"property": "P9", "title": "it computes the unsharded program",
                            "outcome": "not run"})"));
  EXPECT_EQ(json["stages"][1], Json::parse(R"({"properties": ["P3", "P12"], "seconds": 0.25})"));
  EXPECT_EQ(json["seconds"], 0.751);
}

} // namespace
} // namespace sluice::test
