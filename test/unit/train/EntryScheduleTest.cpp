//===- EntryScheduleTest.cpp - the entry points of steps, by step and by length --------===//
#include "runtime/train/EntrySchedule.h"
#include "test/unit/train/TrainerFixture.h"

#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

class EntryScheduleTest : public ::testing::Test {
protected:
  TemporaryFolder folder;

  /// Train entry points of one micro-batch with these rows and tokens, each with the name of its shape.
  static FakeRanks ranks(std::uint32_t count, const std::vector<std::pair<std::int64_t, std::int64_t>> &shapes) {
    PlanBuilder builder({{"replicate", 1}, {"shard", count}});
    for (const auto &[rows, tokens] : shapes) {
      builder.trainStep(rows, tokens, 1, 256);
      builder.plan.entries.back()->name = std::to_string(rows) + "x" + std::to_string(tokens);
    }
    return FakeRanks(std::move(builder.plan));
  }
  /// Data of one token per byte; the token after the last row is not one.
  FeederOptions text(std::size_t length) {
    std::string bytes;
    for (std::size_t i = 0; i < length; ++i)
      bytes += static_cast<char>(i % 251);
    FeederOptions given;
    given.data = {folder.write("data", bytes)};
    return given;
  }
  static EntryScheduleOptions at(std::vector<std::string> texts) { return {.shapesAt = std::move(texts)}; }
  static Result<EntrySchedule> make(FakeRanks &fake, std::vector<std::string> texts, const FeederOptions &given) {
    return EntrySchedule::make(fake, at(std::move(texts)), given);
  }
  static std::string nameAt(EntrySchedule &schedule, std::uint64_t step) {
    return schedule.sources()[schedule.at(step).first].entry->name;
  }
  /// The first token of each row of a step.
  static std::vector<std::int32_t> firstTokens(FakeRanks &fake, EntrySchedule &schedule, std::uint64_t step) {
    const EntrySchedule::Part part = schedule.at(step);
    EntrySchedule::Source &source = schedule.sources()[part.first];
    EXPECT_TRUE(source.feeder.feed(fake, part.step, {}).isOk());
    const plan::ViewT &view = *source.entry->inputs[0]->view;
    std::vector<std::int32_t> tokens;
    for (int rank = 0; rank < fake.size(); ++rank)
      for (std::int64_t row = 0; row < view.shape[0]; ++row)
        tokens.push_back(fake.values<std::int32_t>(rank, view.buffer)[static_cast<std::size_t>(row * view.shape[1])]);
    return tokens;
  }
  /// A token file of documents with these lengths, each of its length as tokens and 255 at its end.
  FeederOptions documents(const std::vector<int> &lengths) {
    std::string bytes;
    for (const int length : lengths)
      bytes += std::string(static_cast<std::size_t>(length - 1), static_cast<char>(length)) + '\xff';
    FeederOptions given;
    given.data = {folder.write("documents", bytes)};
    given.files.format = DataFormat::bytes;
    given.files.packing.emplace();
    given.files.packing->isSeparate = true;
    given.files.packing->delimiter = DocumentDelimiter{255, false};
    return given;
  }
};

TEST_F(EntryScheduleTest, EachStepHasTheShapeOfItsSchedule) {
  FakeRanks fake = ranks(2, {{2, 4}, {1, 8}});
  Result<EntrySchedule> schedule = make(fake, {"0:4", "3:8", "5:2x4"}, text(201));
  ASSERT_TRUE(schedule.isOk()) << schedule.status().message();
  EXPECT_TRUE(schedule->differs());
  std::vector<std::string> names;
  for (std::uint64_t step = 0; step < 7; ++step)
    names.push_back(nameAt(*schedule, step));
  EXPECT_EQ(names, (std::vector<std::string>{"2x4", "2x4", "2x4", "1x8", "1x8", "2x4", "2x4"}));
  EXPECT_EQ(schedule->tokens(0), 16u);
  EXPECT_EQ(schedule->tokens(4), 16u);
  // No token is read twice: 3 steps read 48 tokens, which is the row 6 of 8.
  EXPECT_EQ(firstTokens(fake, *schedule, 2), (std::vector<std::int32_t>{32, 36, 40, 44}));
  EXPECT_EQ(firstTokens(fake, *schedule, 3), (std::vector<std::int32_t>{48, 56}));
  EXPECT_EQ(firstTokens(fake, *schedule, 5), (std::vector<std::int32_t>{80, 84, 88, 92}));
  // 50 rows of 4 tokens, and 25 of 8.
  EXPECT_DOUBLE_EQ(*schedule->epoch(2), 8.0 / 50);
  EXPECT_DOUBLE_EQ(*schedule->epoch(4), 8.0 / 25);
  EXPECT_EQ(*schedule->stepsOfEpochs(8.0 / 25), 4u);
  EXPECT_EQ(*schedule->stepsOfEpochs(1), 13u);
  const Result<std::optional<DataReport>> report = schedule->describe();
  EXPECT_EQ(dataLine(**report),
            "data: 50 rows (bytes) of 4 tokens, first batch: 16 distinct ids in 16 tokens (100.0%), "
            "largest id 15\nfrom step 1: rows of 4 tokens in 2x4, 16 tokens in a step\nfrom step 4: "
            "rows of 8 tokens in 1x8, 16 tokens in a step\nfrom step 6: rows of 4 tokens in 2x4, 16 "
            "tokens in a step");
}

