//===- StateMutants.cpp - declared parameters, optimizer states and variables ---------===//
#include "test/mutants/mutate/Mutation.h"

#include <algorithm>

namespace sluice {

namespace {

/// Two parameters of the same shape and layout.
std::optional<std::pair<plan::ParameterT *, plan::ParameterT *>> alikeParameters(Mutation &m) {
  std::vector<std::pair<plan::ParameterT *, plan::ParameterT *>> pairs;
  for (const auto &a : m.plan.parameters)
    for (const auto &b : m.plan.parameters)
      if (a->name < b->name && a->shape == b->shape && a->dim == b->dim && a->axes == b->axes && a->chunk == b->chunk)
        pairs.push_back({a.get(), b.get()});
  return pairs.empty() ? std::nullopt : std::optional(m.pick(pairs));
}

bool swapParameterBuffers(Mutation &m) {
  const auto pair = alikeParameters(m);
  if (pair)
    std::swap(pair->first->buffer, pair->second->buffer);
  return pair.has_value();
}

/// True if the recorded program reads or writes the parameter.
bool isUsed(const plan::PlanT &plan, const std::string &parameter) {
  const plan::ProgramT &program = *plan.program;
  return std::ranges::any_of(program.op_symbols,
                             [&](std::uint32_t symbol) { return program.names[symbol] == parameter; });
}

/// Of parameters that the program does not use, the exchange is right for a model that declares them in another order.
bool swapParameterNames(Mutation &m) {
  const auto pair = alikeParameters(m);
  if (!pair || !m.plan.program || !isUsed(m.plan, pair->first->name) || !isUsed(m.plan, pair->second->name))
    return false;
  std::swap(pair->first->name, pair->second->name);
  return true;
}

plan::ParameterT *withStates(Mutation &m, std::size_t least) {
  std::vector<plan::ParameterT *> found;
  for (const auto &parameter : m.plan.parameters)
    if (parameter->states.size() >= least)
      found.push_back(parameter.get());
  return found.empty() ? nullptr : m.pick(found);
}

bool swapStateBuffers(Mutation &m) {
  plan::ParameterT *parameter = withStates(m, 2);
  if (parameter)
    std::swap(parameter->states[0]->buffer, parameter->states[1]->buffer);
  return parameter;
}

bool stateOfOtherParameter(Mutation &m) {
  const auto pair = alikeParameters(m);
  if (!pair || pair->first->states.empty() || pair->first->states.size() != pair->second->states.size())
    return false;
  std::swap(pair->first->states[0]->buffer, pair->second->states[0]->buffer);
  return true;
}

bool dropState(Mutation &m) {
  plan::ParameterT *parameter = withStates(m, 1);
  if (parameter)
    parameter->states.erase(parameter->states.begin() + std::int64_t(m.below(parameter->states.size())));
  return parameter;
}

bool renameState(Mutation &m) {
  plan::ParameterT *parameter = withStates(m, 1);
  if (parameter)
    m.pick(std::vector<plan::StateT *>{parameter->states[0].get(), parameter->states.back().get()})->name += "_old";
  return parameter;
}

bool dropVariable(Mutation &m) {
  if (m.plan.variables.empty())
    return false;
  m.plan.variables.erase(m.plan.variables.begin() + std::int64_t(m.below(m.plan.variables.size())));
  return true;
}

/// A tensor that is kept between steps is declared as a buffer of an entry point: a checkpoint does not have it.
bool forgetState(Mutation &m) {
  plan::ParameterT *parameter = withStates(m, 1);
  if (!parameter)
    return false;
  plan::BufferT &buffer = *m.plan.buffers[parameter->states[0]->buffer];
  const auto places = m.places([&](const auto &i) { return m.isUpdate(i); });
  if (places.empty())
    return false;
  buffer.entry = std::int32_t(places[0].entry);
  buffer.begin = 0;
  buffer.end = instructionCount(*m.plan.entries[places[0].entry]);
  parameter->states.erase(parameter->states.begin());
  return true;
}

} // namespace

std::vector<MutantKind> stateKinds() {
  return {
      {"swap-parameter-buffers",
       "the shards of two parameters are exchanged",
       {4, 8, 9, 10, 14, 15},
       swapParameterBuffers},
      {"swap-parameter-names", "the names of two parameters are exchanged", {9, 10, 15}, swapParameterNames},
      {"swap-state-buffers", "the buffers of two states of a parameter are exchanged", {8, 9, 15}, swapStateBuffers},
      {"state-of-other-parameter", "the states of two parameters are exchanged", {8, 9, 10, 15}, stateOfOtherParameter},
      {"drop-state", "a state of a parameter is not declared", {8, 15}, dropState},
      {"rename-state", "a state of a parameter has a different name", {9, 15}, renameState},
      {"drop-variable", "a variable is not declared", {8, 15}, dropVariable},
      {"forget-state", "a state of a parameter is not kept between steps", {1, 2, 8, 12, 15}, forgetState},
  };
}

} // namespace sluice
