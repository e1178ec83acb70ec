//===- Prediction.cpp - predicted time of the steps of a plan -------------------------------------===//
#include "passes/solver/simulate/Prediction.h"

#include "passes/solver/simulate/Exposure.h"
#include "runtime/base/Text.h"
#include "runtime/plan/EntryShape.h"
#include "runtime/plan/Issue.h"
#include "runtime/plan/Profile.h"
#include "runtime/report/Schedule.h"

#include <algorithm>
#include <set>

namespace sluice {
namespace {

/// Runs before the one that is the prediction: in the first one no work of a previous run is waited for.
constexpr std::uint32_t earlierRuns = 2;

Status checkCosts(const plan::PlanT &plan, const plan::EntryT &entry) {
  bool hasLaunch = false, hasCost = false;
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
    if (const plan::LaunchT *launch = instruction.operation.AsLaunch()) {
      hasLaunch = true;
      hasCost = hasCost || launch->flops > 0 || launch->bytes > 0;
    }
  });
  if (!hasLaunch || hasCost)
    return {};
  return refusedError("entry point '" + entry.name + "' of plan '" + plan.name +
                      "' has no cost data: its launches have " + "neither FLOPs nor bytes")
      .withNote("compile the plan again: sluice-compile writes the cost of each launch");
}

Status checkRanks(const plan::PlanT &plan, const Machine &machine) {
  const MachineTimes &times = machine.times;
  if (!times.hosts || !times.hostDevices)
    return {};
  const std::uint64_t devices = std::uint64_t(*times.hosts) * *times.hostDevices;
  if (meshSize(plan) <= devices)
    return {};
  return inputError(concat("plan '", plan.name, "' has ", meshSize(plan), " ranks, but machine '", machine.name,
                           "' has ", devices, " devices: ", *times.hosts, " hosts of ", *times.hostDevices))
      .withNote("set 'count' in [hosts] of a file with this one as 'base', or remove it: then there are as many hosts "
                "as the ranks need");
}

/// The tasks of one run, and the instruction of each.
class TaskWriter {
public:
  TaskWriter(const plan::PlanT &plan, const plan::EntryT &entry, CostModel &costs) : plan(plan), costs(costs) {
    step.streams = static_cast<std::uint32_t>(plan.streams.size());
    last.assign(plan.streams.size(), -1);
    events.resize(entry.events);
    std::set<std::uint32_t> ports;
    for (const auto *list : {&entry.inputs, &entry.outputs})
      for (const auto &port : *list)
        ports.insert(port->view->buffer);
    std::vector<std::int64_t> lastPort(plan.streams.size(), -1);
    // The cost of an instruction is the same in each repetition.
    std::vector<std::optional<InstructionCost>> known(instructionCount(entry));
    forEachIssued(entry, [&](const IssuedInstruction &issued) {
      const plan::InstructionT &instruction = *issued.instruction;
      if (const plan::RecordT *record = instruction.operation.AsRecord())
        events[record->event] = {instruction.stream, last[instruction.stream]};
      else if (const plan::WaitT *wait = instruction.operation.AsWait())
        addWait(issued, *wait);
      else if (isScheduled(plan, instruction)) {
        std::optional<InstructionCost> &cost = known[issued.index];
        cost = cost ? cost : costs.cost(instruction);
        add(issued, {instruction.stream, cost->latency, cost->work, cost->threads, -1, false});
        forEachView(instruction, [&](const plan::ViewT &view, bool) {
          if (ports.contains(view.buffer))
            lastPort[instruction.stream] = last[instruction.stream];
        });
      }
    });
    for (const auto &[task, event] : carried)
      step.tasks[task].after = events[event].task;
    for (const auto &[task, stream] : afterPreviousRun)
      step.tasks[task].after = last[stream];
    for (std::int64_t task : lastPort)
      if (task >= 0)
        step.portTasks.push_back(static_cast<std::uint32_t>(task));
  }

