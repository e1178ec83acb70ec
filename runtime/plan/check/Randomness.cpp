//===- Randomness.cpp - P14: random values do not depend on the layout ------------------------===//
//
// A random value is a function of (seed, step, key, index). For each launch of a kernel that draws, its operands
// `seed`, `step` and `row` are the inputs of the entry point with these roles, or copies of them. No two parameters
// with random initial values have one key. Initial values are those of step 0, and steps count from 1, so they share no
// random values with the ops of a step. P9 proves the rest: the key is that of the op or of the parameter, and the
// kernel counts the elements of the unsharded value.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include "runtime/plan/LaunchAttributes.h"
#include "runtime/plan/check/proof/KernelRules.h"
#include "runtime/plan/check/proof/Numbering.h"

#include <algorithm>
#include <map>

namespace sluice::check {
namespace {

using proof::attributeOf;

bool isRandom(const plan::InitializerT &initializer) {
  return initializer.kind == plan::InitializerKind::normal || initializer.kind == plan::InitializerKind::uniform;
}

/// The input of the entry point that an operand of a kernel has to be, by the operand's name in the record.
std::optional<plan::PortRole> drawnWith(const OperandRecord &operand) {
  constexpr std::pair<std::string_view, plan::PortRole> roles[] = {
      {"seed", plan::PortRole::seed}, {"step", plan::PortRole::step}, {"row", plan::PortRole::row}};
  for (const auto &[name, role] : roles)
    if (operand.name == name)
      return role;
  return std::nullopt;
}

bool draws(const KernelRecord &record) {
  return std::ranges::any_of(record.inputs,
                             [](const OperandRecord &input) { return drawnWith(input) == plan::PortRole::seed; });
}

std::int64_t keyOf(const plan::ProgramKindT &kind) {
  const plan::AttributeT *key = attributeOf(kind, "key");
  return key ? key->integer : 0;
}

class EntryRandomness {
public:
  EntryRandomness(const plan::PlanT &plan, std::uint32_t e, Finding &finding) : plan(plan), e(e), finding(finding) {}

  Verdict run() {
    for (const auto &port : plan.entries[e]->inputs)
      inputs[{port->view->buffer, port->view->offset}] = port->role;
    return followSamples(*plan.entries[e],
                         [&](const plan::InstructionT &instruction, std::uint32_t i) { return visit(instruction, i); });
  }

private:
  using Place = std::pair<std::uint32_t, std::uint64_t>;

  /// Of the input that a scalar holds; nothing for others.
  std::optional<plan::PortRole> roleAt(const plan::ViewT &view) const {
    const auto found = inputs.find({view.buffer, view.offset});
    return found == inputs.end() ? std::nullopt : std::optional(found->second);
  }

  Verdict visit(const plan::InstructionT &instruction, std::uint32_t i) {
    const plan::LaunchT *launch = instruction.operation.AsLaunch();
    if (const KernelRecord *record = launch ? findKernelRecord(plan.kernels[launch->kernel]) : nullptr;
        record && draws(*record))
      SLUICE_CHECK(check(*launch, *record, i));
    // Scalars that are copies of inputs.
    const plan::CopyT *copy = instruction.operation.AsCopy();
    const plan::ViewT *source = copy                                               ? copy->source.get()
                                : launch && plan.kernels[launch->kernel] == "copy" ? launch->inputs[0].get()
                                                                                   : nullptr;
    const std::optional<plan::PortRole> role = source ? roleAt(*source) : std::nullopt;
    forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
      if (!isWrite)
        return;
      inputs.erase(inputs.lower_bound({view.buffer, 0}), inputs.lower_bound({view.buffer + 1, 0}));
      if (role)
        inputs[{view.buffer, view.offset}] = *role;
    });
    return {};
  }

  Verdict check(const plan::LaunchT &launch, const KernelRecord &record, std::uint32_t i) {
    ++finding.facts;
    const auto operands = inputRecords(record, attributesOf(launch), launch.inputs.size());
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const std::optional<plan::PortRole> role = drawnWith(*operands[k]);
      if (!role)
        continue;
      const std::string name(operands[k]->name);
      if (roleAt(*launch.inputs[k]) != role)
        return bad(i, concat("draws with '", plan.buffers[launch.inputs[k]->buffer]->name, "' as ", name,
                             ", which is not the input '", name, "'"));
    }
    return {};
  }

  Verdict bad(std::uint32_t i, const std::string &text) const { return refuse(14, place(plan, e, i) + " " + text); }

  const plan::PlanT &plan;
  std::uint32_t e;
  Finding &finding;
  /// The names of the inputs that scalars hold, by buffer and offset.
  std::map<Place, plan::PortRole> inputs;
};

/// Two ops of a function that draw the same values: of the forward, because a derivative draws those of its op again.
/// Ops of one kind with equal operands and types of results are the same op, such as one that is computed again.
void findSharedKeys(const plan::ProgramT &program, Finding &finding) {
  std::uint32_t op = 0;
  for (const auto &function : program.functions) {
    std::map<std::int64_t, std::vector<std::uint32_t>> valuesByKey;
    for (; op < function->ops_end; ++op) {
      const plan::ProgramKindT &kind = *program.kinds[program.op_kinds[op]];
      const KernelRecord *record = proof::recordOfOp(kind.op);
      // Attention without dropout has no key.
      if (!record || !draws(*record) || !attributeOf(kind, "key") || kind.phase != plan::Phase::forward)
        continue;
      const std::uint32_t first = op == 0 ? 0 : program.operand_ends[op - 1],
                          result = program.results[op == 0 ? 0 : program.result_ends[op - 1]];
      std::vector<std::uint32_t> values(program.operands.begin() + first,
                                        program.operands.begin() + program.operand_ends[op]);
      values.insert(values.end(), {program.op_kinds[op], result == 0 ? 0 : program.values[result - 1]});
      const auto [found, isNew] = valuesByKey.emplace(keyOf(kind), values);
      if (!isNew && found->second != values && finding.notProved.empty())
        finding.notProved =
            concat("two ops of '", program.names[function->name], "' draw random values with the key ", keyOf(kind));
    }
  }
}

} // namespace

Verdict randomValuesAreKeyed(const plan::PlanT &plan, Findings &findings) {
  Finding &finding = findings[14];
  std::map<std::uint64_t, const plan::ParameterT *> keys;
  for (const auto &parameter : plan.parameters) {
    if (!parameter->initializer || !isRandom(*parameter->initializer))
      continue;
    ++finding.facts;
    if (const auto [found, isNew] = keys.emplace(parameter->key, parameter.get()); !isNew)
      return refuse(14, concat("parameters '", found->second->name, "' and '", parameter->name,
                               "' have the same initial values, both with key ", parameter->key));
  }
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
    SLUICE_CHECK(EntryRandomness(plan, e, finding).run());
  if (plan.program)
    findSharedKeys(*plan.program, finding);
  return {};
}

} // namespace sluice::check
