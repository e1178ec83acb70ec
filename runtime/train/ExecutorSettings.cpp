//===- ExecutorSettings.cpp - executor options from the options of a run -------------===//
#include "runtime/train/ExecutorSettings.h"
#include "runtime/executor/Backend.h"
#include "runtime/executor/Poison.h"
#include "runtime/kernel/cuda/Algorithms.h"
#include "runtime/kernel/cuda/DnnUse.h"

namespace sluice {

/// Instructions of a stream whose times are kept between two calls of takeTrace().
static constexpr std::size_t traceCapacity = 1 << 16;

/// Broadcasts rank 0's text.
static Status shareText(Communicator &all, std::string &text) {
  std::uint64_t bytes = text.size();
  const SegmentPointers length{&bytes, &bytes, sizeof bytes};
  SLUICE_RETURN_IF_ERROR(all.broadcast({&length, 1}, DType::u8, 0, {0, "length of the algorithms"}, nullptr));
  text.resize(bytes);
  const SegmentPointers segment{text.data(), text.data(), bytes};
  return all.broadcast({&segment, 1}, DType::u8, 0, {0, "algorithms"}, nullptr);
}

static Status requiresCuda(std::string_view option, const plan::PlanT &plan) {
  return {StatusCode::usage, "'" + std::string(option) + "' requires a plan for cuda, but this plan is for " +
                                 (plan.target ? plan.target->device : "no device")};
}

static Result<std::shared_ptr<cuda::Algorithms>> openAlgorithms(const RanksOptions &options, World *world) {
  if (!world || world->size() == 1)
    return std::make_shared<cuda::Algorithms>(options.algorithms);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> all, world->createForAll(options.rank, "algorithms"));
  return std::make_shared<cuda::Algorithms>(
      options.algorithms,
      [all = std::shared_ptr<Communicator>(std::move(all))](std::string &text) { return shareText(*all, text); },
      options.rank == 0);
}

Result<ExecutorOptions> executorOptions(const plan::PlanT &plan, const RanksOptions &options, World *world,
                                        std::shared_ptr<PageReport> pages) {
  ExecutorOptions executor;
  executor.threads = options.threads;
  executor.seed = options.seed;
  executor.delays = options.delays;
  executor.graphs = options.cudaGraph == "on"    ? GraphMode::on
                    : options.cudaGraph == "off" ? GraphMode::off
                                                 : GraphMode::automatic;
  executor.tf32 = options.tf32;
  executor.writesCheckpoints = options.writesCheckpoints;
  executor.traceCapacity = options.trace ? traceCapacity : 0;
  if (options.poison)
    executor.observe = poisonObserver();
  if (options.measurePages) {
    executor.observe = pageObserver(std::move(pages));
    executor.prefault = false;
  }
  if (!options.algorithms.empty()) {
    if (!isCudaPlan(plan))
      return requiresCuda("--algorithms", plan);
    SLUICE_ASSIGN_OR_RETURN(executor.algorithms, openAlgorithms(options, world));
  }
  const bool isOn = options.cudnn == "on";
  if (isOn && !isCudaPlan(plan))
    return requiresCuda("--cudnn on", plan);
  if (options.cudnn != "off" && isCudaPlan(plan))
    executor.dnn = std::make_shared<cuda::DnnUse>(isOn ? cuda::DnnMode::on : cuda::DnnMode::automatic);
  return executor;
}

Status finishSettings(const ExecutorOptions &executor, const RanksOptions &options) {
  if (executor.algorithms) {
    if (const std::string why = executor.algorithms->whyUnused(); !why.empty() && options.note)
      options.note(why);
    SLUICE_RETURN_IF_ERROR(executor.algorithms->finish());
  }
  if (executor.dnn && options.note)
    for (const std::string &note : executor.dnn->notes())
      options.note(note);
  return {};
}

} // namespace sluice
