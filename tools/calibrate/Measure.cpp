//===- Measure.cpp - measurements of this machine -----------------------------------------------===//
#include "tools/calibrate/Measure.h"

#include "runtime/base/Text.h"
#include "runtime/device/Device.h"

#include <algorithm>
#include <barrier>
#include <bit>
#include <cctype>
#include <chrono>
#include <ctime>
#include <fstream>
#include <thread>

namespace sluice {
namespace {

double clockSeconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Runs `work` on `count` threads that begin together; the first failure.
Status onThreads(int count, const std::function<Status(int)> &work) {
  std::vector<Status> results(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] { results[static_cast<std::size_t>(rank)] = work(rank); });
  for (std::thread &thread : threads)
    thread.join();
  for (Status &result : results)
    SLUICE_RETURN_IF_ERROR(std::move(result));
  return {};
}

/// Memory that fills a core's share of the caches.
class Displacement {
public:
  explicit Displacement(std::size_t bytes) : memory(bytes) {}
  /// Writes to each cache line, so that whatever else was there has to be read again.
  void run() {
    for (std::size_t at = 0; at < memory.size(); at += 64)
      ++memory[at];
  }

private:
  std::vector<unsigned char> memory;
};

/// Adds its start to a list.
class StampCommand : public Command {
public:
  explicit StampCommand(std::vector<double> &starts) : starts(starts) {}
  Status execute(void *, std::uint32_t) override {
    starts.push_back(clockSeconds(CLOCK_MONOTONIC));
    return {};
  }
  std::uint32_t instruction() const override { return 0; }

private:
  std::vector<double> &starts;
};

} // namespace

std::size_t cacheShare(const std::string &folder) {
  double share = 0;
  for (int index = 0;; ++index) {
    const std::string cache = concat(folder, "/index", index);
    std::ifstream size(cache + "/size"), map(cache + "/shared_cpu_map");
    double kibibytes = 0;
    if (!(size >> kibibytes))
      break;
    int cores = 0;
    // Hexadecimal digits of a set of cores.
    for (char digit; map >> digit;)
      if (std::isxdigit(static_cast<unsigned char>(digit)))
        cores += std::popcount(static_cast<unsigned>(std::stoi(std::string(1, digit), nullptr, 16)));
    share = std::max(share, kibibytes * 1024 / std::max(1, cores));
  }
  return share > 0 ? std::min(static_cast<std::size_t>(share), std::size_t(16) << 20) : std::size_t(8) << 20;
}

Result<KernelTime> measureKernel(const KernelCase &kernel, int threads, int ranks, const MeasureOptions &options) {
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  KernelTime total;
  for (const auto &form : kernel.forms) {
    std::vector<double> medians(static_cast<std::size_t>(ranks));
    double bytes = 0;
    std::barrier begin(ranks);
    SLUICE_RETURN_IF_ERROR(onThreads(ranks, [&](int rank) -> Status {
      Result<std::unique_ptr<PreparedCase>> prepared = form(threads);
      Status status = prepared.isOk() ? (*prepared)->run() : prepared.status();
      Displacement displacement(options.displacedBytes);
      begin.arrive_and_wait();
      SLUICE_RETURN_IF_ERROR(std::move(status));
      std::vector<double> seconds;
      // All ranks run until the last one has enough runs, so that each has the others next to it.
      const double end = clockSeconds(CLOCK_MONOTONIC) + options.seconds / double(kernel.forms.size());
      while (seconds.size() < 3 || clockSeconds(CLOCK_MONOTONIC) < end) {
        displacement.run();
        const double start = clockSeconds(clock);
        SLUICE_RETURN_IF_ERROR((*prepared)->run());
        seconds.push_back(clockSeconds(clock) - start);
      }
      medians[static_cast<std::size_t>(rank)] = median(std::move(seconds));
      if (rank == 0)
        bytes = kernel.bytes > 0 ? kernel.bytes : (*prepared)->bytes();
      return {};
    }));
    double sum = 0;
    for (double each : medians)
      sum += each;
    total.seconds += sum / double(ranks) / double(kernel.forms.size());
    total.bytes += bytes / double(kernel.forms.size());
  }
  return total;
}

