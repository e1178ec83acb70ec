//===- RunCheckpoints.cpp - the checkpoints of a run -------------------------------------===//
#include "runtime/checkpoint/RunCheckpoints.h"

#include "runtime/base/Sha256.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Load.h"
#include "runtime/checkpoint/PlanTensors.h"
#include "runtime/checkpoint/Save.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <new>
#include <set>
#include <sys/stat.h>

namespace sluice {

/// Without slashes at the end.
static std::string trimmed(std::string path) {
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  return path;
}

RunCheckpoints::RunCheckpoints(CheckpointOptions given, const TrainOptions &train) : options(std::move(given)) {
  options.folder = trimmed(std::move(options.folder));
  options.resume = trimmed(std::move(options.resume));
  run.seed = train.seed;
  run.shuffled = train.shuffled;
  run.overfit = train.overfit;
  run.entries = train.entries;
  // A schedule or buckets choose the entry points.
  if (!train.shapesAt.empty()) {
    run.entries = train.shapesAt;
    run.entries.insert(run.entries.begin(), "--shapes-at");
  } else if (train.files.packing && train.files.packing->isSeparate)
    run.entries = {"--bucket"};
  const auto weighted = [&](const std::vector<std::string> &texts) {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < texts.size(); ++i)
      list.push_back(i < train.weights.size() ? fmt::format("{} (weight {})", texts[i], train.weights[i]) : texts[i]);
    return list;
  };
  run.data = weighted(train.data);
  run.dataContents = weighted(train.dataContents);
  run.tokenizer = train.tokenizerDigest;
}

void RunCheckpoints::note(const std::string &text) const {
  if (options.note)
    options.note(text);
}

/// Paths of the checkpoints to try, the last one first.
Result<std::vector<std::string>> RunCheckpoints::candidates() {
  if (!options.folder.empty()) {
    SLUICE_RETURN_IF_ERROR(createFolder(options.folder));
    SLUICE_ASSIGN_OR_RETURN(lock, lockFolder(options.folder));
    if (!lock.isOpen())
      note(fmt::format("the file system of '{}' has no locks: two runs must not write to it", options.folder));
  }
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> steps,
                          options.folder.empty() ? std::vector<std::uint64_t>() : listSteps(options.folder));
  std::vector<std::string> paths;
  if (options.resume == "auto") {
    for (std::uint64_t step : steps)
      paths.push_back(stepPath(options.folder, step));
    return paths;
  }
  if (options.resume != "none") {
    paths = {options.resume};
    if (!isCheckpoint(options.resume)) {
      SLUICE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> others, listSteps(options.resume));
      if (others.empty())
        return inputError(fmt::format("'{}' is not a training checkpoint and has none", options.resume));
      paths = {stepPath(options.resume, others.back())};
    }
  }
  const std::optional<std::uint64_t> resumed = paths.empty() ? std::nullopt : stepOf(paths[0]);
  std::error_code error;
  const bool isInFolder = resumed && std::filesystem::equivalent(paths[0], stepPath(options.folder, *resumed), error);
  if (!steps.empty() && (!isInFolder || steps.back() > *resumed))
    return refusedError(fmt::format("'{}' has a checkpoint of step {}, which this run does not continue from",
                                    options.folder, steps.back()))
        .withNote("write to another folder, or remove the checkpoints that are not needed");
  return paths;
}

/// What all processes need to see alike.
static constexpr const char *sharedNote =
    "all processes need one folder of checkpoints, on a file system that they share";

/// Refuses a process that sees other steps in the folder than rank 0.
Status RunCheckpoints::checkSteps(const Ranks &ranks) const {
  Result<std::vector<std::uint64_t>> steps = listSteps(options.folder);
  Status status = steps.takeStatus();
  const auto text = [](const std::vector<std::uint64_t> &list) {
    return list.empty() ? std::string("no step") : "steps " + join(list, ", ");
  };
  std::string own = status.isOk() ? text(*steps) : "", root = own;
  SLUICE_RETURN_IF_ERROR(ranks.share(0, root));
  if (status.isOk() && own != root)
    status =
        refusedError(fmt::format("'{}', expected checkpoints of {} as on rank 0 but got {}", options.folder, root, own))
            .withNote(sharedNote);
  return commonStatus(ranks, std::move(status));
}