// A shape that does not divide the tokens that were read begins with the next complete row.
TEST_F(EntryScheduleTest, NextShapeBeginsWithACompleteRow) {
  FakeRanks fake = ranks(1, {{1, 4}, {1, 7}});
  Result<EntrySchedule> schedule = make(fake, {"0:4", "2:7"}, text(100));
  ASSERT_TRUE(schedule.isOk());
  EXPECT_EQ(firstTokens(fake, *schedule, 2), std::vector<std::int32_t>{14});
}

// A step of another number of ranks has other rows, and reads those that follow.
TEST_F(EntryScheduleTest, ContinuesWithAnotherNumberOfRanks) {
  const FeederOptions given = text(201);
  FakeRanks four = ranks(4, {{1, 4}, {1, 8}}), three = ranks(3, {{1, 4}, {1, 8}});
  Result<EntrySchedule> before = make(four, {"0:4", "4:8"}, given), after = make(three, {"0:4", "4:8"}, given);
  ASSERT_TRUE(before.isOk() && after.isOk());
  after->continueFrom(2, before->rowsRead(2));
  EXPECT_EQ(firstTokens(three, *after, 2), (std::vector<std::int32_t>{32, 36, 40}));
  // Two steps of 3 rows: 32 + 24 tokens were read.
  EXPECT_EQ(firstTokens(three, *after, 4), (std::vector<std::int32_t>{56, 64, 72}));
  EXPECT_EQ(after->rowsRead(5)[1], 10u);
  // The same number of ranks continues as without a stop.
  Result<EntrySchedule> again = make(four, {"0:4", "4:8"}, given);
  again->continueFrom(5, before->rowsRead(5));
  EXPECT_EQ(firstTokens(four, *again, 6), firstTokens(four, *before, 6));
  EXPECT_EQ(again->rowsRead(7), before->rowsRead(7));
  // Numbers of another list of shapes change nothing.
  again->continueFrom(5, {1});
  EXPECT_EQ(again->rowsRead(7), before->rowsRead(7));
}

TEST_F(EntryScheduleTest, DocumentsAreInTheBucketOfTheirLength) {
  FakeRanks fake = ranks(1, {{1, 8}, {2, 4}});
  // Four documents of up to 4 tokens, two of up to 8; one of 10 is split into 8 and 2.
  Result<EntrySchedule> schedule = EntrySchedule::make(fake, {}, documents({3, 8, 4, 10, 2, 4, 6}));
  ASSERT_TRUE(schedule.isOk()) << schedule.status().message();
  ASSERT_EQ(schedule->sources().size(), 2u);
  EXPECT_EQ(schedule->sources()[0].entry->name, "2x4");
  EXPECT_EQ(schedule->sources()[0].feeder.totalRows(), 5u);
  EXPECT_EQ(schedule->sources()[1].feeder.totalRows(), 3u);
  // 5 / 2 steps of the one for 3 of the other; each document is read once in an epoch, in any order of steps.
  const std::uint64_t steps = *schedule->stepsOfEpochs(1);
  EXPECT_NEAR(static_cast<double>(steps), 6, 1);
  std::multiset<std::int32_t> read;
  for (std::uint64_t step = 0; step < steps; ++step)
    for (const std::int32_t length : firstTokens(fake, *schedule, step))
      read.insert(length);
  for (const int length : {3, 8, 4, 10, 2, 6})
    EXPECT_TRUE(read.contains(length)) << length;
  EXPECT_GE(*schedule->epoch(steps), 1);
  EXPECT_TRUE(schedule->checkTargets(0, steps).isOk());
  EXPECT_EQ(schedule->packed(0)->documents, schedule->at(0).first == 0 ? 2u : 1u);
  const std::string line = dataLine(**schedule->describe());
  EXPECT_NE(line.find("data: 8 rows (bytes) of 4 tokens"), std::string::npos) << line;
  EXPECT_NE(line.find("packed: 8 documents in 8 rows"), std::string::npos) << line;
  EXPECT_NE(line.find("bucket: 5 rows of 4 tokens in 2x4, 8 tokens in a step\nbucket: 3 rows of 8 tokens in 1x8, 8 "
                      "tokens in a step"),
            std::string::npos)
      << line;
}

