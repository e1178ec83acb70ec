//===- RunTest.cpp - which checkpoints a run continues from, writes and keeps ------------===//
#include "runtime/base/DigestStream.h"
#include "runtime/checkpoint/Commands.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Weights.h"
#include "test/unit/checkpoint/Faults.h"
#include "test/unit/checkpoint/RunFixture.h"

#include <cerrno>
#include <csignal>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/// The error of flock; 0: it locks.
static int lockError = 0;

extern "C" int flock(int descriptor, int operation) noexcept {
  if (lockError != 0) {
    errno = lockError;
    return -1;
  }
  return static_cast<int>(syscall(SYS_flock, descriptor, operation));
}

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

// Tests that a run continues from its newest checkpoint, and says so.
TEST_F(Run, ContinuesFromTheNewest) {
  EXPECT_EQ(*resume(), 0u);
  save({progress(2), progress(4)});
  EXPECT_EQ(*resume(), 4u);
  EXPECT_EQ(notes, std::vector<std::string>{"continuing after step 4 of '" + options.folder + "/step-00000004'"});
}

// Tests --every.
TEST_F(Run, IsDue) {
  options.every = 3;
  EXPECT_TRUE(RunCheckpoints(options, train).isDue(6));
  EXPECT_FALSE(RunCheckpoints(options, train).isDue(7));
  options.every = 0;
  EXPECT_FALSE(RunCheckpoints(options, train).isDue(6));
  options = {};
  EXPECT_FALSE(RunCheckpoints(options, train).isDue(500)) << "a run that only continues writes none";
  options.folder = "run";
  EXPECT_TRUE(RunCheckpoints(options, train).isDue(500));
  EXPECT_FALSE(RunCheckpoints(options, train).isDue(250));
}

// Tests --keep and --keep-best.
TEST_F(Run, KeepsTheLatestAndTheBest) {
  options.keep = 2;
  save({progress(1), progress(2), progress(3)});
  EXPECT_EQ(steps(), (Steps{2, 3}));
  fs::remove_all(options.folder);
  options.keepBest = true;
  save({progress(1, 2.5), progress(2, 0.5), progress(3, 1.5), progress(4), progress(5, 0.75)});
  EXPECT_EQ(steps(), (Steps{2, 4, 5}));
}

// Tests that each difference of the command is named.
TEST_F(Run, RefusesAnotherRun) {
  save({progress(1)});
  train.seed = 3;
  refuses("is a checkpoint of another run: --seed, expected 0 but got 3");
  train.seed = 0;
  train.shuffled = true;
  refuses("--order, expected sequential but got shuffled");
  train.shuffled = false;
  train.overfit = true;
  refuses("--overfit-one-batch, expected off but got on");
  train.overfit = false;
  train.entries = {"train_step", "other"};
  refuses("--entries, expected train_step but got train_step other");
  train.entries = {"train_step"};
  train.shapesAt = {"0:64", "9:128"};
  refuses("entry points of the steps, expected train_step but got --shapes-at 0:64 9:128");
  train.shapesAt.clear();
  train.files.packing.emplace().isSeparate = true;
  refuses("entry points of the steps, expected train_step but got --bucket");
  train.files.packing.reset();
  train.data = {"other"};
  refuses("--data, expected data but got other");
  train.data = {"data"};
  ranks = FakeRanks(modelPlan(Layout::rows, {"momentum"}).plan);
  refuses("tensor 'optimizer.state.attn.fused.momentum' of the plan");
}

// Tests that a start removes what a killed run has left: partial folders, and checkpoints that are not kept.
TEST_F(Run, CleansUpAtTheStart) {
  save({progress(1), progress(2), progress(3)});
  const std::string partial = options.folder + "/step-00000004.partial",
                    damaged = options.folder + "/step-00000004.damaged";
  for (const std::string &path : {partial, damaged})
    fs::create_directory(path);
  options.keep = 2;
  EXPECT_EQ(*resume(), 3u);
  EXPECT_EQ(steps(), (Steps{2, 3}));
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_TRUE(fs::exists(damaged)) << "no complete checkpoint follows it yet";
  // Also if there is no checkpoint to continue from.
  fs::remove_all(options.folder);
  fs::create_directories(partial);
  EXPECT_EQ(*resume(), 0u);
  EXPECT_FALSE(fs::exists(partial));
}