/// Identifies a file on all machines that share its file system, but for rare equal numbers.
static std::string identityOf(const std::string &path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) != 0
             ? std::string()
             : fmt::format("{} {} {}", info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

/// Opens a checkpoint. `isSame` is false if the process does not see what rank 0 sees, whose status it has otherwise.
Status RunCheckpoints::openCandidate(const Ranks &ranks, const std::string &path, bool &isSame) {
  Result<CheckpointReader> opened = CheckpointReader::open(path);
  const std::string own = opened.isOk() ? opened->index().digest : "none";
  std::string root = own;
  SLUICE_RETURN_IF_ERROR(ranks.share(0, root));
  Status status = opened.takeStatus();
  if (own != root) {
    isSame = false;
    status = refusedError(
                 fmt::format("'{}', expected the checkpoint with digest {} as on rank 0 but got {}", path, root, own))
                 .withNote(sharedNote);
  }
  const std::string ownFile = identityOf(path + "/" + std::string(checkpointIndexName));
  std::string rootFile = ownFile;
  SLUICE_RETURN_IF_ERROR(ranks.share(0, rootFile));
  SLUICE_ASSIGN_OR_RETURN(isCopied, ranks.agree(ownFile != rootFile));
  if (isSame && opened.isOk())
    reader = std::make_unique<CheckpointReader>(std::move(*opened));
  SLUICE_ASSIGN_OR_RETURN(const bool differs, ranks.agree(!isSame));
  isSame = !differs;
  return commonStatus(ranks, std::move(status));
}

static Status differentRun(const std::string &path, std::string_view what, const std::string &expected,
                           const std::string &got) {
  return refusedError(
      fmt::format("'{}' is a checkpoint of another run: {}, expected {} but got {}", path, what, expected, got));
}

/// False if options other than --entries choose the entry points.
static bool areNamed(const std::vector<std::string> &entries) {
  return std::ranges::none_of(entries, [](const std::string &entry) { return entry.starts_with("--"); });
}

static constexpr const char *otherRunNote = "give another folder with --checkpoint, or continue that run with --resume";

/// Compares the content of the data, or their names where a run of an earlier version did not write it.
Status RunCheckpoints::checkData() const {
  const TrainingState &before = reader->state();
  const bool isKnown = !before.dataContents.empty() && !run.dataContents.empty();
  Status status;
  const auto found = std::ranges::mismatch(before.dataContents, run.dataContents);
  if (isKnown ? before.dataContents != run.dataContents : before.data != run.data) {
    const bool isReplaced = isKnown && found.in1 != before.dataContents.end() && found.in2 != run.dataContents.end() &&
                            before.data == run.data;
    const auto list = [](const std::vector<std::string> &texts) { return fmt::format("{}", fmt::join(texts, " ")); };
    status = isReplaced
                 ? differentRun(reader->path(),
                                fmt::format("content of --data {}",
                                            run.data[static_cast<std::size_t>(found.in2 - run.dataContents.begin())]),
                                *found.in1, *found.in2)
                 : differentRun(reader->path(), "--data", list(before.data), list(run.data));
  } else if (isKnown && before.tokenizer != run.tokenizer) {
    const auto name = [](const std::string &digest) { return digest.empty() ? std::string("none") : digest; };
    status = differentRun(reader->path(), "digest of the tokenizer", name(before.tokenizer), name(run.tokenizer));
  }
  if (status.isOk() || options.allowChangedData) {
    if (!status.isOk())
      note(status.message() + "; the run continues, as --allow-changed-data says");
    return {};
  }
  return std::move(status)
      .withNote(otherRunNote)
      .withNote("--allow-changed-data continues with these data at the row that follows");
}

/// Checks that the opened checkpoint can be continued, and that it is this run's if it is in its folder.
Status RunCheckpoints::checkRun(const Ranks &ranks, bool isOwnFolder) {
  SLUICE_RETURN_IF_ERROR(checkModel(*reader, ranks.plan()));
  const TrainingState &before = reader->state();
  const auto differs = [&](std::string_view what, const std::string &expected, const std::string &got) {
    return differentRun(reader->path(), what, expected, got).withNote(otherRunNote);
  };
  const auto orderName = [](bool shuffled) { return std::string(shuffled ? "shuffled" : "sequential"); };
  const auto list = [](const std::vector<std::string> &texts) { return fmt::format("{}", fmt::join(texts, " ")); };
  if (isOwnFolder) {
    if (before.seed != run.seed)
      return differs("--seed", std::to_string(before.seed), std::to_string(run.seed));
    if (before.shuffled != run.shuffled)
      return differs("--order", orderName(before.shuffled), orderName(run.shuffled));
    if (before.overfit != run.overfit)
      return differs("--overfit-one-batch", before.overfit ? "on" : "off", run.overfit ? "on" : "off");
    if (before.entries != run.entries)
      return differs(areNamed(before.entries) && areNamed(run.entries) ? "--entries" : "entry points of the steps",
                     list(before.entries), list(run.entries));
    SLUICE_RETURN_IF_ERROR(checkData());
  }
  if (before.rowsPerStep != run.rowsPerStep)
    note(fmt::format("'{}' was written with {} rows in a step, and this plan has {}: the data continue at row {}",
                     reader->path(), before.rowsPerStep, run.rowsPerStep,
                     before.progress.rowsRead.empty() ? before.progress.step * run.rowsPerStep
                                                      : before.progress.rowsRead.front()));
  return Status::ok();
}

/// Renames checkpoints whose steps are written again.
static Status setAside(const std::vector<std::string> &damaged) {
  for (const std::string &path : damaged) {
    const std::string moved = path + std::string(damagedSuffix);
    std::error_code error;
    std::filesystem::remove_all(moved, error);
    SLUICE_RETURN_IF_ERROR(renamePath(path, moved));
  }
  return Status::ok();
}

/// Refuses a plan with a persistent buffer that a checkpoint would not have.
static Status checkComplete(const plan::PlanT &plan) {
  std::set<std::uint32_t> saved;
  for (const PlanTensor &tensor : planTensors(plan))
    saved.insert(tensor.buffer);
  for (std::uint32_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i]->entry == -1 && !saved.contains(i))
      return refusedError(fmt::format("buffer '{}' persists between steps and belongs to no parameter or variable, so "
                                      "that no checkpoint has it",
                                      plan.buffers[i]->name));
  return Status::ok();
}

