//===- WellFormedProgram.cpp - P1 for the unsharded program -----------------------------===//
//
// Every index is in range, so that a reader may follow them, and each value has one definition. The meaning of the ops
// is not examined.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include "runtime/plan/check/proof/KernelRules.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::check {
namespace {

template <typename... Parts> Verdict badProgram(const Parts &...parts) {
  return refuse(1, concat("unsharded program, ", parts...));
}

using Numbers = std::vector<std::uint32_t>;

Verdict checkBelow(const char *what, const Numbers &numbers, std::size_t end) {
  const auto wrong = std::ranges::find_if(numbers, [&](std::uint32_t number) { return number >= end; });
  if (wrong == numbers.end())
    return {};
  return badProgram(what, " ", *wrong, " does not exist");
}

/// A name for each of `count` ops, inputs or outputs.
Verdict checkNames(const char *what, const Numbers &indices, std::size_t count, std::size_t names) {
  if (indices.size() != count)
    return badProgram("expected a name for each of ", count, " ", what, " but got ", indices.size());
  return checkBelow("name", indices, names);
}

/// `ends` divides `ids` into one part for each op.
Verdict checkEnds(const char *what, const Numbers &ids, const Numbers &ends, std::size_t ops) {
  if (ends.size() != ops || !std::ranges::is_sorted(ends) || (ops == 0 ? 0 : ends.back()) != ids.size())
    return badProgram("the ends of ", what, " do not divide ", ids.size(), " ids among ", ops, " ops");
  return {};
}

/// The functions divide ops, inputs and outputs, and have distinct names.
Verdict checkFunctions(const plan::ProgramT &program) {
  std::set<std::uint32_t> names;
  const plan::ProgramFunctionT none, *last = &none;
  for (const auto &function : program.functions) {
    if (function->name >= program.names.size() || !names.insert(function->name).second)
      return badProgram("expected a separate name for each function but got name ", function->name);
    if (function->ops_end < last->ops_end || function->inputs_end < last->inputs_end ||
        function->outputs_end < last->outputs_end)
      return badProgram("the functions do not divide ops, inputs and outputs");
    last = function.get();
  }
  if (last->ops_end != program.op_kinds.size() || last->inputs_end != program.inputs.size() ||
      last->outputs_end != program.outputs.size())
    return badProgram("the functions do not divide ops, inputs and outputs");
  return {};
}

/// Each value is an input or a result once, and only its function uses it, after that. 0: none.
Verdict checkDefinitions(const plan::ProgramT &program) {
  // For each value, the number of the function that defines it, from 1 on.
  std::vector<std::size_t> definedIn(program.values.size() + 1);
  std::size_t f = 0, op = 0, operand = 0, result = 0, input = 0, output = 0;
  const auto define = [&](const Numbers &ids, std::size_t &at, std::size_t end) -> Verdict {
    for (; at < end; ++at)
      if (ids[at] != 0 && std::exchange(definedIn[ids[at]], f) != 0)
        return badProgram("value ", ids[at], " is defined twice");
    return {};
  };
  const auto use = [&](const Numbers &ids, std::size_t &at, std::size_t end) -> Verdict {
    for (; at < end; ++at)
      if (ids[at] != 0 && definedIn[ids[at]] != f)
        return badProgram("value ", ids[at], " is used before its function defines it");
    return {};
  };
  for (const auto &function : program.functions) {
    ++f;
    SLUICE_CHECK(define(program.inputs, input, function->inputs_end));
    for (; op < function->ops_end; ++op) {
      SLUICE_CHECK(use(program.operands, operand, program.operand_ends[op]));
      SLUICE_CHECK(define(program.results, result, program.result_ends[op]));
    }
    SLUICE_CHECK(use(program.outputs, output, function->outputs_end));
  }
  return {};
}

Verdict checkKind(const plan::ProgramKindT &kind) {
  if (kind.phase > plan::Phase::MAX)
    return badProgram("op '" + kind.op + "' is of unknown phase");
  if (!proof::isKnownOp(kind.op))
    return badProgram("unknown op '" + kind.op + "'");
  const std::string problem = formProblem(kind.attributes);
  return problem.empty() ? Verdict() : badProgram("op '" + kind.op + "', " + problem);
}

} // namespace

Verdict wellFormedProgram(const plan::PlanT &plan, Findings &findings) {
  if (!plan.program)
    return {};
  const plan::ProgramT &program = *plan.program;
  for (const auto &type : program.types)
    if (type->dtype > plan::DType::MAX || type->shape.size() > maxDims || !elementCount(type->shape))
      return badProgram("a type of values with shape " + formatShape(type->shape) +
                        " has an unknown dtype, too many dims, is negative or overflows");
  for (const auto &kind : program.kinds)
    SLUICE_CHECK(checkKind(*kind));
  if (program.names.empty() || !program.names.front().empty() ||
      std::set<std::string_view>(program.names.begin(), program.names.end()).size() != program.names.size())
    return badProgram("expected separate names, the first of them empty");
  SLUICE_CHECK(checkBelow("type", program.values, program.types.size()));
  const std::size_t ids = program.values.size() + 1, ops = program.op_kinds.size();
  findings[1].facts += ops;
  SLUICE_CHECK(checkBelow("kind", program.op_kinds, program.kinds.size()));
  SLUICE_CHECK(checkNames("ops", program.op_blocks, ops, program.names.size()));
  SLUICE_CHECK(checkNames("ops", program.op_symbols, ops, program.names.size()));
  SLUICE_CHECK(checkNames("inputs", program.input_names, program.inputs.size(), program.names.size()));
  SLUICE_CHECK(checkNames("outputs", program.output_names, program.outputs.size(), program.names.size()));
  if (program.input_roles.size() != program.inputs.size())
    return badProgram("expected a role for each of ", program.inputs.size(), " inputs but got ",
                      program.input_roles.size());
  SLUICE_CHECK(checkEnds("operands", program.operands, program.operand_ends, ops));
  SLUICE_CHECK(checkEnds("results", program.results, program.result_ends, ops));
  for (const Numbers *values : {&program.operands, &program.results, &program.inputs, &program.outputs})
    SLUICE_CHECK(checkBelow("value", *values, ids));
  SLUICE_CHECK(checkFunctions(program));
  return checkDefinitions(program);
}

} // namespace sluice::check