// Tests that a checkpoint that a run removes while a folder is verified is no error.
TEST_F(Run, VerifiesDuringARotation) {
  save({progress(1), progress(2)});
  // Listed, and gone when it is opened.
  fs::create_symlink("gone", stepPath(options.folder, 3));
  for (const char *name : {"verify", "list"}) {
    const CheckpointCommandResult result = runCheckpointCommand({name, {options.folder, ""}});
    EXPECT_TRUE(result.status.isOk()) << result.status.message();
    EXPECT_EQ(std::ranges::count(result.text, '\n'), 2) << result.text;
  }
}

// Tests that users who cannot write the lock cannot read it, and so not lock it.
TEST_F(Run, ALockIsForThoseWhoWrite) {
  save({progress(1)});
  const fs::path path = options.folder + "/.lock";
  const auto modeAfter = [&](fs::perms mode) {
    fs::permissions(path, mode);
    EXPECT_TRUE(lockFolder(options.folder).isOk());
    return static_cast<unsigned>(fs::status(path).permissions());
  };
  EXPECT_EQ(modeAfter(fs::perms(0644)), 0600u);
  EXPECT_EQ(modeAfter(fs::perms(0664)), 0660u);
  EXPECT_EQ(modeAfter(fs::perms(0666)), 0666u);
}

// Tests that the content of the data decides, and their names only if a checkpoint does not have it.
TEST_F(Run, ComparesTheContentOfTheData) {
  train.dataContents = {"aa, 4 bytes"};
  train.tokenizerDigest = "t1";
  save({progress(1)});
  train.data = {"/the/same/data"};
  EXPECT_EQ(*resume(), 1u);
  train.dataContents = {"bb, 4 bytes"};
  refuses("--data, expected data but got /the/same/data");
  train.data = {"data"};
  refuses("content of --data data, expected aa, 4 bytes but got bb, 4 bytes");
  train.dataContents = {"aa, 4 bytes", "aa, 4 bytes"};
  refuses("--data, expected data but got data");
  train.dataContents = {"aa, 4 bytes"};
  train.weights = {2};
  refuses("--data, expected data but got data (weight 2)");
  train.weights = {};
  for (const char *tokenizer : {"t2", ""}) {
    train.tokenizerDigest = tokenizer;
    refuses(std::string("digest of the tokenizer, expected t1 but got ") + (*tokenizer ? tokenizer : "none"));
  }
  notes.clear();
  options.allowChangedData = true;
  EXPECT_EQ(*resume(), 1u);
  EXPECT_NE(notes.front().find("the run continues, as --allow-changed-data says"), std::string::npos);
  options.allowChangedData = false;
  // A checkpoint of an earlier version has names only.
  fs::remove_all(options.folder);
  train.dataContents = {};
  train.tokenizerDigest = "";
  save({progress(1)});
  train.dataContents = {"aa, 4 bytes"};
  EXPECT_EQ(*resume(), 1u);
  train.data = {"other"};
  refuses("--data, expected data but got other");
}

// Tests --resume none and --resume FOLDER, which never leave the checkpoints of two runs in one folder.
TEST_F(Run, ContinuesFromAChosenCheckpoint) {
  save({progress(1), progress(2)});
  const std::string first = options.folder;
  options.resume = "none";
  refuses("has a checkpoint of step 2, which this run does not continue from");
  options.resume = stepPath(first, 1);
  refuses("has a checkpoint of step 2, which this run does not continue from");
  options.resume = first + "/";
  EXPECT_EQ(*resume(), 2u);
  options.folder = folder.path("other");
  // A run of another seed and other data may begin from it.
  train.seed = 4;
  train.data = {"other"};
  options.resume = stepPath(first, 1);
  EXPECT_EQ(*resume(), 1u);
  options.folder = "";
  EXPECT_EQ(*resume(), 1u);
  options.resume = folder.path("absent");
  refuses("' is not a training checkpoint and has none", StatusCode::input);
}

