//===- Steps.cpp - train steps of a plan in this process, with delays -----------------===//
//
// See Steps.h.
//
//===----------------------------------------------------------------------===//
#include "test/numeric/Steps.h"

#include "test/numeric/Training.h"

#include "runtime/executor/RankGroup.h"

#include <gtest/gtest.h>
#include <string_view>

namespace sluice::numeric {
namespace {

/// Small numbers that differ by step, rank and micro-batch.
void fill(const PortMemory &port, std::int64_t step, int rank) {
  for (std::uint32_t repetition = 0; repetition < port.repetitions; ++repetition) {
    const std::uint64_t width = port.dtype == DType::f32 || port.dtype == DType::i32 ? 4 : 8;
    for (std::uint64_t i = 0; i < port.bytes / width; ++i) {
      const auto number = static_cast<std::int64_t>(
          (i * 7 + repetition * 13 + static_cast<std::uint64_t>(rank) * 29 + static_cast<std::uint64_t>(step) * 31) %
          250);
      const std::int64_t bounded = port.limit ? number % static_cast<std::int64_t>(port.limit) : number;
      if (port.dtype == DType::f32)
        port.as<float>(repetition)[i] = static_cast<float>(number - 125) / 125;
      else if (port.dtype == DType::i32)
        port.as<std::int32_t>(repetition)[i] = static_cast<std::int32_t>(bounded);
      else
        port.as<std::int64_t>(repetition)[i] = bounded;
    }
  }
}

} // namespace

Status writeInputs(Executor &executor, const std::string &entry, std::int64_t step) {
  for (const auto &input :
       executor.plan().entries[static_cast<std::size_t>(findEntry(executor.plan(), entry))]->inputs) {
    SLUICE_ASSIGN_OR_RETURN(PortMemory port, executor.input(entry, input->name));
    if (input->name == "lr")
      *port.as<float>() = 1e-3f;
    else if (input->name == "step")
      *port.as<std::int64_t>() = step;
    else if (input->name == "loss_scale")
      *port.as<float>() = 8;
    else if (input->name != "seed")
      fill(port, step, executor.rank());
  }
  return {};
}

std::string compilePlan(const std::string &label, const std::string &model, const std::string &toml) {
  std::string module = scratchFolder() + "/" + label + ".mlir", plan = scratchFolder() + "/" + label + ".plan";
  CommandResult import = runCommand("sluice-import " + model + " -o " + module);
  EXPECT_EQ(import.code, 0) << import.err;
  CommandResult compile =
      runCommand("sluice-compile " + module + " --recipe " + writeScratch(label + ".toml", toml) + " -o " + plan);
  EXPECT_EQ(compile.code, 0) << compile.err;
  return plan;
}

const std::string &tinyPlanPath() {
  static const std::string path =
      compilePlan("skew", "hf " + referenceFolder() + "/gpt2-tiny/config.json --batch 2 --sequence 16",
                  "mesh.shard = 2\ngradient.microbatches = 2\nsharding.reshard_after_forward = true\n");
  return path;
}

Outcome runSteps(const plan::PlanT &plan, StepInjector *delays, const StepsOptions &options) {
  ExecutorOptions executorOptions;
  executorOptions.delays = delays;
  executorOptions.observe = options.observe;
  executorOptions.prefault = options.prefault;
  auto group = RankGroup::create(plan, executorOptions);
  if (!group.isOk())
    return {group.takeStatus(), {}, {}, {}};
  Outcome outcome;
  auto feed = [&](const std::string &entry, std::int64_t step) {
    for (int rank = 0; rank < (*group)->size() && outcome.status.isOk(); ++rank)
      outcome.status = writeInputs((*group)->executor(rank), entry, step);
  };
  outcome.status = (*group)->runEntry("init");
  for (const std::string &entry : options.entries)
    feed(entry, 1);
  for (std::int64_t step = 1; step <= options.steps && outcome.status.isOk(); ++step) {
    const std::string &entry = options.entries[static_cast<std::size_t>(step - 1) % options.entries.size()];
    if (delays)
      delays->entry = findEntry(plan, entry);
    if (options.overlaps && options.entries.size() > 1)
      outcome.status = (*group)->finish();
    if (options.waits && !options.sameInputs)
      feed(entry, step);
    if (!outcome.status.isOk())
      break;
    outcome.status = options.overlaps ? (*group)->startEntry(entry)
                     : options.waits
                         ? (*group)->runEntry(entry)
                         : (*group)->forEachRank([&](Executor &executor) { return executor.runEntry(entry); });
  }
  Status finished = (*group)->forEachRank([](Executor &executor) { return executor.synchronize(); });
  if (outcome.status.isOk())
    outcome.status = std::move(finished);
  if (!outcome.status.isOk())
    return outcome;
  auto append = [&](const void *data, std::size_t size) {
    const std::byte *first = static_cast<const std::byte *>(data);
    outcome.bytes.insert(outcome.bytes.end(), first, first + size);
  };
  for (int rank = 0; rank < (*group)->size(); ++rank) {
    Executor &executor = (*group)->executor(rank);
    for (const std::string &entry : options.entries)
      for (const char *name : {"loss", "grad_norm"})
        if (auto port = executor.output(entry, name); port.isOk()) {
          append(port->at(), port->bytes);
          if (port->dtype == DType::f32)
            (name == std::string_view("loss") ? outcome.losses : outcome.norms).push_back(*port->as<float>());
        }
    for (std::uint32_t b = 0; b < plan.buffers.size() && outcome.status.isOk(); ++b)
      if (plan.buffers[b]->entry == -1 && plan.buffers[b]->space == plan::Space::device) {
        std::vector<std::byte> bytes(plan.buffers[b]->bytes);
        outcome.status = executor.read(b, 0, bytes);
        append(bytes.data(), bytes.size());
      }
  }
  return outcome;
}

} // namespace sluice::numeric
