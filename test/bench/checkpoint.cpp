//===- checkpoint.cpp - the speed of saves and loads, next to dd ---------------===//
//
// In each round a checkpoint of the plan's initial state is saved, and loaded from the disk, alternately with `dd` of
// as many bytes: with fsync for the save, without cached pages for the load. Prints times and the ratios of the
// throughputs, the processor time of the save, which a step loses at most, and the medians of the ratios.
//
//   bench-checkpoint PLAN FOLDER [ROUNDS]        FOLDER: new, on the disk to measure; it is removed
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/RunCheckpoints.h"
#include "runtime/train/TrainSession.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/resource.h>

using namespace sluice;
namespace fs = std::filesystem;

namespace {

/// Wall-clock and processor seconds of the work.
struct Seconds {
  double wall = 0, processor = 0;
};

/// Of this process and of its children that have ended.
double processorSeconds() {
  double seconds = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    for (const timeval &time : {used.ru_utime, used.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return seconds;
}

template <typename Work> Result<Seconds> measure(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  const double before = processorSeconds();
  SLUICE_RETURN_IF_ERROR(work());
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
                 processorSeconds() - before};
}

/// The pages of the file are read from the disk again.
void dropPages(const std::string &path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  (void)::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

Result<Seconds> dd(const std::string &arguments) {
  return measure([&] {
    return std::system(("dd bs=1M status=none " + arguments).c_str()) == 0 ? Status::ok() : failedError("dd failed");
  });
}

struct Round {
  double copy = 0;
  Seconds save, write, load, read;
};

Result<Round> measureRound(Ranks &ranks, const std::string &folder, std::uint64_t &bytes) {
  CheckpointOptions options;
  options.folder = folder;
  Round round;
  SLUICE_ASSIGN_OR_RETURN(const Seconds copy, measure([&] { return ranks.copyState(); }));
  round.copy = copy.wall;
  std::optional<RunCheckpoints> run(std::in_place, options, TrainOptions());
  SLUICE_RETURN_IF_ERROR(run->open(ranks).status());
  TrainProgress progress;
  progress.step = 1;
  SLUICE_ASSIGN_OR_RETURN(const Seconds save, measure([&] { return run->save(ranks, progress, /*isFinal=*/true); }));
  // Its lock of the folder ends.
  run.reset();
  // It copies once more.
  round.save = {save.wall - copy.wall, save.processor - copy.processor};
  bytes = 0;
  for (const auto &file : fs::directory_iterator(stepPath(folder, 1)))
    bytes += file.file_size();
  const std::string copied = fmt::format("'{}/dd'", folder);
  SLUICE_ASSIGN_OR_RETURN(
      round.write, dd(fmt::format("if=/dev/zero of={} count={} conv=fsync", copied, (bytes + (1 << 20) - 1) >> 20)));
  for (const auto &file : fs::directory_iterator(stepPath(folder, 1)))
    dropPages(file.path().string());
  RunCheckpoints next(options, {});
  SLUICE_ASSIGN_OR_RETURN(round.load, measure([&]() -> Status {
                            SLUICE_RETURN_IF_ERROR(next.open(ranks).status());
                            return next.load(ranks).status();
                          }));
  dropPages(folder + "/dd");
  SLUICE_ASSIGN_OR_RETURN(round.read, dd(fmt::format("if={} of=/dev/null", copied)));
  fs::remove_all(folder);
  return round;
}

/// "median 0.92, least 0.85".
std::string summary(std::vector<double> ratios) {
  std::ranges::sort(ratios);
  return fmt::format("median {:.2f}, least {:.2f}", ratios[ratios.size() / 2], ratios.front());
}

Status run(const std::string &plan, const std::string &folder, int rounds) {
  if (fs::exists(folder))
    return inputError(fmt::format("'{}' exists already", folder));
  RanksOptions options;
  options.entries = {"init"};
  options.writesCheckpoints = true;
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Ranks> ranks, openRanks(plan, options));
  SLUICE_RETURN_IF_ERROR(initialize(*ranks, 0, "").status());
  std::vector<double> saves, loads, loadsToWrites;
  for (int i = 0; i < rounds; ++i) {
    std::uint64_t bytes = 0;
    SLUICE_ASSIGN_OR_RETURN(const Round round, measureRound(*ranks, folder, bytes));
    const auto text = [](const Seconds &seconds) {
      return fmt::format("{:.2f} s ({:.2f} s of processors)", seconds.wall, seconds.processor);
    };
    fmt::print("{:.2f} GB: copy {:.2f} s; save {}, dd with fsync {}, ratio {:.2f}; load {}, dd {}, ratio {:.2f}\n",
               static_cast<double>(bytes) / 1e9, round.copy, text(round.save), text(round.write),
               round.write.wall / round.save.wall, text(round.load), text(round.read),
               round.read.wall / round.load.wall);
    std::fflush(stdout);
    saves.push_back(round.write.wall / round.save.wall);
    loads.push_back(round.read.wall / round.load.wall);
    loadsToWrites.push_back(round.write.wall / round.load.wall);
  }
  fmt::print("dd with fsync / save: {}\ndd / load:            {}\ndd with fsync / load: {}\n", summary(saves),
             summary(loads), summary(loadsToWrites));
  return Status::ok();
}

} // namespace

int main(int argc, char **argv) {
  const int rounds = argc == 4 ? std::atoi(argv[3]) : 5;
  if (argc < 3 || argc > 4 || rounds < 1) {
    fmt::print(stderr, "error: usage: bench-checkpoint PLAN FOLDER [ROUNDS]\n");
    return 2;
  }
  const Status status = run(argv[1], argv[2], rounds);
  if (!status.isOk())
    fmt::print(stderr, "error: {}\n", status.message());
  return static_cast<int>(status.code());
}