// Tests that a damaged checkpoint is passed over, and its step written again.
TEST_F(Run, FallsBackToAnEarlierCheckpoint) {
  save({progress(1), progress(2), progress(3)});
  for (int step : {2, 3})
    fs::remove(stepPath(options.folder, static_cast<std::uint64_t>(step)) + "/state.json");
  EXPECT_EQ(*resume(), 1u);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_NE(notes[0].find("cannot continue from a damaged checkpoint: '"), std::string::npos);
  EXPECT_EQ(steps(), (Steps{1}));
  save({progress(2)});
  EXPECT_EQ(steps(), (Steps{1, 2}));
  // With the lock.
  EXPECT_EQ(std::distance(fs::directory_iterator(options.folder), fs::directory_iterator()), 3);
  // A chosen checkpoint has no replacement.
  fs::remove(stepPath(options.folder, 2) + "/state.json");
  options.resume = options.folder;
  refuses("state.json' is missing");
  options.resume = "auto";
  fs::remove(stepPath(options.folder, 1) + "/state.json");
  refuses("state.json' is missing");
  EXPECT_EQ(steps(), (Steps{1, 2})) << "a second start does not begin from the first step";
  refuses("state.json' is missing");
}

// Tests that a checkpoint of a later version ends the start, and stays.
TEST_F(Run, RefusesALaterVersion) {
  save({progress(1), progress(2)});
  const std::string path = stepPath(options.folder, 2), name = path + "/" + std::string(checkpointIndexName),
                    stateName = path + "/" + std::string(trainingStateName);
  const std::string before = *readFile(name), stateBefore = *readFile(stateName);
  std::string state = stateBefore;
  state.replace(state.find("\"version\": 1"), 12, "\"version\": 2");
  CheckpointIndex index = *parseIndex(name, before);
  for (IndexFile &file : index.files)
    if (file.name == trainingStateName)
      file.digest = digestOf(state);
  std::ofstream(stateName) << state;
  std::ofstream(name) << formatIndex(index);
  refuses("state.json' was written by a later version of Sluice: expected format version 1 but got 2");
  // The index itself.
  std::ofstream(stateName) << stateBefore;
  std::string text = before;
  text.replace(text.find("\"version\":1"), 11, "\"version\":2");
  constexpr std::string_view member = "\"metadata\":{\"digest\":\"";
  const std::size_t at = text.find(member) + member.size();
  text.replace(at, DigestStream::digits, std::string(DigestStream::digits, '0'));
  text.replace(at, DigestStream::digits, digestOf(text));
  std::ofstream(name) << text;
  refuses("index.json' was written by a later version of Sluice: expected format version 1 but got 2");
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

// Tests that the name of a folder and its state agree: a renamed step would be continued again and again.
TEST_F(Run, RefusesARenamedStep) {
  save({progress(1), progress(2)});
  fs::rename(stepPath(options.folder, 1), stepPath(options.folder, 9));
  refuses("' has the state of step 1");
  EXPECT_EQ(steps(), (Steps{2, 9}));
}

// Tests that a damaged checkpoint is no candidate for the best one, and does not keep the others.
TEST_F(Run, RemovesNextToADamagedOne) {
  options.keep = 2;
  options.keepBest = true;
  save({progress(1, 2.5), progress(2, 0.5), progress(3, 1.5)});
  fs::resize_file(stepPath(options.folder, 2) + "/state.json", 10);
  save({progress(4, 1.0), progress(5, 1.25)});
  EXPECT_EQ(steps(), (Steps{4, 5}));
  EXPECT_EQ(*resume(), 5u);
}

// Tests that no command writes into a checkpoint.
TEST_F(Run, IsNoFolderForWeights) {
  save({progress(1), progress(2)});
  for (std::uint64_t to : {1, 2}) {
    const CheckpointCommand command{"export", {stepPath(options.folder, 1), stepPath(options.folder, to)}};
    expectError(runCheckpointCommand(command).status, StatusCode::input,
                "' is a training checkpoint, which would be destroyed");
  }
  expectError(saveWeights(ranks, stepPath(options.folder, 2), {}), StatusCode::input,
              "' is a training checkpoint, which would be destroyed");
  EXPECT_EQ(*resume(), 2u);
}

// Tests that a save of weights over an earlier one that ends at any call leaves the old weights, the new ones, or none.
TEST_F(Run, LeavesNoMixtureOfWeights) {
  const std::string path = folder.path("weights");
  SaveOptions small;
  small.shardBytes = 64;
  const FakeRanks other = filledRanks(Layout::rows, 2);
  const auto valuesOf = [&](const Checkpoint &file) {
    std::vector<float> values;
    std::vector<std::byte> room;
    for (const CheckpointTensor &tensor : file.tensors()) {
      const std::size_t begin = values.size();
      values.resize(begin + tensor.elements());
      EXPECT_TRUE(tensor.readAs(0, std::span(values).subspan(begin), room).isOk());
    }
    return values;
  };
  ASSERT_TRUE(saveWeights(other, path, small).isOk());
  const std::vector<float> after = valuesOf(*Checkpoint::open(path));
  int incomplete = 0;
  for (Fault fault{FaultKind::error, ENOSPC, 0, true};; ++fault.call) {
    ASSERT_TRUE(saveWeights(ranks, path, small).isOk());
    const std::vector<float> before = valuesOf(*Checkpoint::open(path));
    bool hasFired = false;
    {
      ArmedFault armed(fault);
      (void)saveWeights(other, path, small);
      hasFired = armed.hasFired();
    }
    const Result<Checkpoint> left = Checkpoint::open(path);
    incomplete += !left.isOk();
    if (left.isOk()) {
      const std::vector<float> values = valuesOf(*left);
      EXPECT_TRUE(values == before || values == after) << "call " << fault.call;
    }
    if (!hasFired)
      break;
  }
  EXPECT_GT(incomplete, 3);
}

// Tests that failed saves are reported, and end the run only after several in a row, or at its end.
TEST_F(Run, EndsAfterFailedSaves) {
  options.maxFailedSaves = 2;
  RunCheckpoints run(options, train);
  ASSERT_TRUE(run.open(ranks).isOk());
  const auto saveWithFault = [&](std::uint64_t step, bool isFinal) {
    const ArmedFault armed({FaultKind::error, ENOSPC, 0, true, "write"});
    SLUICE_RETURN_IF_ERROR(run.save(ranks, progress(step), isFinal));
    return run.finish(ranks);
  };
  EXPECT_TRUE(saveWithFault(1, false).isOk());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("the checkpoint of step 1 could not be written: "), std::string::npos);
  EXPECT_TRUE(run.save(ranks, progress(2), false).isOk() && run.finish(ranks).isOk());
  EXPECT_TRUE(saveWithFault(3, false).isOk());
  expectError(saveWithFault(4, false), StatusCode::input, "No space left on device");
  EXPECT_TRUE(run.save(ranks, progress(5), false).isOk() && run.finish(ranks).isOk());
  expectError(saveWithFault(6, true), StatusCode::input, "No space left on device");
  EXPECT_EQ(steps(), (Steps{2, 5}));
}

