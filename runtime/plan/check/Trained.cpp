//===- Trained.cpp - the parameters that the unsharded program trains ---------------------===//
//
// See Trained.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Trained.h"

#include <algorithm>

namespace sluice::check {
namespace {

bool isFloat(plan::DType dtype) { return dtype <= plan::DType::f16; }

/// Marks the values that the loss of a function depends on, from its last op to its first.
class Function {
public:
  Function(const plan::PlanT &plan, std::uint32_t index) : program(*plan.program) {
    const plan::ProgramFunctionT none, &before = index == 0 ? none : *program.functions[index - 1];
    const plan::ProgramFunctionT &own = *program.functions[index];
    firstOp = before.ops_end;
    endOp = own.ops_end;
    firstInput = before.inputs_end;
    endInput = own.inputs_end;
    firstOutput = before.outputs_end;
    endOutput = own.outputs_end;
  }

  bool trains() const {
    for (std::uint32_t input = firstInput; input < endInput; ++input)
      if (program.input_roles[input] == plan::PortRole::learning_rate)
        return true;
    for (std::uint32_t op = firstOp; op < endOp; ++op)
      if (program.kinds[program.op_kinds[op]]->op == "model.gradient")
        return true;
    return false;
  }

  /// Calls `visit(name)` for each parameter that the loss depends on.
  template <typename Visit> void forEachTrained(Visit &&visit) const {
    std::vector<bool> isOfLoss(program.values.size() + 1);
    if (firstOutput < endOutput)
      isOfLoss[program.outputs[firstOutput]] = true;
    for (std::uint32_t op = endOp; op-- > firstOp;) {
      const auto [firstResult, endResult] = rangeOf(program.result_ends, op);
      bool isNeeded = false;
      for (std::uint32_t r = firstResult; r < endResult; ++r) {
        const std::uint32_t value = program.results[r];
        isNeeded =
            isNeeded || (value != 0 && isOfLoss[value] && isFloat(program.types[program.values[value - 1]]->dtype));
      }
      if (!isNeeded)
        continue;
      if (program.kinds[program.op_kinds[op]]->op == "model.read")
        visit(program.names[program.op_symbols[op]]);
      const auto [firstOperand, endOperand] = rangeOf(program.operand_ends, op);
      for (std::uint32_t o = firstOperand; o < endOperand; ++o)
        isOfLoss[program.operands[o]] = true;
    }
  }

private:
  static std::pair<std::uint32_t, std::uint32_t> rangeOf(const std::vector<std::uint32_t> &ends, std::uint32_t op) {
    return {op == 0 ? 0 : ends[op - 1], ends[op]};
  }

  const plan::ProgramT &program;
  std::uint32_t firstOp, endOp, firstInput, endInput, firstOutput, endOutput;
};

} // namespace

std::set<std::string> writtenParameters(const plan::PlanT &plan) {
  std::set<std::string> written;
  if (!plan.program)
    return written;
  const plan::ProgramT &program = *plan.program;
  for (std::size_t op = 0; op < program.op_kinds.size(); ++op)
    if (program.kinds[program.op_kinds[op]]->op == "model.write")
      written.insert(program.names[program.op_symbols[op]]);
  return written;
}

std::map<std::string, std::vector<bool>> trainedParameters(const plan::PlanT &plan) {
  std::map<std::string, std::vector<bool>> trained;
  if (!plan.program)
    return trained;
  std::map<std::string, std::uint32_t> numbers;
  for (std::uint32_t p = 0; p < plan.parameters.size(); ++p)
    numbers[plan.parameters[p]->name] = p;
  for (std::uint32_t f = 0; f < plan.program->functions.size(); ++f) {
    std::vector<bool> &own = trained[plan.program->names[plan.program->functions[f]->name]];
    own.resize(plan.parameters.size());
    const Function function(plan, f);
    if (function.trains())
      function.forEachTrained([&](const std::string &name) {
        if (auto found = numbers.find(name); found != numbers.end())
          own[found->second] = plan.parameters[found->second]->requires_grad;
      });
  }
  return trained;
}

} // namespace sluice::check
