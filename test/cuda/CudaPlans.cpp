//===- CudaPlans.cpp - runs plans on the CPU and on the emulated GPU, and compares
//---------------------------------===//
//
//   cuda-plans [--steps N] [--tolerance X] PLAN...
//   cuda-plans [--steps N] --same PLAN...
//   cuda-plans --record PLAN...
//   cuda-plans --spoil PLAN
//
// Each plan is retargeted to both devices (workspace caps of the device), its entry points `init` and `train_step` are
// run with the same random inputs by the CPU's executor and by the CUDA executor on the fake, and outputs and
// parameters are compared. With one or two ranks a step that is replayed from a graph is compared with one that is
// issued, to the bit.
//
// With --same the plans are of one model and one mesh: each is run on the fake, once as it is and once with streams
// that sleep before some instructions, and all must give the bits of the first.
//
// With --record nothing is executed: each is run with all its ranks and every call is compared
// with the plan (RecordPlan.h). With --spoil the comparison gets calls that are not in the plan.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "test/cuda/PlanRun.h"
#include "test/cuda/RecordPlan.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

int failures = 0;
void complain(const std::string &plan, const std::string &text) {
  if (++failures <= 20)
    std::printf("%s: %s\n", plan.c_str(), text.c_str());
}

void runPlan(const std::string &path, int steps, double tolerance) {
  Result<PlanFile> file = readCheckedPlan(path);
  if (!file.isOk())
    return complain(path, file.status().message());
  plan::PlanT &plan = file->plan;
  Outcome onCpu, onGpu;
  {
    if (plan.target->device != "cpu")
      retarget(plan, "cpu");
    auto group = RankGroup::create(plan);
    Status status = group.isOk() ? runAll(plan, **group, steps, onCpu) : group.takeStatus();
    if (!status.isOk())
      return complain(path, "on the cpu: " + status.message());
  }
  retarget(plan, "cuda");
  FakeCuda fake;
  {
    ExecutorOptions options;
    options.dnn = environmentDnn();
    auto group = RankGroup::create(plan, options);
    Status status = group.isOk() ? runAll(plan, **group, steps, onGpu) : group.takeStatus();
    if (!status.isOk())
      return complain(path, "on cuda: " + status.message());
  }
  if (!fake.complaint().empty())
    complain(path, fake.complaint());
  if (fake.liveObjects() != 0)
    complain(path, std::to_string(fake.liveObjects()) + " objects of CUDA were not freed");
  double worst = 0;
  for (std::size_t i = 0; i < onCpu.values.size(); ++i) {
    double size = 1e-3, off = 0;
    for (double value : onCpu.values[i])
      if (std::isfinite(value))
        size = std::max(size, std::fabs(value));
    for (std::size_t k = 0; k < onCpu.values[i].size(); ++k)
      if (onCpu.values[i][k] != onGpu.values[i][k])
        off = std::max(off, std::fabs(onCpu.values[i][k] - onGpu.values[i][k]) / size);
    if (!(off <= tolerance))
      complain(path, onCpu.names[i] + " differs by " + std::to_string(off) + " of its size");
    worst = std::max(worst, off);
  }
  const std::uint64_t ranks = meshSize(plan);
  if (ranks <= 2) {
    // Issued alone, then from a graph: the same bits.
    ExecutorOptions options;
    options.dnn = environmentDnn();
    options.graphs = GraphMode::off;
    Outcome issued;
    auto group = RankGroup::create(plan, options);
    Status status = group.isOk() ? runAll(plan, **group, steps, issued) : group.takeStatus();
    if (!status.isOk())
      complain(path, "without a graph: " + status.message());
    else if (issued.values != onGpu.values)
      complain(path, "a step from a graph gives other bits than one that is issued");
  }
  std::printf("%s: %llu ranks, %d steps, %zu tensors, largest difference %.2g of a tensor's size\n",
              path.substr(path.rfind('/') + 1).c_str(), static_cast<unsigned long long>(ranks), steps,
              onCpu.values.size(), worst);
}