Result<StreamTimes> measureStreams(const MeasureOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, createCpuDevice({}));
  SLUICE_ASSIGN_OR_RETURN(const StreamId first, device->createStream("first", 0));
  SLUICE_ASSIGN_OR_RETURN(const StreamId second, device->createStream("second", 0));
  SLUICE_RETURN_IF_ERROR(device->createEvents(2));
  std::vector<double> starts, gaps, waits;
  StampCommand stamp(starts);
  const auto rounds = static_cast<int>(std::max(50.0, options.seconds / 1e-5));
  starts.reserve(static_cast<std::size_t>(rounds) * 2);
  for (int i = 0; i < rounds; ++i)
    SLUICE_RETURN_IF_ERROR(device->enqueue(first, stamp, 0));
  SLUICE_RETURN_IF_ERROR(device->synchronize());
  for (std::size_t i = 1; i < starts.size(); ++i)
    gaps.push_back(starts[i] - starts[i - 1]);
  starts.clear();
  // Two streams in turn: each command waits for the one before, so no two write at the same time.
  for (int i = 0; i < rounds; ++i) {
    const StreamId stream = i % 2 == 0 ? first : second;
    if (i > 0)
      SLUICE_RETURN_IF_ERROR(device->wait(stream, static_cast<EventId>((i + 1) % 2)));
    SLUICE_RETURN_IF_ERROR(device->enqueue(stream, stamp, 0));
    SLUICE_RETURN_IF_ERROR(device->record(stream, static_cast<EventId>(i % 2)));
  }
  SLUICE_RETURN_IF_ERROR(device->synchronize());
  for (std::size_t i = 1; i < starts.size(); ++i)
    waits.push_back(starts[i] - starts[i - 1]);
  return StreamTimes{median(std::move(gaps)), median(std::move(waits))};
}

Result<CollectiveTimes> measureCollective(CallKind kind, int ranks, const MeasureOptions &options) {
  const std::shared_ptr<World> world = createLocalWorld(ranks);
  // Elements of the full tensor: of a call that moves little, and of one that exceeds the caches of a core.
  const std::uint64_t small = static_cast<std::uint64_t>(ranks) * 16, large = std::uint64_t(1) << 20;
  std::vector<double> latencies(static_cast<std::size_t>(ranks)), perByte(static_cast<std::size_t>(ranks));
  SLUICE_RETURN_IF_ERROR(onThreads(ranks, [&](int rank) -> Status {
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator, world->createForAll(rank, "calibrate"));
    std::vector<float> full(large, 1), chunk(large, 1);
    const auto call = [&](std::uint64_t elements) {
      const std::uint64_t count = kind == CallKind::allReduce ? elements : elements / static_cast<std::uint64_t>(ranks);
      const SegmentPointers segment = kind == CallKind::reduceScatter
                                          ? SegmentPointers{full.data(), chunk.data(), count}
                                          : SegmentPointers{chunk.data(), full.data(), count};
      const bool reduces = kind == CallKind::reduceScatter || kind == CallKind::allReduce;
      const Reduction op = reduces ? Reduction::sum : Reduction::none;
      return communicator->run({kind, DType::f32, op, 1, 0, std::span(&segment, 1), {0, "calibrate"}}, nullptr);
    };
    Displacement displacement(options.displacedBytes);
    // The same number of calls on all ranks.
    const auto times = [&](std::uint64_t elements, int calls, clockid_t clock) -> Result<double> {
      std::vector<double> seconds;
      for (int i = 0; i < calls; ++i) {
        if (elements == large)
          displacement.run();
        const double start = clockSeconds(clock);
        SLUICE_RETURN_IF_ERROR(call(elements));
        seconds.push_back(clockSeconds(clock) - start);
      }
      return median(std::move(seconds));
    };
    const int calls = std::max(10, static_cast<int>(options.seconds / 1e-4));
    SLUICE_ASSIGN_OR_RETURN(latencies[static_cast<std::size_t>(rank)], times(small, calls, CLOCK_MONOTONIC));
    SLUICE_ASSIGN_OR_RETURN(const double idle, times(small, calls, CLOCK_THREAD_CPUTIME_ID));
    SLUICE_ASSIGN_OR_RETURN(const double busy, times(large, std::max(5, calls / 10), CLOCK_THREAD_CPUTIME_ID));
    perByte[static_cast<std::size_t>(rank)] = std::max(busy - idle, 1e-9) / (double(large) * sizeof(float));
    return {};
  }));
  double sum = 0;
  for (double each : perByte)
    sum += each;
  return CollectiveTimes{median(latencies), sum / double(ranks)};
}

} // namespace sluice
