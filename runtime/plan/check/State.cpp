//===- State.cpp - P15: the declared state is complete ----------------------------------------===//
//
// The declared state is the parameters, their states, and the variables; a checkpoint has each of them by its name.
//
//   - Each persistent buffer holds exactly one tensor of the declared state, and has its class. Bytes of other buffers
//     do not pass from one step to the next: P2 refuses a read of bytes that the step has not written.
//   - The tensors that the unsharded program reads or writes are those of the declared state, with the same names,
//     global shapes and element types. A state or a variable that the program does not have is refused.
//   - The outputs of an entry point have the names that the program gives them, each once.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include "runtime/plan/check/proof/Numbering.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace sluice::check {
namespace {

using plan::BufferClass;

template <typename... Parts> Verdict badState(const Parts &...parts) { return refuse(15, concat(parts...)); }

/// A tensor of the state by the name of its parameter or variable, and of its state; empty: the tensor itself.
using TensorName = std::pair<std::string, std::string>;

std::string textOf(const TensorName &name) {
  return name.second.empty() ? "'" + name.first + "'" : "state '" + name.second + "' of '" + name.first + "'";
}

struct Tensor {
  plan::DType dtype = plan::DType::f32;
  std::vector<std::int64_t> shape;
  std::uint32_t buffer = 0;
  BufferClass bufferClass = BufferClass::parameter;
};
using Tensors = std::map<TensorName, Tensor>;

/// By P1 the names are distinct.
Tensors declaredState(const plan::PlanT &plan) {
  Tensors state;
  for (const auto &parameter : plan.parameters) {
    state[{parameter->name, ""}] = {parameter->dtype, parameter->shape, parameter->buffer};
    for (const auto &own : parameter->states)
      state[{parameter->name, own->name}] = {plan.buffers[own->buffer]->dtype, parameter->shape, own->buffer,
                                             BufferClass::optimizer};
  }
  for (const auto &variable : plan.variables) {
    const plan::BufferT &buffer = *plan.buffers[variable->buffer];
    state[{variable->name, ""}] = {buffer.dtype, buffer.shape, variable->buffer, BufferClass::state};
  }
  return state;
}

/// Each persistent buffer holds one tensor.
Verdict checkBuffers(const plan::PlanT &plan, const Tensors &state) {
  std::unordered_map<std::uint32_t, const Tensors::value_type *> holders;
  for (const auto &tensor : state)
    if (const auto [found, isNew] = holders.emplace(tensor.second.buffer, &tensor); !isNew)
      return badState("buffer '", plan.buffers[tensor.second.buffer]->name, "' holds both ",
                      textOf(found->second->first), " and ", textOf(tensor.first));
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::BufferT &buffer = *plan.buffers[b];
    if (buffer.entry != -1)
      continue;
    const auto holder = holders.find(b);
    if (holder == holders.end())
      return badState("buffer '", buffer.name, "' persists but holds no parameter, optimizer state or variable");
    if (const BufferClass expected = holder->second->second.bufferClass; buffer.class_ != expected)
      return badState("buffer '", buffer.name, "', expected class ", plan::EnumNameBufferClass(expected), " but got ",
                      plan::EnumNameBufferClass(buffer.class_));
  }
  return {};
}

/// A tensor that the program reads or writes, by the first value of each; 0: none.
struct Recorded {
  std::uint32_t read = 0, written = 0;
};

std::map<TensorName, Recorded> recordedState(const plan::ProgramT &program) {
  std::map<TensorName, Recorded> recorded;
  for (std::uint32_t op = 0; op < program.op_kinds.size(); ++op) {
    const plan::ProgramKindT &kind = *program.kinds[program.op_kinds[op]];
    const bool reads = kind.op == "model.read";
    if (!reads && kind.op != "model.write")
      continue;
    const auto &ids = reads ? program.results : program.operands;
    const auto &ends = reads ? program.result_ends : program.operand_ends;
    const std::uint32_t first = op == 0 ? 0 : ends[op - 1];
    if (first == ends[op])
      continue;
    Recorded &tensor = recorded[{program.names[program.op_symbols[op]], proof::textOf(kind, "state")}];
    if (std::uint32_t &value = reads ? tensor.read : tensor.written; value == 0)
      value = ids[first];
  }
  return recorded;
}

Verdict checkProgram(const plan::PlanT &plan, const Tensors &state, Finding &finding) {
  const std::map<TensorName, Recorded> recorded = recordedState(*plan.program);
  for (const auto &[name, values] : recorded) {
    const std::uint32_t value = values.written != 0 ? values.written : values.read;
    if (value == 0)
      continue;
    ++finding.facts;
    const auto found = state.find(name);
    if (found == state.end())
      return badState("the unsharded program has ", textOf(name), ", which the plan does not declare");
    const plan::ProgramTypeT &type = *plan.program->types[plan.program->values[value - 1]];
    // A read of a parameter may have the type in which the step computes; a write has its own.
    const bool isOwnType = values.written != 0 || found->second.bufferClass != BufferClass::parameter;
    if ((isOwnType && found->second.dtype != type.dtype) || found->second.shape != type.shape)
      return badState(textOf(name), ", expected ", typeText(type.dtype, type.shape),
                      " as in the unsharded program but got ", typeText(found->second.dtype, found->second.shape));
  }
  for (const auto &[name, tensor] : state)
    // A parameter that no function uses is kept with the model.
    if (tensor.bufferClass != BufferClass::parameter && !recorded.contains(name))
      return badState(textOf(name), " is declared, but is not in the unsharded program");
  return {};
}

Verdict checkOutputs(const plan::PlanT &plan, Finding &finding) {
  const plan::ProgramT &program = *plan.program;
  std::uint32_t first = 0;
  for (const auto &function : program.functions) {
    const int e = findEntry(plan, program.names[function->name]);
    const std::uint32_t begin = std::exchange(first, function->outputs_end);
    if (e < 0)
      continue;
    const plan::EntryT &entry = *plan.entries[std::size_t(e)];
    for (std::uint32_t k = 0; k < entry.outputs.size(); ++k) {
      ++finding.facts;
      const std::string &name = entry.outputs[k]->name;
      // Further outputs are those that P9 recognizes, such as the loss of a rank.
      if (const std::string *expected =
              begin + k < function->outputs_end ? &program.names[program.output_names[begin + k]] : nullptr;
          expected && *expected != name)
        return badState("output ", k, " of '", entry.name, "', expected the name '", *expected, "' but got '", name,
                        "'");
    }
  }
  return {};
}

} // namespace

Verdict stateIsComplete(const plan::PlanT &plan, Findings &findings) {
  const Tensors state = declaredState(plan);
  SLUICE_CHECK(checkBuffers(plan, state));
  findings[15].facts += state.size();
  if (!plan.program || plan.program->functions.empty()) {
    findings[15].notProved = "the plan has no unsharded program";
    return {};
  }
  SLUICE_CHECK(checkProgram(plan, state, findings[15]));
  return checkOutputs(plan, findings[15]);
}

} // namespace sluice::check