Result<bool> RunCheckpoints::open(const Ranks &ranks) {
  const plan::PlanT &plan = ranks.plan();
  SLUICE_RETURN_IF_ERROR(checkComplete(plan));
  run.modelDigest = modelDigest(plan);
  run.planDigest = toHex(plan.digest);
  run.planName = plan.name;
  run.world = meshSize(plan);
  run.rowsPerStep = std::uint64_t(plan.batch) * plan.microbatches * groupSize(plan, plan.data_axes);

  Result<std::vector<std::string>> found = std::vector<std::string>();
  if (ranks.isRoot())
    found = candidates();
  SLUICE_RETURN_IF_ERROR(commonStatus(ranks, found.takeStatus()));
  // A path has any byte but this one.
  constexpr char separator = '\0';
  std::string text = ranks.isRoot() ? join(*found, std::string_view(&separator, 1)) : "";
  if (options.resume == "auto" && !options.folder.empty())
    SLUICE_RETURN_IF_ERROR(checkSteps(ranks));
  SLUICE_RETURN_IF_ERROR(ranks.share(0, text));
  untried.clear();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    untried.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  SLUICE_ASSIGN_OR_RETURN(const bool resumes, choose(ranks));
  if (!resumes)
    cleanUp(ranks);
  return resumes;
}

void RunCheckpoints::passOver(const std::string &path, Status why) {
  note("cannot continue from a damaged checkpoint: " + why.message());
  damaged.push_back(path);
  damage = std::move(why);
}

Result<bool> RunCheckpoints::choose(const Ranks &ranks) {
  while (!untried.empty()) {
    const std::string path = std::move(untried.back());
    untried.pop_back();
    bool isSame = true;
    Status opened = openCandidate(ranks, path, isSame);
    if (opened.isOk()) {
      SLUICE_RETURN_IF_ERROR(checkRun(ranks, options.resume == "auto"));
      return true;
    }
    if (options.resume != "auto" || !isSame || !opened.isDamage())
      return opened;
    passOver(path, std::move(opened));
  }
  if (!damaged.empty())
    return std::move(damage).withNote("no checkpoint of the folder is complete");
  return false;
}

Result<TrainProgress> RunCheckpoints::load(Ranks &ranks) {
  while (true) {
    Status loaded = commonStatus(ranks, loadTensors(ranks, *reader, isCopied));
    if (loaded.isOk())
      break;
    if (options.resume != "auto" || !loaded.isDamage())
      return loaded;
    passOver(reader->path(), std::move(loaded));
    SLUICE_RETURN_IF_ERROR(choose(ranks).takeStatus());
  }
  SLUICE_RETURN_IF_ERROR(commonStatus(ranks, ranks.isRoot() ? setAside(damaged) : Status::ok()));
  const TrainProgress progress = reader->state().progress;
  note(fmt::format("continuing after step {} of '{}'", progress.step, reader->path()));
  // A checkpoint of another folder is not one of this run.
  std::error_code error;
  if (std::filesystem::equivalent(reader->path(), stepPath(options.folder, progress.step), error))
    lastStep = progress.step;
  reader.reset();
  cleanUp(ranks);
  return progress;
}

