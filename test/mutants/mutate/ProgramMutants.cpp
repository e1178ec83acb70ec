//===- ProgramMutants.cpp - the recorded program, and the values that launches name ---===//
#include "test/mutants/mutate/Mutation.h"

#include <algorithm>

namespace sluice {

namespace {

bool otherValue(Mutation &m) {
  return m.edit([](const auto &i) { return isLaunch(i) && !i.operation.AsLaunch()->input_values.empty(); },
                [&](plan::InstructionT &i) {
                  auto &values = i.operation.AsLaunch()->input_values;
                  values[m.below(values.size())] = std::uint32_t(m.below(m.plan.program->values.size() + 1));
                });
}

bool programAttribute(Mutation &m) {
  std::vector<plan::AttributeT *> found;
  for (const auto &kind : m.plan.program->kinds)
    for (const auto &attribute : kind->attributes)
      if (attribute->kind < 2)
        found.push_back(attribute.get());
  if (found.empty())
    return false;
  plan::AttributeT &changed = *m.pick(found);
  changed.integer += changed.kind == 0;
  changed.number = changed.kind == 1 ? changed.number + 1 : changed.number;
  return true;
}

bool programOperands(Mutation &m) {
  auto &operands = m.plan.program->operands;
  if (operands.size() < 2)
    return false;
  const std::size_t k = m.below(operands.size() - 1);
  std::swap(operands[k], operands[k + 1]);
  return operands[k] != operands[k + 1];
}

bool programKind(Mutation &m) {
  auto &kinds = m.plan.program->op_kinds;
  if (kinds.empty())
    return false;
  kinds[m.below(kinds.size())] = std::uint32_t(m.below(m.plan.program->kinds.size()));
  return true;
}

bool otherOutputValue(Mutation &m) {
  return m.edit([](const auto &i) { return isLaunch(i) && !i.operation.AsLaunch()->output_values.empty(); },
                [&](plan::InstructionT &i) {
                  auto &values = i.operation.AsLaunch()->output_values;
                  values[m.below(values.size())] = std::uint32_t(m.below(m.plan.program->values.size() + 1));
                });
}

/// A launch that names no values computes another number.
bool hideChange(Mutation &m) {
  return m.edit(
      [](const auto &i) {
        return isLaunch(i) && std::ranges::any_of(i.operation.AsLaunch()->attributes,
                                                  [](const auto &attribute) { return attribute->kind == 1; });
      },
      [&](plan::InstructionT &i) {
        plan::LaunchT &launch = *i.operation.AsLaunch();
        for (auto *values : {&launch.input_values, &launch.output_values})
          std::ranges::fill(*values, 0);
        for (const auto &attribute : launch.attributes)
          if (attribute->kind == 1)
            attribute->number = attribute->number == 0 ? 0.25 : 2 * attribute->number;
      });
}

template <typename T> bool swapNeighbours(Mutation &m, std::vector<T> &list) {
  if (list.size() < 2)
    return false;
  const std::size_t k = m.below(list.size() - 1);
  std::swap(list[k], list[k + 1]);
  return list[k] != list[k + 1];
}

bool programType(Mutation &m) {
  auto &types = m.plan.program->types;
  if (types.empty())
    return false;
  plan::ProgramTypeT &type = *types[m.below(types.size())];
  if (type.shape.empty() || m.coin())
    type.dtype = plan::DType(m.below(7));
  else
    ++type.shape[m.below(type.shape.size())];
  return true;
}

} // namespace

std::vector<MutantKind> programKinds() {
  return {
      {"other-value", "a launch names a different value of the recorded program", {1, 9, 14}, otherValue},
      {"program-attribute", "an attribute of the recorded program is different", {1, 9, 10, 14}, programAttribute},
      {"program-operands", "two operands of the recorded program are exchanged", {1, 9, 10, 15}, programOperands},
      {"program-op", "an op of the recorded program is different", {1, 7, 9, 10, 15}, programKind},
      {"other-output-value", "a launch names a different value as its result", {1, 9, 14}, otherOutputValue},
      {"hide-change", "a launch that names no values computes a different number", {1, 7, 9, 10}, hideChange},
      {"program-results",
       "two results of the recorded program are exchanged",
       {1, 7, 9, 10},
       [](Mutation &m) { return swapNeighbours(m, m.plan.program->results); }},
      {"program-outputs",
       "two outputs of the recorded program are exchanged",
       {1, 9, 10},
       [](Mutation &m) { return swapNeighbours(m, m.plan.program->outputs); }},
      {"program-inputs",
       "the names of two inputs of the recorded program are exchanged",
       {1, 9, 14},
       [](Mutation &m) { return swapNeighbours(m, m.plan.program->input_names); }},
      {"program-symbols",
       "two ops of the recorded program read or write each other's parameter",
       {1, 9, 10, 15},
       [](Mutation &m) { return swapNeighbours(m, m.plan.program->op_symbols); }},
      {"program-type", "a type of the recorded program is different", {1, 8, 9, 10, 15}, programType},
  };
}

} // namespace sluice