// Tests that a checkpoint that cannot be removed is a note, and the run continues.
TEST_F(Run, ReportsWhatCannotBeRemoved) {
  options.keep = 1;
  options.maxFailedSaves = 1000;
  RunCheckpoints run(options, train);
  ASSERT_TRUE(run.open(ranks).isOk());
  ASSERT_TRUE(run.save(ranks, progress(1), false).isOk() && run.finish(ranks).isOk());
  // Only the removal of a folder with files opens its entries so.
  for (Fault fault{FaultKind::error, EIO, 0, true, "openat"}; notes.empty(); ++fault.call) {
    ASSERT_LT(fault.call, 500) << "no fault prevents it";
    const std::uint64_t step = steps().back() + 1;
    const ArmedFault armed(fault);
    EXPECT_TRUE(run.save(ranks, progress(step), false).isOk() && run.finish(ranks).isOk());
    if (!notes.empty() && notes.back().find("an earlier checkpoint could not be removed: ") == std::string::npos)
      notes.clear();
    else if (!notes.empty() && notes.back().find("cannot remove '") == std::string::npos)
      notes.clear();
  }
}

// Tests that a plan with state that a checkpoint would lack is refused.
TEST_F(Run, RefusesStateOfNoParameter) {
  PlanBuilder builder = modelPlan(Layout::rows);
  builder.buffer("momentum", {4});
  ranks = FakeRanks(std::move(builder.plan));
  refuses("buffer 'momentum' persists between steps and belongs to no parameter or variable");
}