// Fewer documents than a step has rows join those of the next bucket; a bucket without documents has no steps.
TEST_F(EntryScheduleTest, SmallBucketsJoinTheNext) {
  FakeRanks fake = ranks(1, {{4, 4}, {2, 8}, {1, 16}});
  Result<EntrySchedule> schedule = EntrySchedule::make(fake, {}, documents({3, 6, 7}));
  ASSERT_TRUE(schedule.isOk());
  ASSERT_EQ(schedule->sources().size(), 1u);
  EXPECT_EQ(schedule->sources()[0].entry->name, "2x8");
  EXPECT_EQ(schedule->sources()[0].feeder.totalRows(), 3u);
}

TEST_F(EntryScheduleTest, PolicyOfLongDocumentsIsThatOfTheLongestRows) {
  FakeRanks fake = ranks(1, {{1, 4}, {1, 8}});
  FeederOptions given = documents({3, 8, 10});
  given.files.packing->longDocuments = LongDocuments::truncate;
  Result<EntrySchedule> schedule = EntrySchedule::make(fake, {}, given);
  ASSERT_TRUE(schedule.isOk());
  EXPECT_EQ(schedule->sources()[1].feeder.totalRows(), 2u);
  given.files.packing->longDocuments = LongDocuments::error;
  expectError(EntrySchedule::make(fake, {}, given).status(), StatusCode::input,
              "length of document 2, expected at most 8 tokens but got 10");
}

TEST_F(EntryScheduleTest, Faults) {
  FakeRanks fake = ranks(1, {{2, 4}, {1, 4}, {1, 8}});
  const FeederOptions given = text(100);
  const auto refuses = [&](std::vector<std::string> texts, const std::string &message, const std::string &note = "") {
    const Status status = make(fake, std::move(texts), given).status();
    expectError(status, StatusCode::usage, message);
    if (!note.empty()) {
      ASSERT_EQ(status.notes().size(), 1u);
      EXPECT_EQ(status.notes()[0], note);
    }
  };
  for (const char *text : {"", "8", "0:", ":8", "0:8x", "0:x8", "a:8", "0:8:9", "-1:8", "0:1x8x2"})
    refuses({text}, "--shapes-at, expected a step and the tokens of a row such as 2000:1024, or with rows 2000:4x1024");
  refuses({"2:8"}, "--shapes-at, expected a first shape from step 0 but got step 2");
  refuses({"0:8", "5:8", "5:8"}, "--shapes-at, expected ascending steps but got 5 after 5");
  refuses({"0:8", "5:9"}, "--shapes-at 5: no train entry point has rows of 9 tokens",
          "the plan has 2x4 (2 rows of 4 tokens), 1x4 (1 row of 4 tokens), 1x8 (1 row of 8 tokens)");
  refuses({"0:3x8"}, "--shapes-at 0: no train entry point has 3 rows of 8 tokens");
  refuses({"0:4"}, "--shapes-at 0: 2 train entry points have rows of 4 tokens", "name the rows, for example 0:2x4");
  FeederOptions bucket = documents({3, 5});
  expectError(EntrySchedule::make(fake, {}, bucket).status(), StatusCode::usage,
              "--bucket: several train entry points have rows of 4 tokens");
  FakeRanks one = ranks(1, {{1, 4}});
  std::erase_if(one.change().entries[0]->inputs,
                [](const auto &port) { return port->role == plan::PortRole::learning_rate; });
  expectError(EntrySchedule::make(one, {}, bucket).status(), StatusCode::usage,
              "--bucket: the plan has no train entry point with rows of tokens");
  bucket.data = {folder.write("none", "")};
  FakeRanks two = ranks(1, {{1, 4}, {1, 8}});
  expectError(EntrySchedule::make(two, {}, bucket).status(), StatusCode::input, "is empty");
  bucket.data = {"random:1"};
  expectError(EntrySchedule::make(two, {}, bucket).status(), StatusCode::input,
              "data 'random:1' have no documents, which --bucket needs");
  expectError(EntrySchedule::make(two, {.entries = {"none"}}, given).status(), StatusCode::usage,
              "entry point 'none' is unknown, expected one of 1x4, 1x8");
}

} // namespace