/// Removes what the options do not keep.
Status RunCheckpoints::prune(bool damagedToo) const {
  SLUICE_RETURN_IF_ERROR(removeLeftovers(options.folder, damagedToo));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> steps, listSteps(options.folder));
  if (options.keep == 0 || steps.size() <= options.keep)
    return Status::ok();
  std::uint64_t best = 0;
  double lowest = INFINITY;
  for (std::uint64_t step : options.keepBest ? steps : std::vector<std::uint64_t>()) {
    // A damaged checkpoint is not the best, and does not keep the others.
    const Result<CheckpointReader> each = CheckpointReader::open(stepPath(options.folder, step));
    if (!each.isOk() && !each.status().isDamage())
      return each.status();
    if (const double loss = each.isOk() ? each->state().progress.evaluationLoss.value_or(INFINITY) : INFINITY;
        loss < lowest) {
      lowest = loss;
      best = step;
    }
  }
  for (std::size_t i = 0; i + options.keep < steps.size(); ++i)
    if (steps[i] != best)
      SLUICE_RETURN_IF_ERROR(removeCheckpoint(stepPath(options.folder, steps[i])));
  return Status::ok();
}

RunCheckpoints::Written RunCheckpoints::write(const Ranks &ranks, const TrainingState &state) const {
  try {
    Status saved = saveCheckpoint(ranks, options.folder, state, cancelled);
    return {saved, saved.isOk() && ranks.isRoot() ? prune(/*damagedToo=*/true) : Status::ok()};
  } catch (const std::bad_alloc &) {
    // Other processes wait for the files of this one: it ends, which they notice.
    if (!ranks.hasAllRanks())
      throw;
    return {failedError("there is not enough memory to write the checkpoint"), {}};
  }
}

void RunCheckpoints::cleanUp(const Ranks &ranks) const {
  // Without a lock, another run may be writing a partial folder. Damaged ones stay until the next complete checkpoint.
  const bool isOwn = ranks.isRoot() && lock.isOpen();
  if (const Status pruned = isOwn ? prune(/*damagedToo=*/false) : Status(); !pruned.isOk())
    note("an earlier checkpoint could not be removed: " + pruned.message());
}

/// Waits for the write, if there is one, and says so after `silence`; counts its failure. That of the final checkpoint
/// is an error, and so is that of a rank, for which a slow disk does not wait.
Status RunCheckpoints::collect(const Ranks &ranks, std::chrono::milliseconds silence, bool isFinal) {
  if (!writing.valid())
    return Status::ok();
  constexpr std::chrono::milliseconds interval(100);
  std::chrono::milliseconds waited(0);
  bool isSaid = false;
  for (auto wait = std::min(silence, interval); writing.wait_for(wait) == std::future_status::timeout;
       wait = interval) {
    // A slow disk is no failure of this process.
    SLUICE_RETURN_IF_ERROR(ranks.noteWork());
    waited += wait;
    if (!isSaid && waited >= silence)
      note(fmt::format("waiting until the checkpoint of step {} is written", writtenStep));
    isSaid = isSaid || waited >= silence;
  }
  auto [saved, pruned] = writing.get();
  if (saved.isOk()) {
    failed = 0;
    lastStep = writtenStep;
    if (!pruned.isOk())
      note("an earlier checkpoint could not be removed: " + pruned.message());
    return Status::ok();
  }
  if (++failed >= options.maxFailedSaves || isFinal)
    return std::move(saved).withNote(
        fmt::format("the checkpoint of step {} could not be written, and {} before it", writtenStep, failed - 1));
  note(fmt::format("the checkpoint of step {} could not be written: {}", writtenStep, saved.message()));
  return Status::ok();
}

Status RunCheckpoints::save(const Ranks &ranks, const TrainProgress &progress, bool isFinal) {
  if (options.folder.empty())
    return Status::ok();
  SLUICE_RETURN_IF_ERROR(collect(ranks, isFinal ? endSilence : std::chrono::milliseconds(0), /*isFinal=*/false));
  if (progress.step == lastStep)
    return Status::ok();
  SLUICE_RETURN_IF_ERROR(commonStatus(ranks, ranks.copyState()));
  TrainingState state = run;
  state.progress = progress;
  writtenStep = progress.step;
  // If no thread can be started, collect() writes.
  writing = std::async(std::launch::async | std::launch::deferred,
                       [this, &ranks, state = std::move(state)] { return write(ranks, state); });
  return isFinal ? collect(ranks, endSilence, /*isFinal=*/true) : Status::ok();
}

} // namespace sluice
