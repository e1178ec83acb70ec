//===- EagerProgram.cpp - the training step as eager execution sees it ---------------------===//
#include "runtime/report/accounts/EagerProgram.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Roles.h"
#include "runtime/report/Describe.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <ranges>

namespace sluice {
namespace {

using plan::Phase;

bool isView(std::string_view op) {
  constexpr std::array views = {"broadcast", "reshape", "transpose", "slice", "split"};
  return std::ranges::count(views, op) != 0;
}

class ProgramReader {
public:
  ProgramReader(const plan::PlanT &plan, std::string_view entry) : plan(plan), program(*plan.program) {
    result.isCuda = plan.target && plan.target->device == "cuda";
    result.isSelective = std::ranges::any_of(plan.recipe, [](const std::string &setting) {
      return setting.starts_with("recompute.policy") && setting.find("\"selective\"") != std::string::npos;
    });
    result.storages.resize(program.values.size() + 1);
    result.storageOf.resize(program.values.size() + 1);
    std::iota(result.storageOf.begin(), result.storageOf.end(), 0u);
    for (const auto &axis : plan.mesh)
      if (axis->role == plan::AxisRole::shard && axis->name == axisBase(axis->name))
        result.shardRanks = axis->size;
    for (const auto &parameter : plan.parameters) {
      indexOf[parameter->name] = int(result.parameters.size());
      const DType dtype = baseType(parameter->dtype);
      result.parameters.push_back({parameter.get(), dtype, dtype});
    }
    for (const auto &unit : plan.units) {
      result.units.push_back({unit.get(), unit->parameters});
      for (std::uint32_t p : unit->parameters)
        unitOf[p] = result.units.size() - 1;
    }
    readOps(entry);
    for (std::uint32_t i = 0; i < result.ops.size(); ++i)
      addOp(i);
    for (EagerUnit &unit : result.units)
      addBlock(unit);
  }

  EagerProgram take() { return std::move(result); }

private:
  const plan::ProgramTypeT &typeOf(std::uint32_t value) const { return *program.types[program.values[value - 1]]; }

  std::uint64_t bytesOf(std::uint32_t value) const {
    const plan::ProgramTypeT &type = typeOf(value);
    return elementCount(type.shape).value_or(0) * dtypeBytes(baseType(type.dtype));
  }

  void readOps(std::string_view entry) {
    std::uint32_t begin = 0, end = 0, inputs = 0;
    for (const auto &function : program.functions) {
      if (program.names[function->name] == entry) {
        end = function->ops_end;
        for (std::uint32_t i = inputs; i < function->inputs_end; ++i)
          result.batchBytes += bytesOf(program.inputs[i]);
        break;
      }
      begin = function->ops_end;
      inputs = function->inputs_end;
    }
    for (std::uint32_t i = begin; i < end; ++i) {
      const plan::ProgramKindT &kind = *program.kinds[program.op_kinds[i]];
      const std::uint32_t operand = i == 0 ? 0 : program.operand_ends[i - 1],
                          first = i == 0 ? 0 : program.result_ends[i - 1];
      const std::string_view name = kind.op;
      result.ops.push_back({name.substr(name.find('.') + 1), kind.phase, program.names[program.op_blocks[i]],
                            program.names[program.op_symbols[i]],
                            std::span(program.operands).subspan(operand, program.operand_ends[i] - operand),
                            std::span(program.results).subspan(first, program.result_ends[i] - first), &kind});
    }
  }

  void addOp(std::uint32_t i) {
    const EagerOp &op = result.ops[i];
    for (std::uint32_t operand : op.operands)
      if (operand != 0)
        read(result.storages[result.storageOf[operand]], i);
    if (op.name == "gradient" && op.readsFirst())
      addGradient(op);
    result.ops[i].scores = scoresOf(op);
    for (std::uint32_t value : op.results) {
      if (value == 0)
        continue;
      // The reduction of a gradient is counted with its unit.
      if ((isView(op.name) || op.name == "gradient") && op.readsFirst()) {
        result.storageOf[value] = result.storageOf[op.operands[0]];
        continue;
      }
      EagerStorage &storage = result.storages[value];
      storage.phase = storage.lastPhase = op.phase;
      storage.begin = storage.last = i;
      storage.elements = elementCount(typeOf(value).shape).value_or(0);
      storage.parameter = parameterOfResult(op);
      if (storage.parameter < 0)
        storage.bytes = bytesOf(value);
      else
        result.parameters[std::size_t(storage.parameter)].compute = baseType(typeOf(value).dtype);
    }
  }

  /// From the queries [B, T, H, D] and the keys [B, S, Hk, D].
  std::uint64_t scoresOf(const EagerOp &op) const {
    const std::size_t queries = op.name == "attention_grad" ? 1 : 0;
    if (!op.name.starts_with("attention") || op.operands.size() < queries + 2 || op.operands[queries] == 0 ||
        op.operands[queries + 1] == 0)
      return 0;
    const auto &q = typeOf(op.operands[queries]).shape, &k = typeOf(op.operands[queries + 1]).shape;
    return q.size() == 4 && k.size() == 4 ? elementCount(std::vector{q[0], q[2], q[1], k[1]}).value_or(0) : 0;
  }

