//===- EagerAccount.cpp - the memory that an eager framework would hold --------------------===//
//
// See EagerAccount.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/EagerAccount.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Describe.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ranges>
#include <set>

namespace sluice {
namespace {

using plan::Phase;

constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
constexpr int iterations = 4;
constexpr std::array axesOfFsdp1 = {"replicate", "shard"};

/// An op of the unsharded program.
struct Op {
  std::string_view name;
  Phase phase;
  std::string_view symbol;
  std::span<const std::uint32_t> operands, results;
};

std::vector<Op> opsOf(const plan::ProgramT &program) {
  std::vector<Op> ops;
  std::uint32_t operand = 0, result = 0;
  for (std::size_t i = 0; i < program.op_kinds.size(); ++i) {
    const plan::ProgramKindT &kind = *program.kinds[program.op_kinds[i]];
    const std::uint32_t operandEnd = program.operand_ends[i], resultEnd = program.result_ends[i];
    ops.push_back({kind.op, kind.phase, program.names[program.op_symbols[i]],
                   std::span(program.operands).subspan(operand, operandEnd - operand),
                   std::span(program.results).subspan(result, resultEnd - result)});
    operand = operandEnd;
    result = resultEnd;
  }
  return ops;
}

/// Classes of values that ops connect.
class Connections {
public:
  explicit Connections(std::size_t values) : parents(values) { std::iota(parents.begin(), parents.end(), 0u); }
  std::uint32_t classOf(std::uint32_t value) {
    while (parents[value] != value)
      value = parents[value] = parents[parents[value]];
    return value;
  }
  void connect(std::uint32_t a, std::uint32_t b) { parents[classOf(a)] = classOf(b); }

private:
  std::vector<std::uint32_t> parents;
};

bool isView(std::string_view op) {
  constexpr std::array views = {"model.broadcast", "model.reshape", "model.transpose", "model.slice", "model.split"};
  return std::ranges::count(views, op) != 0;
}

/// True if the first operand is a value. A plan may have any ops and operands.
bool readsFirst(const Op &op) { return !op.operands.empty() && op.operands[0] != 0; }

/// The memory of one iteration of the entry point that trains, op by op of its unsharded program.
class Iteration {
public:
  explicit Iteration(const plan::PlanT &plan)
      : plan(plan), program(*plan.program), ops(opsOf(program)), storages(program.values.size() + 1),
        storageOf(program.values.size() + 1), units(plan.units.size()) {
    std::iota(storageOf.begin(), storageOf.end(), 0u);
    for (std::size_t u = 0; u < units.size(); ++u)
      addUnit(u);
    keepTraining();
    for (std::uint32_t i = 0; i < ops.size(); ++i)
      addOp(i);
    for (std::uint32_t i = 0; i < ops.size(); ++i)
      if (ops[i].name == "model.write" && ops[i].phase == Phase::update && readsFirst(ops[i]))
        addGradient(i);
  }

  std::uint64_t shards() const { return shardBytes; }
  std::uint64_t states() const { return stateBytes; }
  std::uint64_t batch() const { return batchBytes; }

  /// Bytes that `phase` and the phases before it computed and later ones read, and gathered units that are not
  /// released.
  std::uint64_t savedAfter(Phase phase) const {
    std::uint64_t bytes = 0;
    for (const Storage &storage : storages)
      if (storage.bytes && !storage.isGradient && storage.phase <= phase && storage.lastPhase > phase)
        bytes += storage.bytes;
    for (const Unit &unit : units)
      if (phase < Phase::backward && unit.staysGathered && unit.isRead())
        bytes += unit.gatheredBytes;
    return bytes;
  }

  /// The largest sum of values, gathered units and gradients over the ops; without shards, states and the batch.
  std::uint64_t peak() const {
    std::vector<std::int64_t> change(ops.size() + 1, 0);
    const auto live = [&](std::uint32_t begin, std::uint32_t end, std::uint64_t bytes) {
      change[begin] += std::int64_t(bytes);
      change[std::min<std::size_t>(end + 1, ops.size())] -= std::int64_t(bytes);
    };
    for (const Storage &storage : storages)
      if (storage.bytes && !storage.isGradient && storage.phase <= Phase::backward)
        live(storage.begin, std::max(storage.begin, storage.last), storage.bytes);
    const auto end = static_cast<std::uint32_t>(ops.size()) - 1;
    for (std::size_t u = 0; u < units.size(); ++u) {
      const Unit &unit = units[u];
      if (!unit.isRead())
        continue;
      if (unit.staysGathered || unit.backwardBegin == never)
        live(unit.begin, unit.backwardBegin == never ? unit.end : unit.backwardEnd, unit.gatheredBytes);
      else {
        live(unit.begin, unit.end, unit.gatheredBytes);
        live(prefetchBegin(u), unit.backwardEnd, unit.gatheredBytes);
      }
      // The unsharded gradient and the input of the reduce-scatter, then the shard until zero_grad.
      if (unit.backwardBegin != never) {
        live(unit.backwardBegin, unit.backwardEnd, unit.gatheredBytes);
        live(unit.backwardEnd, end, unit.shardBytes);
      }
    }
    std::int64_t now = 0, most = 0;
    for (std::int64_t delta : change)
      most = std::max(most, now += delta);
    return std::uint64_t(most);
  }

private:
  /// Memory of one or more values: a view shares that of its operand.
  struct Storage {
    /// 0: of a parameter, counted with its unit, or none.
    std::uint64_t bytes = 0;
    Phase phase = Phase::forward, lastPhase = Phase::forward;
    std::uint32_t begin = 0, last = 0;
    /// Index in Plan.units of the parameter; -1: of none.
    int unit = -1;
    bool isGradient = false;
  };

