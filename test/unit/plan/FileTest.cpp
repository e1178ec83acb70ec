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
#include <functional>
#include <set>
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
  EXPECT_EQ(refusal(Bytes(12, 'x')), "'test.plan' is not a plan, expected the identifier 'SLCE' at byte 4");
  EXPECT_EQ(parsePlan(std::span<const std::uint8_t>(Bytes(100, 'x').data(), FLATBUFFERS_MAX_BUFFER_SIZE - 1), "p")
                .status()
                .message(),
            "'p' is not a plan, expected the identifier 'SLCE' at byte 4");
  // The version is in a field beyond the file.
  Bytes noVersion = bytes;
  const auto root = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(noVersion.data());
  const auto table = root - flatbuffers::ReadScalar<flatbuffers::soffset_t>(noVersion.data() + root);
  flatbuffers::WriteScalar<flatbuffers::voffset_t>(noVersion.data() + table + plan::Plan::VT_MAJOR, 0xfff0);
  ASSERT_LT(bytes.size(), root + 0xfff0u);
  EXPECT_EQ(refusal(noVersion), "plan 'test.plan' is damaged or cut off, its root does not verify");
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

TEST(PlanFile, RefusesAPlanWithoutDigest) {
  HandPlan hand;
  hand.plan.digest.clear();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::CreatePlan(builder, &hand.plan), plan::PlanIdentifier());
  EXPECT_EQ(refusal(Bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize())),
            "plan 'test.plan' is damaged or cut off, expected a digest of 32 bytes");
}

TEST(PlanFile, RefusesADifferentMajorVersion) {
  HandPlan hand;
  hand.plan.major = 7;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::CreatePlan(builder, &hand.plan), plan::PlanIdentifier());
  EXPECT_EQ(refusal(Bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize())),
            "plan 'test.plan' has a different version, expected major version 3 but got 7");
}

/// The file with this root, with its digest.
Bytes finish(flatbuffers::FlatBufferBuilder &builder, const std::function<void(plan::PlanBuilder &)> &fill,
             std::size_t size = digestBytes) {
  const auto digest = builder.CreateVector(std::vector<std::uint8_t>(size, 0));
  plan::PlanBuilder root(builder);
  root.add_major(planMajor);
  root.add_digest(digest);
  fill(root);
  builder.Finish(root.Finish(), plan::PlanIdentifier());
  Bytes bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  const Digest sum = sha256(bytes);
  std::copy_n(sum.begin(), size, bytes.begin() + (plan::GetPlan(bytes.data())->digest()->data() - bytes.data()));
  return bytes;
}

template <typename T> auto manyOf(flatbuffers::FlatBufferBuilder &builder, flatbuffers::Offset<T> one) {
  return builder.CreateVector(std::vector<flatbuffers::Offset<T>>(1000, one));
}

TEST(PlanFile, RefusesAShortDigest) {
  flatbuffers::FlatBufferBuilder builder;
  EXPECT_EQ(refusal(finish(
                builder, [](plan::PlanBuilder &) {}, 5)),
            "plan 'test.plan' is damaged or cut off, expected a digest of 32 bytes");
}

constexpr const char *sharedContents =
    "plan 'test.plan' is damaged or cut off, its tables share contents or are not aligned";

// A thousand aliases that are one string in the file: small bytes, large when unpacked.
TEST(PlanFile, RefusesSharedContents) {
  flatbuffers::FlatBufferBuilder builder;
  const auto names = manyOf(builder, builder.CreateString(std::string(1 << 16, 'x')));
  EXPECT_EQ(refusal(finish(builder, [&](plan::PlanBuilder &root) { root.add_kernels(names); })), sharedContents);
}

// A thousand instructions with one operation, or one list.
TEST(PlanFile, RefusesSharedOperations) {
  std::vector<plan::InstructionT> each(6);
  const std::vector<std::uint32_t> ids(1 << 12);
  plan::ViewT view;
  view.shape.assign(1 << 11, 0);
  plan::LaunchT launch;
  launch.input_values = ids;
  each[0].operation.Set(std::move(launch));
  plan::CollectiveT collective;
  collective.axes = ids;
  each[1].operation.Set(std::move(collective));
  plan::CopyT copy;
  copy.source = std::make_unique<plan::ViewT>(view);
  each[2].operation.Set(std::move(copy));
  plan::FillT fill;
  fill.destination = std::make_unique<plan::ViewT>(view);
  each[3].operation.Set(std::move(fill));
  plan::ReleaseT release;
  release.buffers = ids;
  each[4].operation.Set(std::move(release));
  each[5].repetitions = ids;
  for (const plan::InstructionT &instruction : each) {
    flatbuffers::FlatBufferBuilder builder;
    const auto instructions = manyOf(builder, plan::CreateInstruction(builder, &instruction));
    plan::SectionBuilder section(builder);
    section.add_instructions(instructions);
    const auto sections = builder.CreateVector(std::vector{section.Finish()});
    plan::EntryBuilder entry(builder);
    entry.add_sections(sections);
    const auto entries = builder.CreateVector(std::vector{entry.Finish()});
    EXPECT_EQ(refusal(finish(builder, [&](plan::PlanBuilder &root) { root.add_entries(entries); })), sharedContents)
        << plan::EnumNameOperation(instruction.operation.type);
  }
}

// The extents of a shape begin at a multiple of 4 bytes that is none of 8.
TEST(PlanFile, RefusesNumbersThatAreNotAligned) {
  std::set<std::string> results;
  for (int words : {2, 3}) {
    flatbuffers::FlatBufferBuilder builder;
    // Aligns the file to 8 bytes.
    plan::CreateFill(builder, 0, 1.0);
    builder.StartVector(std::size_t(words), sizeof(std::uint32_t));
    for (int w = 0; w < words; ++w)
      builder.PushElement(std::uint32_t(0));
    builder.EndVector(std::size_t(words));
    builder.StartVector(4, sizeof(std::uint32_t));
    for (int w = 0; w < 4; ++w)
      builder.PushElement(std::uint32_t(0));
    const flatbuffers::Offset<flatbuffers::Vector<std::int64_t>> shape(builder.EndVector(2));
    plan::BufferBuilder buffer(builder);
    buffer.add_shape(shape);
    const auto buffers = builder.CreateVector(std::vector{buffer.Finish()});
    results.insert(refusal(finish(builder, [&](plan::PlanBuilder &root) { root.add_buffers(buffers); })));
  }
  EXPECT_EQ(results, (std::set<std::string>{"accepted", sharedContents}));
}

// A file whose first byte cannot be read.
TEST(PlanFile, ReadErrorsAreReported) {
  Result<PlanFile> file = readPlan("/proc/self/mem");
  ASSERT_FALSE(file.isOk());
  EXPECT_EQ(file.status().code(), StatusCode::input);
  EXPECT_EQ(file.status().message(), "cannot read '/proc/self/mem', Input/output error");
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