  /// The parameter that the op reads, or of whose value the result is a cast; -1: none.
  int parameterOfResult(const EagerOp &op) const {
    if (op.phase > Phase::backward)
      return -1;
    if (op.name == "read") {
      const auto found = indexOf.find(op.symbol);
      return found == indexOf.end() ? -1 : found->second;
    }
    return op.name == "cast" && op.readsFirst() ? result.storage(op.operands[0]).parameter : -1;
  }

  void read(EagerStorage &storage, std::uint32_t i) {
    storage.last = i;
    storage.lastPhase = std::max(storage.lastPhase, result.ops[i].phase);
    if (storage.parameter < 0 || result.ops[i].phase > Phase::backward)
      return;
    if (const auto unit = unitOf.find(std::uint32_t(storage.parameter)); unit != unitOf.end())
      extend(result.units[unit->second], i);
  }

  void extend(EagerUnit &unit, std::uint32_t i) {
    const bool isBackward = result.ops[i].phase == Phase::backward;
    std::uint32_t &begin = isBackward ? unit.backwardBegin : unit.begin,
                  &end = isBackward ? unit.backwardEnd : unit.end;
    begin = std::min(begin, i);
    end = std::max(end, i);
  }

  void addGradient(const EagerOp &op) {
    const auto found = indexOf.find(op.symbol);
    if (found == indexOf.end())
      return;
    EagerParameter &parameter = result.parameters[std::size_t(found->second)];
    EagerStorage &storage = result.storages[result.storageOf[op.operands[0]]];
    storage.isGradient = true;
    parameter.gradient = storage.begin;
    parameter.reduce = baseType(typeOf(op.operands[0]).dtype);
    // Of a tied parameter it is a sum, whose terms have the compute type in PyTorch.
    if (const EagerOp &sum = result.ops[storage.begin]; sum.name == "add" && sum.phase == Phase::backward)
      for (const std::uint32_t term : sum.operands)
        if (EagerStorage &own = result.storages[result.storageOf[term]]; term != 0 && own.elements == storage.elements)
          own.bytes = own.elements * dtypeBytes(parameter.compute);
    if (const auto unit = unitOf.find(std::uint32_t(found->second)); unit != unitOf.end())
      extend(result.units[unit->second], storage.begin);
  }

  /// A unit is often a module: its ops before and after those that read parameters belong to it.
  void addBlock(EagerUnit &unit) {
    const std::string &name = unit.unit->name;
    for (std::uint32_t i = 0; i < result.ops.size(); ++i) {
      const EagerOp &op = result.ops[i];
      const bool isInside =
          op.block.starts_with(name) && (op.block.size() == name.size() || op.block[name.size()] == '/');
      if (isInside && (op.phase == Phase::forward || op.phase == Phase::backward))
        extend(unit, i);
    }
  }

  const plan::PlanT &plan;
  const plan::ProgramT &program;
  EagerProgram result;
  std::map<std::string, int, std::less<>> indexOf;
  /// By index of the parameter.
  std::map<std::uint32_t, std::size_t> unitOf;
};

} // namespace

void BytesOverTime::add(std::size_t begin, std::size_t end, std::uint64_t bytes) {
  if (begin <= end && begin < instants && bytes > 0)
    added.push_back({begin, std::min(end, instants - 1), bytes});
}

std::vector<std::uint64_t> BytesOverTime::values() const {
  std::vector<std::int64_t> change(instants + 1, 0);
  for (const Tensor &tensor : added) {
    change[tensor.begin] += std::int64_t(tensor.bytes);
    change[tensor.end + 1] -= std::int64_t(tensor.bytes);
  }
  std::vector<std::uint64_t> values;
  std::int64_t now = 0;
  for (std::size_t i = 0; i < instants; ++i)
    values.push_back(std::uint64_t(now += change[i]));
  return values;
}

Result<EagerProgram> readEagerProgram(const plan::PlanT &plan, std::string_view account) {
  for (const auto &axis : plan.mesh)
    if (axis->size > 1 && (!dividesRows(axis->role) || axis->name != axisBase(axis->name)))
      return inputError(concat("the account of ", account, " has no mesh axis '", axis->name, "'"))
          .withNote("compile for the axes 'replicate' and 'shard'");
  std::vector<std::string_view> trained;
  for (const auto &entry : plan.entries)
    if (hasUpdate(*entry))
      trained.push_back(entry->name);
  const auto step = std::ranges::find(trained, "train_step");
  if (!plan.program || (trained.size() != 1 && step == trained.end()))
    return inputError(concat("the account of ", account,
                             " is of a plan's only entry point that trains, or of 'train_step', but the plan has ",
                             trained.size(), " others"));
  EagerProgram program = ProgramReader(plan, step == trained.end() ? trained[0] : *step).take();
  if (program.ops.empty())
    return inputError(concat("the account of ", account, " is of plans with an unsharded program"));
  return program;
}

} // namespace sluice