/// Sleeps before one instruction in sixteen, a different one each time.
class Jitter final : public DelayInjector {
public:
  void before(std::string_view stream, std::uint32_t instruction, std::uint32_t repetition) override {
    const std::size_t number = std::hash<std::string_view>()(stream) + instruction * 31 + repetition * 17 + calls++;
    if (number % 16 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

private:
  std::atomic<std::size_t> calls = 0;
};

void runSame(const std::vector<std::string> &paths, int steps) {
  Outcome first;
  for (const std::string &path : paths) {
    Result<PlanFile> file = readCheckedPlan(path);
    if (!file.isOk())
      return complain(path, file.status().message());
    retarget(file->plan, "cuda");
    for (const bool delayed : {false, true}) {
      FakeCuda fake;
      Jitter jitter;
      ExecutorOptions options;
      options.dnn = environmentDnn();
      options.delays = delayed ? &jitter : nullptr;
      Outcome outcome;
      auto group = RankGroup::create(file->plan, options);
      const Status status = group.isOk() ? runAll(file->plan, **group, steps, outcome) : group.takeStatus();
      if (!status.isOk())
        return complain(path, status.message());
      if (first.values.empty())
        first = outcome;
      if (outcome.names != first.names)
        complain(path, "other outputs or parameters than the first plan's");
      for (std::size_t i = 0; i < first.values.size() && i < outcome.values.size(); ++i)
        if (first.values[i].size() != outcome.values[i].size() ||
            std::memcmp(first.values[i].data(), outcome.values[i].data(), first.values[i].size() * sizeof(double)) != 0)
          complain(path, outcome.names[i] + (delayed ? " has other bits with delays" : " has other bits"));
    }
    std::printf("%s: %d steps, %zu tensors, the same bits\n", path.substr(path.rfind('/') + 1).c_str(), steps,
                first.values.size());
  }
}

/// The plan for a GPU, for any original target.
Result<PlanFile> readForGpu(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(PlanFile file, readCheckedPlan(path));
  if (file.plan.target->device == "cpu")
    retarget(file.plan, "cuda");
  return file;
}

void runRecorded(const std::vector<std::string> &paths) {
  for (const std::string &path : paths) {
    Result<PlanFile> file = readForGpu(path);
    if (!file.isOk())
      return complain(path, file.status().message());
    CallCounts counts;
    const std::string wrong = recordPlan(file->plan, counts);
    if (!wrong.empty())
      complain(path, wrong);
    std::printf(
        "%s: %llu ranks, %llu launches, %llu moves, %llu collectives, %llu records and waits, %llu calls of the host\n",
        path.substr(path.rfind('/') + 1).c_str(), static_cast<unsigned long long>(meshSize(file->plan)),
        static_cast<unsigned long long>(counts.launches), static_cast<unsigned long long>(counts.moves),
        static_cast<unsigned long long>(counts.collectives), static_cast<unsigned long long>(counts.events),
        static_cast<unsigned long long>(counts.hostCalls));
  }
}

void runSpoiled(const std::vector<std::string> &paths) {
  for (const std::string &path : paths) {
    Result<PlanFile> file = readForGpu(path);
    if (!file.isOk())
      return complain(path, file.status().message());
    for (const std::string &line : spoilPlan(file->plan))
      std::printf("%s\n", line.c_str());
  }
}

} // namespace

int main(int count, char **arguments) {
  int steps = 3;
  double tolerance = 1e-4;
  std::string mode;
  std::vector<std::string> paths;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--steps")
      steps = std::atoi(arguments[++i]);
    else if (argument == "--tolerance")
      tolerance = std::atof(arguments[++i]);
    else if (argument.starts_with("--"))
      mode = argument;
    else
      paths.push_back(argument);
  }
  if (mode == "--same")
    runSame(paths, steps);
  else if (mode == "--record")
    runRecorded(paths);
  else if (mode == "--spoil")
    runSpoiled(paths);
  else
    for (const std::string &path : paths)
      runPlan(path, steps, tolerance);
  return failures != 0;
}