  struct Unit {
    std::uint64_t shardBytes = 0, gatheredBytes = 0;
    /// First and last op that reads its parameters, in the forward and in the backward.
    std::uint32_t begin = never, end = 0, backwardBegin = never, backwardEnd = 0;
    bool staysGathered = false;
    bool isRead() const { return begin != never; }
  };

  std::uint64_t bytesOf(std::uint32_t value) const {
    const plan::ProgramTypeT &type = *program.types[program.values[value - 1]];
    return elementCount(type.shape).value_or(0) * dtypeBytes(baseType(type.dtype));
  }

  /// A flat parameter of all parameters of the unit, padded to a multiple of the ranks.
  void addUnit(std::size_t u) {
    std::uint64_t shardRanks = 1;
    for (const auto &axis : plan.mesh)
      if (axis->name == "shard")
        shardRanks = axis->size;
    std::map<DType, std::uint64_t> elements;
    std::uint64_t states = 0;
    for (std::uint32_t p : plan.units[u]->parameters) {
      const plan::ParameterT &parameter = *plan.parameters[p];
      elements[baseType(parameter.dtype)] += elementCount(parameter.shape).value_or(0);
      unitOf[parameter.name] = int(u);
      states = std::max<std::uint64_t>(states, parameter.states.size());
    }
    for (const auto &[dtype, count] : elements) {
      const std::uint64_t shard = (count + shardRanks - 1) / shardRanks;
      units[u].shardBytes += shard * dtypeBytes(dtype);
      units[u].gatheredBytes += shard * shardRanks * dtypeBytes(dtype);
    }
    // FSDP1 keeps the root's parameters from the forward to the backward.
    units[u].staysGathered = !plan.units[u]->reshard_after_forward || plan.units[u]->name == "root";
    shardBytes += units[u].shardBytes;
    stateBytes += states * units[u].shardBytes;
  }

  /// The program has the ops of all entry points. Those of the one that trains are connected with an update.
  void keepTraining() {
    Connections connections(storageOf.size());
    std::uint32_t updated = 0;
    for (const Op &op : ops) {
      std::uint32_t previous = 0;
      for (std::span<const std::uint32_t> values : {op.operands, op.results})
        for (std::uint32_t value : values)
          if (value != 0) {
            if (previous != 0)
              connections.connect(previous, value);
            previous = value;
          }
      if (op.name == "model.write" && unitOf.contains(std::string(op.symbol)))
        updated = previous;
    }
    const auto trains = [&](std::uint32_t value) {
      return value != 0 && connections.classOf(value) == connections.classOf(updated);
    };
    std::erase_if(ops, [&](const Op &op) {
      return std::ranges::none_of(op.operands, trains) && std::ranges::none_of(op.results, trains);
    });
    for (std::uint32_t input : program.inputs)
      if (trains(input))
        batchBytes += bytesOf(input);
  }

  void addOp(std::uint32_t i) {
    const Op &op = ops[i];
    for (std::uint32_t operand : op.operands)
      if (operand != 0)
        read(storages[storageOf[operand]], i);
    for (std::uint32_t result : op.results) {
      if (result == 0)
        continue;
      const bool sharesMemory = isView(op.name) && readsFirst(op);
      const std::uint32_t source = sharesMemory ? storageOf[op.operands[0]] : 0;
      if (sharesMemory) {
        storageOf[result] = source;
        continue;
      }
      Storage &storage = storages[result];
      storage.phase = storage.lastPhase = op.phase;
      storage.begin = storage.last = i;
      storage.unit = unitOfResult(op);
      if (storage.unit < 0)
        storage.bytes = bytesOf(result);
    }
  }

  /// The unit whose parameter, or a cast of it, is the result of the op; -1: another value.
  int unitOfResult(const Op &op) const {
    if (op.name == "model.read") {
      const auto found = unitOf.find(std::string(op.symbol));
      return found == unitOf.end() ? -1 : found->second;
    }
    return op.name == "model.cast" && readsFirst(op) ? storages[storageOf[op.operands[0]]].unit : -1;
  }