// Tests that a plan with other rows in a step continues, and says where in the data.
TEST_F(Run, NotesOtherRows) {
  save({progress(3)});
  PlanBuilder larger = modelPlan(Layout::rows);
  larger.plan.batch = 4;
  ranks = FakeRanks(std::move(larger.plan));
  EXPECT_EQ(*resume(), 3u);
  EXPECT_NE(notes.front().find("was written with 8 rows in a step, and this plan has 16: the data continue at row 48"),
            std::string::npos);
}

// Tests that it continues with the row that follows, if the checkpoint states it.
TEST_F(Run, NotesTheRowThatFollows) {
  TrainProgress after = progress(3);
  after.rowsRead = {24};
  save({after});
  PlanBuilder larger = modelPlan(Layout::rows);
  larger.plan.batch = 4;
  ranks = FakeRanks(std::move(larger.plan));
  EXPECT_EQ(*resume(), 3u);
  EXPECT_NE(notes.front().find("and this plan has 16: the data continue at row 24"), std::string::npos);
}

// Tests that a folder is one run's until that run has ended, and that this leaves no other lock.
TEST_F(Run, LocksItsFolder) {
  {
    RunCheckpoints first(options, train);
    ASSERT_TRUE(first.open(ranks).isOk());
    refuses("another run writes its checkpoints to '" + options.folder + "'", StatusCode::input);
    // A process that ends without closing anything.
    options.folder = folder.path("killed");
    const pid_t child = fork();
    if (child == 0) {
      RunCheckpoints killed(options, train);
      std::raise(killed.open(ranks).isOk() ? SIGKILL : SIGTERM);
    }
    int state = 0;
    waitpid(child, &state, 0);
    ASSERT_EQ(WTERMSIG(state), SIGKILL);
    EXPECT_EQ(*resume(), 0u);
    options.folder = folder.path("run");
  }
  EXPECT_EQ(*resume(), 0u);
  EXPECT_TRUE(notes.empty());
}

// Tests a file system without locks.
TEST_F(Run, SaysThatThereAreNoLocks) {
  lockError = ENOLCK;
  EXPECT_EQ(*resume(), 0u);
  lockError = 0;
  EXPECT_EQ(notes, std::vector<std::string>{"the file system of '" + options.folder +
                                            "' has no locks: two runs must not write to it"});
  fs::remove(options.folder + "/.lock");
  fs::create_directory(options.folder + "/.lock");
  refuses("cannot write '" + options.folder + "/.lock': Is a directory", StatusCode::input);
}

// Tests that a run which continues another one writes its state to its folder, although it trains no step.
TEST_F(Run, WritesWhatItContinuesFromAnotherFolder) {
  save({progress(3)});
  options.resume = options.folder;
  RunCheckpoints same(options, train);
  ASSERT_TRUE(*same.open(ranks));
  ASSERT_TRUE(same.save(ranks, *same.load(ranks), true).isOk());
  EXPECT_EQ(steps(), Steps{3});
  options.folder = folder.path("other");
  RunCheckpoints other(options, train);
  ASSERT_TRUE(*other.open(ranks));
  ASSERT_TRUE(other.save(ranks, *other.load(ranks), true).isOk());
  EXPECT_EQ(steps(), Steps{3});
}

// Tests folders that cannot be used.
TEST_F(Run, ReportsFolders) {
  options.folder = folder.write("file", "text");
  refuses("cannot write '", StatusCode::input);
  EXPECT_NE(listSteps(options.folder).status().message().find("cannot list '"), std::string::npos);
}

} // namespace
