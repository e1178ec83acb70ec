//===- StepDigest.cpp - all numbers of a few steps of a plan, as a digest --------------===//
//
// See StepDigest.h.
//
//===----------------------------------------------------------------------===//
#include "tools/steps/StepDigest.h"

#include "runtime/base/Message.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Text.h"
#include "runtime/executor/Poison.h"
#include "runtime/executor/RankGroup.h"
#include "runtime/kernel/cpu/Numbers.h"
#include "runtime/train/DataOrder.h"
#include "runtime/train/Feeder.h"
#include "runtime/train/LearningRate.h"
#include "runtime/train/Ranks.h"
#include "runtime/train/ShardRuns.h"
#include "runtime/train/TrainSession.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

namespace sluice {

namespace {

constexpr std::uint64_t steps = 3;
constexpr std::chrono::microseconds slowness(300);

class SlowStream final : public DelayInjector {
public:
  explicit SlowStream(std::string stream) : stream(std::move(stream)) {}
  void before(std::string_view name, std::uint32_t, std::uint32_t) override {
    if (name == stream)
      std::this_thread::sleep_for(slowness);
  }

private:
  const std::string stream;
};

/// The trainer's ranks of a plan that is not read from a file.
class GroupRanks final : public Ranks {
public:
  GroupRanks(const plan::PlanT &plan, std::unique_ptr<RankGroup> group) : source(plan), group(std::move(group)) {}
  const plan::PlanT &plan() const override { return source; }
  int size() const override { return group->size(); }
  Status run(std::string_view entry) override { return group->runEntry(entry); }
  Status start(std::string_view entry) override { return group->startEntry(entry); }
  Status finish() override { return group->finish(); }
  Status read(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const override {
    return group->executor(rank).read(buffer, offset, out);
  }
  Status write(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<const std::byte> data) override {
    return group->executor(rank).write(buffer, offset, data);
  }
  Result<SharedMemory> memoryOf(int rank, std::uint32_t buffer) const override {
    return group->executor(rank).memory(buffer);
  }
  Status copyState() const override { return {}; }
  std::span<std::byte> checkpointMemory(int) const override { return {}; }
  std::uint64_t requestedBytes(plan::Space) const override { return 0; }

private:
  const plan::PlanT &source;
  const std::unique_ptr<RankGroup> group;
};

/// The rows of a table in the order of their names: the order of a plan has no effect on numbers.
template <typename T> std::vector<const T *> byName(const std::vector<std::unique_ptr<T>> &table) {
  std::vector<const T *> rows;
  for (const auto &row : table)
    rows.push_back(row.get());
  std::ranges::sort(rows, {}, &T::name);
  return rows;
}

class Numbers {
public:
  explicit Numbers(GroupRanks &ranks) : ranks(ranks), plan(ranks.plan()) {}

  std::string line() const {
    std::string text = toHex(sha256(bytes)) + " " + toHex(sha256(layout));
    char number[32];
    for (const double sum : sums) {
      std::snprintf(number, sizeof number, " %.9g", sum);
      text += number;
    }
    return text;
  }

  /// Parameters, states and variables.
  Status addTensors() {
    for (const plan::ParameterT *parameter : byName(plan.parameters)) {
      SLUICE_RETURN_IF_ERROR(forEachRun(*parameter, [&](int rank, const ShardRun &run) {
        SLUICE_RETURN_IF_ERROR(addRun(parameter->name, rank, parameter->buffer, run));
        for (const auto &state : parameter->states)
          SLUICE_RETURN_IF_ERROR(addRun(state->name, rank, state->buffer, run));
        return Status::ok();
      }));
    }
    for (const plan::VariableT *variable : byName(plan.variables))
      for (int rank = 0; rank < ranks.size(); ++rank)
        SLUICE_RETURN_IF_ERROR(add(variable->name, rank, variable->buffer, 0, plan.buffers[variable->buffer]->bytes,
                                   plan.buffers[variable->buffer]->dtype));
    return {};
  }

  Status addOutputs(const plan::EntryT &entry) {
    for (const auto &port : entry.outputs)
      for (int rank = 0; rank < ranks.size(); ++rank)
        SLUICE_RETURN_IF_ERROR(add(port->name, rank, port->view->buffer, port->view->offset,
                                   viewBytes(*port->view).value_or(0), port->view->dtype));
    return {};
  }

  /// The schedule of a run of 100 steps. The steps below have another one, at which each of them changes the weights.
  void addRates() {
    const LearningRate rate(plan, 100);
    for (std::uint64_t step = 0; step < 100; ++step)
      addSum(rate.at(step));
  }

  /// Adds to each element of each parameter a number of its name and global index.
  Status varyParameters() {
    for (const auto &parameter : plan.parameters) {
      std::uint64_t key = 1;
      for (const unsigned char c : parameter->name)
        key = mixBits(key ^ c);
      SLUICE_RETURN_IF_ERROR(forEachRun(*parameter, [&](int rank, const ShardRun &run) {
        return parameter->dtype == plan::DType::f64   ? vary<double>(rank, parameter->buffer, key, run)
               : parameter->dtype == plan::DType::f32 ? vary<float>(rank, parameter->buffer, key, run)
                                                      : Status::ok();
      }));
    }
    return {};
  }

private:
  void addSum(double value) {
    append(bytes, &value, sizeof value);
    sums.insert(sums.end(), {value, std::abs(value)});
  }

