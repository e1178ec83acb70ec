//===- BlockGraph.cpp - the ops of a plan's blocks and their launches ------------------------===//
#include "passes/solver/choose/BlockGraph.h"

#include "runtime/plan/Issue.h"

#include <algorithm>

namespace sluice {
namespace {

std::span<const std::uint32_t> rangeOf(const std::vector<std::uint32_t> &values, const std::vector<std::uint32_t> &ends,
                                       std::uint32_t op) {
  const std::uint32_t begin = op == 0 ? 0 : ends[op - 1];
  return std::span(values).subspan(begin, ends[op] - begin);
}

std::int64_t bytesOf(const plan::ViewT &view) {
  return static_cast<std::int64_t>(elementCount(view.shape).value_or(0) * dtypeBytes(baseType(view.dtype)));
}

} // namespace

BlockGraph::BlockGraph(const plan::PlanT &plan, std::uint32_t entry) : plan(plan) {
  std::uint32_t begin = 0;
  for (const auto &function : plan.program->functions) {
    if (plan.program->names[function->name] == plan.entries[entry]->name)
      readOps(begin, function->ops_end);
    begin = function->ops_end;
  }
  readLaunches(*plan.entries[entry]);
}

void BlockGraph::readOps(std::uint32_t begin, std::uint32_t end) {
  const plan::ProgramT &program = *plan.program;
  std::unordered_map<std::string, std::size_t> indices;
  for (std::uint32_t op = begin; op < end; ++op) {
    for (std::uint32_t value : operandsOf(op))
      users[value].push_back(op);
    for (std::uint32_t value : resultsOf(op))
      producers[value] = op;
    const std::string &path = program.names[program.op_blocks[op]];
    const bool isForward = phaseOf(op) == plan::Phase::forward;
    if (path.empty() || (!isForward && phaseOf(op) != plan::Phase::backward))
      continue;
    const std::string block = path.substr(0, path.find('/'));
    const auto [found, isNew] = indices.try_emplace(block, list.size());
    if (isNew)
      list.push_back({block, {}, {}});
    (isForward ? list[found->second].forward : list[found->second].backward).push_back(op);
  }
}

void BlockGraph::readLaunches(const plan::EntryT &entry) {
  std::unordered_map<std::uint32_t, std::size_t> blockOfOp;
  for (std::size_t b = 0; b < list.size(); ++b)
    for (const auto *ops : {&list[b].forward, &list[b].backward})
      for (std::uint32_t op : *ops)
        blockOfOp[op] = b;
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t section) {
    const plan::LaunchT *launch = instruction.operation.AsLaunch();
    for (std::size_t k = 0; launch && k < launch->output_values.size(); ++k) {
      const std::uint32_t value = launch->output_values[k];
      const auto producer = producers.find(value);
      // The launch of a read casts a shard; the gathered parameter is no activation.
      if (value == 0 || producer == producers.end() || nameOf(producer->second) == "read")
        continue;
      launches.try_emplace(value, Computed{&instruction, value, bytesOf(*launch->outputs[k]),
                                           timesIssued(instruction, entry.sections[section]->repeat)});
      const auto block = blockOfOp.find(producer->second);
      if (block == blockOfOp.end())
        continue;
      BlockOps &ops = list[block->second];
      if (instruction.phase == plan::Phase::forward)
        ops.forwardEnd = std::max(ops.forwardEnd, i + 1);
      else
        ops.backwardBegin = std::min(ops.backwardBegin, i);
    }
  });
}

std::string_view BlockGraph::nameOf(std::uint32_t op) const {
  const std::string_view name = plan.program->kinds[plan.program->op_kinds[op]]->op;
  return name.substr(name.find('.') + 1);
}

plan::Phase BlockGraph::phaseOf(std::uint32_t op) const {
  return plan.program->kinds[plan.program->op_kinds[op]]->phase;
}

std::span<const std::uint32_t> BlockGraph::operandsOf(std::uint32_t op) const {
  return rangeOf(plan.program->operands, plan.program->operand_ends, op);
}

std::span<const std::uint32_t> BlockGraph::resultsOf(std::uint32_t op) const {
  return rangeOf(plan.program->results, plan.program->result_ends, op);
}

const std::vector<std::uint32_t> &BlockGraph::usersOf(std::uint32_t value) const {
  static const std::vector<std::uint32_t> none;
  const auto found = users.find(value);
  return found == users.end() ? none : found->second;
}

const BlockGraph::Computed *BlockGraph::computed(std::uint32_t value) const {
  for (auto found = producers.find(value); found != producers.end(); found = producers.find(value)) {
    if (const auto launch = launches.find(value); launch != launches.end())
      return &launch->second;
    // A view is in the memory of its first operand.
    const std::span<const std::uint32_t> operands = operandsOf(found->second);
    if (operands.empty())
      return nullptr;
    value = operands.front();
  }
  return nullptr;
}

} // namespace sluice
