//===- PackingTextTest.cpp - placement problems as text --------------------------------------===//
#include "passes/solver/PackingText.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

constexpr const char *header = "id,lower,upper,size\n";

std::string errorOf(const std::string &text) {
  const Result<PackingProblem> problem = parsePacking(text, "in.csv");
  return problem.isOk() ? "accepted" : problem.status().message();
}

TEST(PackingText, ReadsAndWrites) {
  const Result<PackingProblem> problem = parsePacking("id,lower,upper,size\r\nb1,0,3,4\r\n\r\nb2,3,9,0", "in.csv");
  ASSERT_TRUE(problem.isOk()) << problem.status().message();
  ASSERT_EQ(problem->buffers.size(), 2u);
  EXPECT_EQ(problem->alignment, 1u);
  EXPECT_EQ(packingText(*problem, {{8, 0}, 12}), "id,lower,upper,size,offset\nb1,0,3,4,8\nb2,3,9,0,0\n");
  EXPECT_TRUE(parsePacking(header, "in.csv")->buffers.empty());
}

TEST(PackingText, RefusesBadFields) {
  const std::string begin = header;
  EXPECT_EQ(errorOf(""), "in.csv:1: expected the header 'id,lower,upper,size' but got ''");
  EXPECT_EQ(errorOf("id,upper,lower,size\n"),
            "in.csv:1: expected the header 'id,lower,upper,size' but got 'id,upper,lower,size'");
  EXPECT_EQ(errorOf(begin + "1,0,3\n"), "in.csv:2: expected 4 fields but got 3");
  EXPECT_EQ(errorOf(begin + "1,0,3,4,5\n"), "in.csv:2: expected 4 fields but got 5");
  EXPECT_EQ(errorOf(begin + ",0,3,4\n"), "in.csv:2: missing 'id'");
  EXPECT_EQ(errorOf(begin + "1,0,3,-4\n"), "in.csv:2: expected 'size' to be an integer of 0 or more but got '-4'");
  EXPECT_EQ(errorOf(begin + "1,-1,3,4\n"), "in.csv:2: expected 'lower' to be an integer of 0 or more but got '-1'");
  EXPECT_EQ(errorOf(begin + "1,0,3.5,4\n"), "in.csv:2: expected 'upper' to be an integer of 0 or more but got '3.5'");
  EXPECT_EQ(errorOf(begin + "1,0,3,\n"), "in.csv:2: expected 'size' to be an integer of 0 or more but got ''");
  EXPECT_EQ(errorOf(begin + "1,0,4294967296,4\n"),
            "in.csv:2: expected 'upper' of at most 4294967295 but got 4294967296");
  EXPECT_EQ(errorOf(begin + "1,0,3,281474976710657\n"),
            "in.csv:2: expected 'size' of at most 281474976710656 but got 281474976710657");
  EXPECT_EQ(errorOf(begin + "1,0,3,99999999999999999999\n"),
            "in.csv:2: expected 'size' of at most 281474976710656 but got 99999999999999999999");
  EXPECT_EQ(errorOf(begin + "1,3,3,4\n"), "in.csv:2: lifespan [3, 3) is empty: 'upper' must be larger than 'lower'");
  EXPECT_EQ(errorOf(begin + "1,5,3,4\n"), "in.csv:2: lifespan [5, 3) is empty: 'upper' must be larger than 'lower'");
  EXPECT_EQ(errorOf(begin + "1,0,3,4\n2,0,3,4\n1,0,9,4\n"), "in.csv:4: id '1' is also in line 2");
  std::string many = header;
  for (int b = 0; b < 20'000; ++b)
    many += std::to_string(b) + ",0,1,281474976710656\n";
  EXPECT_EQ(errorOf(many),
            "in.csv:16385: the sizes of the buffers up to here have a sum of 4611686018427387904, which is too large");
}

} // namespace