  Status forEachRun(const plan::ParameterT &parameter, const std::function<Status(int, const ShardRun &)> &visit) {
    const std::vector<std::uint32_t> axes = shardAxes(parameter);
    return forEachShardRun(plan, parameter, [&](const ShardRun &run) {
      for (int rank = 0; rank < ranks.size(); ++rank)
        if (coordinateAlong(plan, static_cast<std::uint32_t>(rank), axes) == run.position)
          SLUICE_RETURN_IF_ERROR(visit(rank, run));
      return Status::ok();
    });
  }

  template <typename T> Status vary(int rank, std::uint32_t buffer, std::uint64_t key, const ShardRun &run) {
    std::vector<T> values(run.count);
    SLUICE_RETURN_IF_ERROR(ranks.read(rank, buffer, run.offset * sizeof(T), std::as_writable_bytes(std::span(values))));
    for (std::uint64_t i = 0; i < run.count; ++i)
      values[i] += static_cast<T>(static_cast<double>(mixBits(key ^ (run.begin + i)) >> 11) * 0x1p-53 * 0.1);
    return ranks.write(rank, buffer, run.offset * sizeof(T), std::as_bytes(std::span(values)));
  }

  Status addRun(const std::string &name, int rank, std::uint32_t buffer, const ShardRun &run) {
    const std::uint64_t width = dtypeBytes(baseType(plan.buffers[buffer]->dtype));
    append(layout, &run.begin, sizeof run.begin);
    return add(name, rank, buffer, run.offset * width, run.count * width, plan.buffers[buffer]->dtype);
  }
  Status add(const std::string &name, int rank, std::uint32_t buffer, std::uint64_t offset, std::uint64_t size,
             plan::DType dtype) {
    append(layout, name.data(), name.size());
    append(layout, &size, sizeof size);
    std::vector<std::byte> data(size);
    SLUICE_RETURN_IF_ERROR(ranks.read(rank, buffer, offset, data));
    append(bytes, data.data(), size);
    double weighted = 0, magnitude = 0;
    for (std::uint64_t i = 0; i < size / dtypeBytes(baseType(dtype)); ++i) {
      const double value = cpu::loadNumber(data.data(), baseType(dtype), static_cast<std::int64_t>(i));
      weighted += value * (0.5 + static_cast<double>(mixBits(i) >> 11) * 0x1p-53);
      magnitude += std::abs(value);
    }
    sums.insert(sums.end(), {weighted, magnitude});
    return {};
  }
  static void append(std::vector<std::uint8_t> &list, const void *data, std::size_t size) {
    const auto *first = static_cast<const std::uint8_t *>(data);
    list.insert(list.end(), first, first + size);
  }

  GroupRanks &ranks;
  const plan::PlanT &plan;
  /// The values, and the names, sizes and positions of the tensors.
  std::vector<std::uint8_t> bytes, layout;
  /// Of each tensor: a weighted sum and the sum of magnitudes.
  std::vector<double> sums;
};

} // namespace

Result<std::string> digestSteps(const plan::PlanT &plan, const StepDigestOptions &options) {
  std::unique_ptr<SlowStream> slow;
  ExecutorOptions executor;
  if (options.slowStream) {
    slow = std::make_unique<SlowStream>(plan.streams[*options.slowStream]->name);
    executor.delays = slow.get();
  }
  if (options.poison)
    executor.observe = poisonObserver();
  executor.prefault = false;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<RankGroup> group, RankGroup::create(plan, executor));
  GroupRanks ranks(plan, std::move(group));
  Numbers numbers(ranks);
  SLUICE_RETURN_IF_ERROR(initialize(ranks, 1, "").takeStatus());
  numbers.addRates();
  SLUICE_RETURN_IF_ERROR(numbers.addTensors());
  SLUICE_RETURN_IF_ERROR(numbers.varyParameters());
  const int initialization = findEntry(plan, "init");
  for (const plan::EntryT *entry : byName(plan.entries)) {
    if (initialization >= 0 && entry == plan.entries[static_cast<std::size_t>(initialization)].get())
      continue;
    FeederOptions data;
    data.data = {"random:7"};
    data.seed = 1;
    SLUICE_ASSIGN_OR_RETURN(Feeder feeder, Feeder::make(ranks, *entry, data));
    for (std::uint64_t step = 0; step < steps; ++step) {
      SLUICE_RETURN_IF_ERROR(feeder.feed(ranks, step, {0.01 * static_cast<double>(step + 1), 8, step + 1}));
      SLUICE_RETURN_IF_ERROR(ranks.start(entry->name));
      SLUICE_RETURN_IF_ERROR(numbers.addOutputs(*entry));
    }
    SLUICE_RETURN_IF_ERROR(ranks.finish());
    SLUICE_RETURN_IF_ERROR(numbers.addTensors());
  }
  return numbers.line();
}

int printDigests(const plan::PlanT &plan) {
  const auto print = [&](const std::string &label, const StepDigestOptions &options) {
    Result<std::string> digest = digestSteps(plan, options);
    if (!digest.isOk()) {
      std::fputs((printable(digest.status().message()) + "\n").c_str(), stdout);
      return static_cast<int>(digest.status().code());
    }
    std::fputs((label + " " + *digest + "\n").c_str(), stdout);
    // Lines before a crash are kept.
    std::fflush(stdout);
    return 0;
  };
  if (const int code = print("poisoned", {.poison = true}))
    return code;
  for (std::uint32_t s = 0; s < plan.streams.size(); ++s)
    if (const int code = print("slow-" + std::to_string(s), {.slowStream = s}))
      return code;
  return 0;
}

} // namespace sluice
