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

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>

using namespace sluice;
namespace fs = std::filesystem;

namespace {

/// Wall-clock and processor seconds of the work.
struct Seconds {
  double wall = 0, processor = 0;
};

template <typename Work> Result<Seconds> measure(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t before = std::clock();
  SLUICE_RETURN_IF_ERROR(work());
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
                 static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC};
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
  double copy = 0, save = 0, saveProcessor = 0, write = 0, load = 0, loadProcessor = 0, read = 0;
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
  round.save = save.wall - copy.wall;
  round.saveProcessor = save.processor - copy.processor;
  bytes = 0;
  for (const auto &file : fs::directory_iterator(stepPath(folder, 1)))
    bytes += file.file_size();
  const std::string copied = fmt::format("'{}/dd'", folder);
  SLUICE_ASSIGN_OR_RETURN(const Seconds write, dd(fmt::format("if=/dev/zero of={} count={} conv=fsync", copied,
                                                              (bytes + (1 << 20) - 1) >> 20)));
  round.write = write.wall;
  for (const auto &file : fs::directory_iterator(stepPath(folder, 1)))
    dropPages(file.path().string());
  RunCheckpoints next(options, {});
  SLUICE_ASSIGN_OR_RETURN(const Seconds load, measure([&]() -> Status {
                            SLUICE_RETURN_IF_ERROR(next.open(ranks).status());
                            return next.load(ranks).status();
                          }));
  round.load = load.wall;
  round.loadProcessor = load.processor;
  dropPages(folder + "/dd");
  SLUICE_ASSIGN_OR_RETURN(const Seconds read, dd(fmt::format("if={} of=/dev/null", copied)));
  round.read = read.wall;
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
    fmt::print(
        "{:.2f} GB: copy {:.2f} s; save {:.2f} s ({:.2f} s of processors), dd with fsync {:.2f} s, ratio {:.2f}; "
        "load {:.2f} s ({:.2f} s of processors), dd {:.2f} s, ratio {:.2f}\n",
        static_cast<double>(bytes) / 1e9, round.copy, round.save, round.saveProcessor, round.write,
        round.write / round.save, round.load, round.loadProcessor, round.read, round.read / round.load);
    std::fflush(stdout);
    saves.push_back(round.write / round.save);
    loads.push_back(round.read / round.load);
    loadsToWrites.push_back(round.write / round.load);
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