  std::uint64_t waits() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        issued, [](const auto &each) { return each.instruction->operation.type == plan::Operation::Wait; }));
  }

  SimulatedStep step;
  /// Parallel to step.tasks.
  std::vector<IssuedInstruction> issued;

private:
  struct Recorded {
    std::uint32_t stream = 0;
    std::int64_t task = -1;
  };

  void add(const IssuedInstruction &instruction, const SimulatedTask &task) {
    last[task.stream] = static_cast<std::int64_t>(step.tasks.size());
    step.tasks.push_back(task);
    issued.push_back(instruction);
  }

  void addWait(const IssuedInstruction &instruction, const plan::WaitT &wait) {
    const Recorded &event = events[wait.event];
    const std::uint32_t stream = instruction.instruction->stream;
    // A carried wait refers to the last record of the previous run, which is not known yet. A record before all work of
    // its stream follows the stream's work of the previous run.
    if (wait.carried)
      carried.push_back({step.tasks.size(), wait.event});
    else if (event.stream == stream)
      return;
    else if (event.task < 0)
      afterPreviousRun.push_back({step.tasks.size(), event.stream});
    const bool isOfPreviousRun = wait.carried || event.task < 0;
    add(instruction, {stream, 0, 0, 1, isOfPreviousRun ? -1 : event.task, isOfPreviousRun});
  }

  const plan::PlanT &plan;
  CostModel &costs;
  std::vector<std::int64_t> last;
  std::vector<Recorded> events;
  /// Tasks that wait for the previous run, with an event and with a stream.
  std::vector<std::pair<std::size_t, std::uint32_t>> carried, afterPreviousRun;
};

} // namespace

std::optional<double> PredictedStep::tokensPerSecond() const {
  return isComplete && tokens > 0 && seconds > 0 ? std::optional(static_cast<double>(tokens) / seconds) : std::nullopt;
}

std::optional<double> PredictedStep::mfu() const {
  return isComplete && peakFlops && seconds > 0 ? std::optional(static_cast<double>(flops) / seconds / *peakFlops)
                                                : std::nullopt;
}

Result<PredictedStep> predictStep(const plan::PlanT &plan, const Machine &machine, std::uint32_t e) {
  SLUICE_RETURN_IF_ERROR(checkMachine(plan, machine));
  SLUICE_RETURN_IF_ERROR(checkRanks(plan, machine));
  SLUICE_RETURN_IF_ERROR(checkListable(plan, "instructions of work", isScheduled));
  const plan::EntryT &entry = *plan.entries[e];
  SLUICE_RETURN_IF_ERROR(checkCosts(plan, entry));
  CostModel costs(plan, machine);
  TaskWriter writer(plan, entry, costs);
  if (machine.device == "cpu") {
    writer.step.ranks = static_cast<double>(meshSize(plan));
    writer.step.cores = machine.times.constant("cores").value_or(0);
  }
  writer.step.waitLatency = machine.times.constant("wait_seconds").value_or(0);
  SLUICE_ASSIGN_OR_RETURN(const std::vector<SimulatedRun> runs, simulateRuns(writer.step, earlierRuns + 1));

  PredictedStep step;
  step.entry = entry.name;
  step.seconds = runs.back().finish - runs[earlierRuns - 1].finish;
  step.unknown = costs.unknown();
  step.assumptions = costs.assumptions();
  // Threads wake each other on a CPU; on a GPU a wait is an edge of the recorded graph.
  const bool isKnown = machine.times.constant("wait_seconds").has_value();
  if (!isKnown && machine.device == "cpu")
    step.unknown["wait_seconds"] = writer.waits();
  else if (!isKnown)
    step.assumptions["wait_seconds: 0"] = writer.waits();
  step.isComplete = step.unknown.empty();
  step.tokens = tokensOfRun(plan, entry);
  step.flops = entryFlops(entry);
  step.productType = flopsType(entry);
  step.peakFlops = rankPeakFlops(plan, machine, step.productType);
  describeRun(plan, writer.step, writer.issued, runs, step);
  return step;
}

} // namespace sluice
