//===- EagerAccount.cpp - FSDP1, and the output of accounts --------------------------------===//
//
// See EagerAccount.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/report/accounts/EagerAccount.h"

#include "runtime/base/Text.h"
#include "runtime/report/Describe.h"
#include "runtime/report/accounts/EagerTensors.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

using plan::Phase;

/// The memory of one iteration.
class Fsdp1Step {
public:
  explicit Fsdp1Step(const EagerProgram &program) : program(program) {
    const EagerTensors tensors = eagerTensors(program);
    values = tensors.activations.values();
    const std::vector<std::uint64_t> outputs = tensors.outputs.values();
    BytesOverTime live(values.size());
    for (const EagerUnit &unit : program.units)
      addUnit(unit, flatten(unit), live);
    const std::vector<std::uint64_t> ofUnits = live.values();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += outputs[i] + ofUnits[i];
  }

  std::uint64_t shards() const { return shardBytes; }
  std::uint64_t states() const { return stateBytes; }

  /// Between two phases; without shards, states and the batch.
  std::uint64_t savedAfter(Phase phase) const { return values[instantAfter(program, phase)]; }
  std::uint64_t peak() const { return std::ranges::max(values); }

private:
  struct Unit {
    /// Gathered, and the flat gradient, in the type that ops read; reduced in the type of the reduction.
    std::uint64_t shardBytes = 0, gatheredBytes = 0, reducedBytes = 0;
    bool staysGathered = false;
  };

  /// A flat parameter of all parameters of the unit, padded to a multiple of the ranks.
  Unit flatten(const EagerUnit &given) {
    // By the types of parameter, ops and reduction.
    std::map<std::array<DType, 3>, std::uint64_t> elements;
    std::uint64_t states = 0;
    for (std::uint32_t p : given.parameters) {
      const EagerParameter &own = program.parameters[p];
      elements[{baseType(own.parameter->dtype), own.compute, own.reduce}] +=
          elementCount(own.parameter->shape).value_or(0);
      states = std::max<std::uint64_t>(states, own.parameter->states.size());
    }
    Unit unit;
    for (const auto &[types, count] : elements) {
      const std::uint64_t shard = (count + program.shardRanks - 1) / program.shardRanks;
      unit.shardBytes += shard * dtypeBytes(types[0]);
      unit.gatheredBytes += shard * program.shardRanks * dtypeBytes(types[1]);
      unit.reducedBytes += shard * program.shardRanks * dtypeBytes(types[2]);
    }
    // FSDP1 keeps the root's parameters from the forward to the backward.
    unit.staysGathered = !given.unit->reshard_after_forward || given.unit->root;
    shardBytes += unit.shardBytes;
    stateBytes += states * unit.shardBytes;
    return unit;
  }

  void addUnit(const EagerUnit &unit, const Unit &bytes, BytesOverTime &live) const {
    if (!unit.isRead())
      return;
    if (bytes.staysGathered || !unit.hasBackward())
      live.add(hooks(unit.begin), during(unit.hasBackward() ? unit.backwardEnd : unit.end), bytes.gatheredBytes);
    else {
      live.add(hooks(unit.begin), during(unit.end), bytes.gatheredBytes);
      live.add(hooks(prefetchBegin(unit)), during(unit.backwardEnd), bytes.gatheredBytes);
    }
    // The unsharded gradient and the input of the reduce-scatter, then the shard until zero_grad.
    if (unit.hasBackward()) {
      live.add(during(unit.backwardBegin), after(unit.backwardEnd), bytes.gatheredBytes);
      live.add(after(unit.backwardEnd), after(unit.backwardEnd), bytes.reducedBytes);
      live.add(after(unit.backwardEnd), after(std::uint32_t(program.ops.size()) - 1), bytes.shardBytes);
    }
  }

  /// The next unit of the backward is gathered where the previous one begins (BackwardPrefetch.BACKWARD_PRE).
  std::uint32_t prefetchBegin(const EagerUnit &unit) const {
    std::uint32_t begin = 0;
    for (const EagerUnit &other : program.units)
      if (other.backwardBegin < unit.backwardBegin)
        begin = std::max(begin, other.backwardBegin);
    return begin == 0 ? unit.backwardBegin : begin;
  }

  const EagerProgram &program;
  std::vector<std::uint64_t> values;
  std::uint64_t shardBytes = 0, stateBytes = 0;
};

} // namespace

Result<EagerAccount> accountFsdp1(const plan::PlanT &plan) {
  SLUICE_ASSIGN_OR_RETURN(const EagerProgram program, readEagerProgram(plan, "FSDP1"));
  const Fsdp1Step step(program);
  std::uint64_t constant = step.shards() + program.batchBytes;
  for (const auto &variable : plan.variables)
    constant += plan.buffers[variable->buffer]->bytes;
  EagerAccount account;
  account.name = "fsdp1";
  for (int i = 0; i < accountIterations; ++i) {
    const auto add = [&](const char *name, bool hasStates, std::uint64_t bytes) {
      account.points.push_back({i, name, constant + (hasStates ? step.states() : 0) + bytes});
    };
    add("start", i > 0, 0);
    add("after_forward", i > 0, step.savedAfter(Phase::forward));
    add("after_loss", i > 0, step.savedAfter(Phase::loss));
    add("after_backward", i > 0, step.savedAfter(Phase::backward));
    add("after_update", true, step.savedAfter(Phase::update));
    add("end", true, 0);
  }
  account.peak = constant + step.states() + step.peak();
  return account;
}

Json accountJson(const EagerAccount &account) {
  Json points = Json::array();
  for (const AccountPoint &point : account.points)
    points.push_back({{"iteration", point.iteration}, {"name", point.name}, {"bytes", point.bytes}});
  Json json = {{"account", account.name}, {"peak", account.peak}, {"points", points}};
  for (const auto &[purpose, bytes] : account.peakByPurpose)
    json["peak_by_purpose"][purpose] = bytes;
  if (account.reserved) {
    json["reserved"] = *account.reserved;
    json["reserved_expandable_segments"] = *account.reservedExpandable;
  }
  return json;
}

std::string accountText(const EagerAccount &account) {
  std::string out = concat("live bytes of one rank of PyTorch ", account.name == "fsdp1" ? "FSDP1" : "FSDP2",
                           ", by account\n  iteration  point\n");
  const auto bytesText = [](std::uint64_t bytes) {
    return padLeft(std::to_string(bytes), 14) + "  " + padLeft(formatBytes(bytes), 11) + "\n";
  };
  for (const AccountPoint &point : account.points)
    out += padLeft(std::to_string(point.iteration), 11) + "  " + padRight(point.name, 16) + bytesText(point.bytes);
  out += "peak: " + formatBytesExact(account.peak) + "\n";
  for (const auto &[purpose, bytes] : account.peakByPurpose)
    if (bytes > 0)
      out += "  " + padRight(purpose, 27) + bytesText(bytes);
  if (account.reserved)
    out += "reserved: " + formatBytesExact(*account.reserved) + ", with expandable segments " +
           formatBytesExact(*account.reservedExpandable) + "\n";
  return out;
}

} // namespace sluice