  void read(Storage &storage, std::uint32_t i) {
    storage.last = i;
    storage.lastPhase = std::max(storage.lastPhase, ops[i].phase);
    if (storage.unit < 0 || ops[i].phase > Phase::backward)
      return;
    Unit &unit = units[std::size_t(storage.unit)];
    const bool isBackward = ops[i].phase == Phase::backward;
    std::uint32_t &begin = isBackward ? unit.backwardBegin : unit.begin;
    begin = std::min(begin, i);
    (isBackward ? unit.backwardEnd : unit.end) = i;
  }

  /// The gradient of the parameter that op `i` writes is counted with its unit, which it makes part of the backward.
  void addGradient(std::uint32_t write) {
    const auto found = unitOf.find(std::string(ops[write].symbol));
    if (found == unitOf.end())
      return;
    Unit &unit = units[std::size_t(found->second)];
    const std::uint32_t type = program.values[ops[write].operands[0] - 1];
    std::vector<std::uint32_t> pending = {ops[write].operands[0]};
    std::set<std::uint32_t> visited;
    while (!pending.empty()) {
      const std::uint32_t value = pending.back();
      pending.pop_back();
      if (value == 0 || !visited.insert(value).second || storages[storageOf[value]].unit >= 0)
        continue;
      Storage &storage = storages[storageOf[value]];
      if (storage.phase == Phase::backward) {
        storage.isGradient = true;
        unit.backwardBegin = std::min(unit.backwardBegin, storage.begin);
        unit.backwardEnd = std::max(unit.backwardEnd, storage.begin);
      } else if (storage.phase == Phase::update)
        // A scalar, such as the coefficient of clipping, leads to the gradients of all parameters.
        for (std::uint32_t operand : ops[storage.begin].operands)
          if (operand != 0 && program.types[program.values[operand - 1]]->shape == program.types[type]->shape)
            pending.push_back(operand);
    }
  }

  /// The next unit of the backward is gathered where the previous one begins (BackwardPrefetch.BACKWARD_PRE).
  std::uint32_t prefetchBegin(std::size_t u) const {
    std::uint32_t begin = 0;
    for (const Unit &other : units)
      if (other.backwardBegin < units[u].backwardBegin)
        begin = std::max(begin, other.backwardBegin);
    return begin == 0 ? units[u].backwardBegin : begin;
  }

  const plan::PlanT &plan;
  const plan::ProgramT &program;
  std::vector<Op> ops;
  std::vector<Storage> storages;
  std::vector<std::uint32_t> storageOf;
  std::vector<Unit> units;
  std::map<std::string, int> unitOf;
  std::uint64_t shardBytes = 0, stateBytes = 0, batchBytes = 0;
};

} // namespace

Result<EagerAccount> accountFsdp1(const plan::PlanT &plan) {
  for (const auto &axis : plan.mesh)
    if (axis->size > 1 && !std::ranges::count(axesOfFsdp1, axis->name))
      return inputError(concat("the account of FSDP1 has no mesh axis '", axis->name, "'"))
          .withNote("compile for the axes 'replicate' and 'shard'");
  const auto trained = std::ranges::count_if(plan.entries, [](const auto &entry) {
    return std::ranges::any_of(entry->inputs, [](const auto &port) { return port->name == "lr"; });
  });
  if (trained != 1 || !plan.program)
    return inputError(
        concat("the account of FSDP1 is of plans with one entry point that trains, expected 1 but got ", trained));
  const Iteration iteration(plan);
  std::uint64_t variables = 0;
  for (const auto &variable : plan.variables)
    variables += plan.buffers[variable->buffer]->bytes;
  EagerAccount account;
  for (int i = 0; i < iterations; ++i) {
    const auto add = [&](const char *name, bool hasStates, std::uint64_t bytes) {
      account.points.push_back(
          {i, name, iteration.shards() + variables + iteration.batch() + (hasStates ? iteration.states() : 0) + bytes});
    };
    add("start", i > 0, 0);
    add("after_forward", i > 0, iteration.savedAfter(Phase::forward));
    add("after_loss", i > 0, iteration.savedAfter(Phase::loss));
    add("after_backward", i > 0, iteration.shards());
    add("after_update", true, iteration.shards());
    add("end", true, 0);
  }
  account.peak = iteration.shards() + variables + iteration.batch() + iteration.states() + iteration.peak();
  return account;
}

Json accountJson(const EagerAccount &account) {
  Json points = Json::array();
  for (const AccountPoint &point : account.points)
    points.push_back({{"iteration", point.iteration}, {"name", point.name}, {"bytes", point.bytes}});
  return {{"account", "fsdp1"}, {"peak", account.peak}, {"points", points}};
}

std::string accountText(const EagerAccount &account) {
  std::string out = "live bytes of one rank of PyTorch FSDP1, by account\n  iteration  point\n";
  for (const AccountPoint &point : account.points)
    out += padLeft(std::to_string(point.iteration), 11) + "  " + padRight(point.name, 16) +
           padLeft(std::to_string(point.bytes), 14) + "  " + padLeft(formatBytes(point.bytes), 11) + "\n";
  return out + "peak: " + formatBytesExact(account.peak) + "\n";
}

} // namespace sluice
