//===- Exposure.cpp - the collectives that the kernels of a step wait for -------------------------===//
#include "passes/solver/simulate/Exposure.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstdio>

namespace sluice {
namespace {

std::string milliseconds(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
  return text;
}

class Describer {
public:
  Describer(const plan::PlanT &plan, const SimulatedStep &step, const std::vector<IssuedInstruction> &issued,
            const std::vector<SimulatedRun> &runs, PredictedStep &result)
      : plan(plan), step(step), issued(issued), runs(runs), result(result), position(step.tasks.size()),
        streamTasks(step.streams), exposed(step.tasks.size()), waiting(step.tasks.size(), -1) {
    for (std::size_t t = 0; t < step.tasks.size(); ++t) {
      position[t] = streamTasks[step.tasks[t].stream].size();
      streamTasks[step.tasks[t].stream].push_back(t);
    }
  }

  void describe() {
    findMainStream();
    const std::size_t run = runs.size() - 1;
    const double begin = runs[run - 1].finish;
    for (std::size_t t : streamTasks[result.mainStream]) {
      if (isWait(t)) {
        const double from = std::max(runs[run].ready[t], begin), to = runs[run].begin[t];
        const double before = total;
        attribute(run, t, from, to, t);
        result.otherWaits += std::max(0.0, to - from) - (total - before);
        continue;
      }
      const double seconds = runs[run].end[t] - runs[run].begin[t];
      if (isCollective(t)) {
        expose(t, seconds, t);
      } else {
        result.work += seconds;
      }
    }
    for (std::size_t t = 0; t < step.tasks.size(); ++t) {
      if (isWait(t))
        continue;
      if (isCollective(t))
        addCollective(run, t);
      result.instructions.push_back({issued[t], runs[run].begin[t] - begin, runs[run].end[t] - begin,
                                     step.tasks[t].latency + step.tasks[t].work});
    }
    result.exposed = total;
  }

private:
  bool isWait(std::size_t task) const { return issued[task].instruction->operation.type == plan::Operation::Wait; }
  bool isCollective(std::size_t task) const {
    return issued[task].instruction->operation.type == plan::Operation::Collective;
  }

  void findMainStream() {
    std::vector<double> work(step.streams);
    for (std::size_t t = 0; t < step.tasks.size(); ++t)
      if (issued[t].instruction->operation.type == plan::Operation::Launch)
        work[step.tasks[t].stream] += step.tasks[t].work + step.tasks[t].latency;
    result.mainStream = static_cast<std::uint32_t>(std::ranges::max_element(work) - work.begin());
  }

  void expose(std::size_t task, double seconds, std::size_t waits) {
    // A collective of an earlier run is counted with that of the same position in this one.
    exposed[task] += seconds;
    total += seconds;
    if (waiting[task] < 0)
      waiting[task] = static_cast<std::int64_t>(waits);
  }

  /// Attributes the time [from, to] in which task `wait` of a run waits to the collectives that run on the stream it
  /// waits for, and on those that these wait for.
  void attribute(std::size_t run, std::size_t wait, double from, double to, std::size_t waits, int depth = 0) {
    const SimulatedTask &task = step.tasks[wait];
    if (to <= from || task.after < 0 || depth > 8 || (task.carried && run == 0))
      return;
    run -= task.carried;
    auto t = static_cast<std::size_t>(task.after);
    if (step.tasks[t].stream == result.mainStream)
      return;
    for (;;) {
      const double begin = runs[run].begin[t], end = runs[run].end[t];
      if (end <= from)
        return;
      if (isWait(t))
        attribute(run, t, std::max(from, runs[run].ready[t]), std::min(to, begin), waits, depth + 1);
      else if (isCollective(t))
        if (const double seconds = std::min(to, end) - std::max(from, begin); seconds > 0)
          expose(t, seconds, waits);
      const std::vector<std::size_t> &tasks = streamTasks[step.tasks[t].stream];
      if (position[t] > 0) {
        t = tasks[position[t] - 1];
      } else if (run > 0) {
        t = tasks.back();
        --run;
      } else {
        return;
      }
    }
  }

  std::string name(std::size_t task) const {
    const plan::InstructionT &instruction = *issued[task].instruction;
    const std::string unit = instruction.unit >= 0 ? " of " + plan.units[instruction.unit]->name : "";
    return concat(operationName(plan, instruction), unit, " (", issued[task].position, ")");
  }

  /// The next work of the stream after a wait.
  std::size_t workAfter(std::size_t wait) const {
    const std::vector<std::size_t> &tasks = streamTasks[step.tasks[wait].stream];
    for (std::size_t p = position[wait]; p < tasks.size(); ++p)
      if (!isWait(tasks[p]))
        return tasks[p];
    return wait;
  }

  /// The work that the task waits for: the last one of its stream before the event.
  std::string awaited(std::size_t wait) const {
    const std::int64_t after = step.tasks[wait].after;
    if (after < 0)
      return "";
    const std::vector<std::size_t> &tasks = streamTasks[step.tasks[static_cast<std::size_t>(after)].stream];
    for (std::size_t p = position[static_cast<std::size_t>(after)] + 1; p-- > 0;)
      if (!isWait(tasks[p]))
        return name(tasks[p]);
    return "";
  }

  std::string reason(std::size_t run, std::size_t task) const {
    const auto waits = static_cast<std::size_t>(waiting[task]);
    if (waits == task)
      return "it runs on the stream of the kernels";
    std::string text = name(workAfter(waits)) + " waits for it";
    // The task before it on its stream, or the event that it waited for, whichever was later.
    const std::vector<std::size_t> &tasks = streamTasks[step.tasks[task].stream];
    double latest = -1;
    std::string cause;
    for (std::size_t p = position[task]; p-- > 0;) {
      const std::size_t before = tasks[p];
      const bool waited = isWait(before);
      const double at = waited ? runs[run].begin[before] : runs[run].end[before];
      if ((!waited || runs[run].begin[before] > runs[run].ready[before]) && at > latest) {
        latest = at;
        cause = waited ? awaited(before) : name(before) + " on its stream";
      }
      if (!waited)
        break;
    }
    const double alone = runs[run].end[task] - runs[run].begin[task];
    const double hidden = std::max(0.0, alone - exposed[task]);
    return text + "; it starts " + (cause.empty() ? "with the step" : "after " + cause) + ", and " +
           milliseconds(hidden) + " of its " + milliseconds(alone) + " are hidden";
  }

  void addCollective(std::size_t run, std::size_t task) {
    PredictedCollective collective;
    collective.instruction = result.instructions.size();
    collective.seconds = runs[run].end[task] - runs[run].begin[task];
    collective.exposed = exposed[task];
    if (exposed[task] > 0)
      collective.because = reason(run, task);
    result.collectives.push_back(std::move(collective));
  }

  const plan::PlanT &plan;
  const SimulatedStep &step;
  const std::vector<IssuedInstruction> &issued;
  const std::vector<SimulatedRun> &runs;
  PredictedStep &result;
  /// Of each task on its stream.
  std::vector<std::size_t> position;
  std::vector<std::vector<std::size_t>> streamTasks;
  /// Seconds, and the first task of the main stream that waits; -1: none does.
  std::vector<double> exposed;
  std::vector<std::int64_t> waiting;
  double total = 0;
};

} // namespace

void describeRun(const plan::PlanT &plan, const SimulatedStep &step, const std::vector<IssuedInstruction> &issued,
                 const std::vector<SimulatedRun> &runs, PredictedStep &result) {
  Describer(plan, step, issued, runs, result).describe();
}

} // namespace sluice
