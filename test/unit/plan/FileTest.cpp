//===- FileTest.cpp - bytes of plans: deterministic, refused when damaged ------------------===//
//
// Every truncation and every flipped byte of a small plan is refused.
//
//===----------------------------------------------------------------------===//
#include "HandPlan.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Serialize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace sluice::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::string refusal(const Bytes &bytes) {
  Result<PlanFile> file = parsePlan(bytes, "test.plan");
  if (file.isOk())
    return "accepted";
  EXPECT_EQ(file.status().code(), StatusCode::refused) << file.status().message();
  return file.status().message();
}

TEST(PlanFile, RoundTrips) {
  HandPlan hand;
  const Bytes bytes = serializePlan(hand.plan);
  Result<PlanFile> file = parsePlan(bytes, "test.plan");
  ASSERT_TRUE(file.isOk()) << file.status().message();
  EXPECT_EQ(file->digest, digestText(hand.plan));
  EXPECT_EQ(file->bytes, bytes.size());
  EXPECT_TRUE(checkPlan(file->plan).isOk()) << checkPlan(file->plan).message();
  EXPECT_EQ(serializePlan(file->plan), bytes);
}

TEST(PlanFile, BytesAreDeterministic) {
  HandPlan first, second;
  EXPECT_EQ(serializePlan(first.plan), serializePlan(second.plan));
}

TEST(PlanFile, DigestCoversThePlan) {
  HandPlan first, second;
  second.plan.recipe.push_back("x");
  second.seal();
  EXPECT_NE(digestText(first.plan), digestText(second.plan));
}

TEST(PlanFile, RefusesEveryTruncation) {
  HandPlan hand;
  const Bytes bytes = serializePlan(hand.plan);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_NE(refusal(Bytes(bytes.begin(), bytes.begin() + std::ptrdiff_t(size))), "accepted") << size;
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_NE(refusal(longer), "accepted");
}

TEST(PlanFile, RefusesEveryFlippedByte) {
  HandPlan hand;
  Bytes bytes = serializePlan(hand.plan);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (std::uint8_t flip : {0x01, 0x80, 0xff}) {
      bytes[i] ^= flip;
      ASSERT_NE(refusal(bytes), "accepted") << i;
      bytes[i] ^= flip;
    }
}

TEST(PlanFile, ErrorsNameTheFault) {
  HandPlan hand;
  Bytes bytes = serializePlan(hand.plan);
  EXPECT_EQ(refusal({}), "plan 'test.plan' is empty");
  // Only the size of the file is read.
  const std::span<const std::uint8_t> huge(bytes.data(), FLATBUFFERS_MAX_BUFFER_SIZE);
  EXPECT_EQ(parsePlan(huge, "test.plan").status().message(), "plan 'test.plan' is too large, expected at most " +
                                                                 std::to_string(FLATBUFFERS_MAX_BUFFER_SIZE - 1) +
                                                                 " bytes");
  EXPECT_EQ(refusal({1, 2, 3}), "plan 'test.plan' is damaged or cut off, expected a header but got 3 bytes");
  EXPECT_EQ(refusal(Bytes(100, 'x')), "'test.plan' is not a plan, expected the identifier 'SLCE' at byte 4");
  Bytes other = bytes;
  other.back() ^= 1;
  EXPECT_NE(refusal(other).find("is damaged or cut off"), std::string::npos);
  // A changed plan under the old digest.
  Bytes changed = bytes;
  const std::string_view name = "hand";
  *std::search(changed.begin(), changed.end(), name.begin(), name.end()) = 'H';
  EXPECT_NE(refusal(changed).find("expected digest " + digestText(HandPlan().plan) + " but its bytes have "),
            std::string::npos);
}

TEST(PlanFile, RefusesADifferentMajorVersion) {
  HandPlan hand;
  hand.plan.major = 7;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::CreatePlan(builder, &hand.plan), plan::PlanIdentifier());
  EXPECT_EQ(refusal(Bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize())),
            "plan 'test.plan' has a different version, expected major version 2 but got 7");
}

TEST(PlanFile, RefusesSharedContents) {
  // A thousand aliases that are one string in the file: small bytes, large when unpacked.
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(std::string(1 << 16, 'x'));
  const auto names = builder.CreateVector(std::vector<flatbuffers::Offset<flatbuffers::String>>(1000, text));
  const auto digest = builder.CreateVector(std::vector<std::uint8_t>(digestBytes, 0));
  plan::PlanBuilder root(builder);
  root.add_major(planMajor);
  root.add_digest(digest);
  root.add_kernels(names);
  builder.Finish(root.Finish(), plan::PlanIdentifier());
  Bytes bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  const Digest sum = sha256(bytes);
  std::copy(sum.begin(), sum.end(), bytes.begin() + (plan::GetPlan(bytes.data())->digest()->data() - bytes.data()));
  EXPECT_EQ(refusal(bytes), "plan 'test.plan' is damaged or cut off, its tables share contents or are not aligned");
}

TEST(PlanFile, ReadsFromADisk) {
  const std::string path = testing::TempDir() + "sluice-file-test.plan";
  HandPlan hand;
  const Bytes bytes = serializePlan(hand.plan);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
  Result<PlanFile> file = readCheckedPlan(path);
  ASSERT_TRUE(file.isOk()) << file.status().message();
  EXPECT_EQ(file->plan.name, "hand");
  std::filesystem::remove(path);
  Result<PlanFile> missing = readPlan(path);
  ASSERT_FALSE(missing.isOk());
  EXPECT_EQ(missing.status().code(), StatusCode::input);
  EXPECT_EQ(missing.status().message(), "cannot read '" + path + "', No such file or directory");
  Result<PlanFile> folder = readPlan(testing::TempDir());
  ASSERT_FALSE(folder.isOk());
  EXPECT_EQ(folder.status().code(), StatusCode::input);
  EXPECT_NE(folder.status().message().find("expected a plan file but got a directory"), std::string::npos);
}

TEST(PlanFile, CheckedReadRefusesABadPlan) {
  const std::string path = testing::TempDir() + "sluice-bad-test.plan";
  HandPlan hand;
  hand.drop("compute waits: b gathered");
  const Bytes bytes = serializePlan(hand.plan);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
  Result<PlanFile> file = readCheckedPlan(path);
  ASSERT_FALSE(file.isOk());
  EXPECT_EQ(file.status().code(), StatusCode::refused);
  EXPECT_EQ(file.status().message().find("P4 "), 0u);
  std::filesystem::remove(path);
}

} // namespace
} // namespace sluice::test
