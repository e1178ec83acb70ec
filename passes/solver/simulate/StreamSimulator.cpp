//===- StreamSimulator.cpp - when the work of streams runs ---------------------------------------===//
#include "passes/solver/simulate/StreamSimulator.h"

#include <algorithm>
#include <limits>

namespace sluice {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

class Simulator {
public:
  Simulator(const SimulatedStep &step, std::uint32_t count) : step(step), streams(step.streams), release(count, never) {
    for (std::uint32_t t = 0; t < step.tasks.size(); ++t)
      streams[step.tasks[t].stream].tasks.push_back(t);
    runs.resize(count);
    for (SimulatedRun &run : runs)
      run.ready = run.begin = run.end = std::vector<double>(step.tasks.size(), never);
    portsLeft.assign(count, step.portTasks.size());
    isPort.resize(step.tasks.size());
    for (std::uint32_t task : step.portTasks)
      isPort[task] = true;
    release[0] = 0;
    if (step.portTasks.empty())
      std::ranges::fill(release, 0);
  }

  Result<std::vector<SimulatedRun>> simulate() {
    for (;;) {
      while (startTasks())
        ;
      const double rate = workRate();
      double next = never;
      for (const Stream &stream : streams)
        if (stream.isRunning)
          next = std::min(next, stream.latencyEnd > now ? stream.latencyEnd : now + stream.work / rate);
      if (next == never)
        break;
      advance(next, rate);
    }
    for (const Stream &stream : streams)
      if (stream.run < runs.size() && !stream.tasks.empty())
        return internalError("simulated streams wait for each other");
    double last = 0;
    for (SimulatedRun &run : runs) {
      for (double end : run.end)
        last = std::max(last, end);
      run.finish = last;
    }
    return std::move(runs);
  }

private:
  struct Stream {
    std::vector<std::uint32_t> tasks;
    std::size_t run = 0, next = 0;
    bool isRunning = false;
    double latencyEnd = 0, work = 0;
  };

  /// Starts the next task of each idle stream that waits for nothing. True if one of them has also ended.
  bool startTasks() {
    bool hasEnded = false;
    for (Stream &stream : streams) {
      while (!stream.isRunning && !stream.tasks.empty() && stream.run < runs.size()) {
        const std::uint32_t index = stream.tasks[stream.next];
        const SimulatedTask &task = step.tasks[index];
        SimulatedRun &run = runs[stream.run];
        if (release[stream.run] > now)
          break;
        double &ready = run.ready[index];
        ready = std::min(ready, now);
        if (task.after >= 0 && (!task.carried || stream.run > 0) &&
            runs[stream.run - task.carried].end[static_cast<std::size_t>(task.after)] > now)
          break;
        run.begin[index] = now;
        stream.latencyEnd = now + task.latency + (now > ready ? step.waitLatency : 0);
        stream.work = task.work;
        stream.isRunning = true;
        if (stream.latencyEnd > now || stream.work > 0)
          break;
        end(stream);
        hasEnded = true;
      }
    }
    return hasEnded;
  }

  void end(Stream &stream) {
    const std::uint32_t index = stream.tasks[stream.next];
    runs[stream.run].end[index] = now;
    if (isPort[index] && --portsLeft[stream.run] == 0 && stream.run + 1 < runs.size())
      release[stream.run + 1] = now;
    stream.isRunning = false;
    if (++stream.next == stream.tasks.size()) {
      stream.next = 0;
      ++stream.run;
    }
  }

  /// Seconds of work that a task does in a second.
  double workRate() const {
    if (step.cores <= 0)
      return 1;
    double threads = 0;
    for (const Stream &stream : streams)
      if (stream.isRunning && stream.latencyEnd <= now)
        threads += step.tasks[stream.tasks[stream.next]].threads;
    return threads * step.ranks > step.cores ? step.cores / (threads * step.ranks) : 1;
  }

  void advance(double to, double rate) {
    const double done = (to - now) * rate;
    std::vector<Stream *> ended;
    for (Stream &stream : streams) {
      if (!stream.isRunning)
        continue;
      if (stream.latencyEnd > now) {
        if (stream.latencyEnd <= to && stream.work <= 0)
          ended.push_back(&stream);
        continue;
      }
      // The task whose end is `to` ends there despite rounding.
      const bool isLast = now + stream.work / rate <= to;
      stream.work = isLast ? 0 : stream.work - done;
      if (isLast)
        ended.push_back(&stream);
    }
    now = to;
    for (Stream *stream : ended)
      end(*stream);
  }

  const SimulatedStep &step;
  std::vector<Stream> streams;
  std::vector<SimulatedRun> runs;
  std::vector<double> release;
  std::vector<std::size_t> portsLeft;
  std::vector<bool> isPort;
  double now = 0;
};

} // namespace

Result<std::vector<SimulatedRun>> simulateRuns(const SimulatedStep &step, std::uint32_t runs) {
  return Simulator(step, runs).simulate();
}

} // namespace sluice
