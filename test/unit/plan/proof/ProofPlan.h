//===- ProofPlan.h - small plans with an unsharded program, for tests of the proof (P9) ----===//
//
// The plan need not be well-formed: only the proof reads it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_PROOF_PROOFPLAN_H
#define SLUICE_TEST_UNIT_PLAN_PROOF_PROOFPLAN_H

#include "runtime/plan/check/Check.h"
#include "runtime/plan/check/proof/Numbering.h"
#include "test/unit/PlanBuilder.h"

#include <gtest/gtest.h>

namespace sluice::test {

inline plan::AttributeT integer(const char *name, std::int64_t value) {
  plan::AttributeT attribute;
  attribute.name = name;
  attribute.integer = value;
  return attribute;
}
inline plan::AttributeT number(const char *name, double value) {
  plan::AttributeT attribute;
  attribute.name = name;
  attribute.kind = 1;
  attribute.number = value;
  return attribute;
}
inline plan::AttributeT list(const char *name, Shape values) {
  plan::AttributeT attribute;
  attribute.name = name;
  attribute.kind = 2;
  attribute.list = std::move(values);
  return attribute;
}
/// A name or a case of an enumeration.
inline plan::AttributeT text(const char *name, std::string_view value) {
  return list(name, Shape(value.begin(), value.end()));
}

using Ids = std::vector<std::uint32_t>;

/// The program has one function, `train_step`, which end() ends.
class ProofPlan : public PlanBuilder {
public:
  using PlanBuilder::PlanBuilder;

  /// A value that nothing defines.
  std::uint32_t value(Shape shape, plan::DType dtype = f32) {
    auto type = std::make_unique<plan::ProgramTypeT>();
    type->shape = std::move(shape);
    type->dtype = dtype;
    program().types.push_back(std::move(type));
    program().values.push_back(std::uint32_t(program().types.size() - 1));
    return std::uint32_t(program().values.size());
  }
  std::uint32_t input(const std::string &name, Shape shape, plan::DType dtype = f32) {
    const std::uint32_t id = value(std::move(shape), dtype);
    program().inputs.push_back(id);
    program().input_names.push_back(nameId(name));
    program().input_roles.push_back(impliedPortRole(name));
    return id;
  }
  /// An op with these results.
  void define(const std::string &op, const Ids &operands, const Ids &results,
              std::vector<plan::AttributeT> attributes = {}, const std::string &symbol = "") {
    auto kind = std::make_unique<plan::ProgramKindT>();
    kind->op = op;
    for (plan::AttributeT &attribute : attributes)
      kind->attributes.push_back(std::make_unique<plan::AttributeT>(std::move(attribute)));
    plan::ProgramT &own = program();
    own.kinds.push_back(std::move(kind));
    own.op_kinds.push_back(std::uint32_t(own.kinds.size() - 1));
    own.op_blocks.push_back(0);
    own.op_symbols.push_back(symbol.empty() ? 0 : nameId(symbol));
    own.operands.insert(own.operands.end(), operands.begin(), operands.end());
    own.operand_ends.push_back(std::uint32_t(own.operands.size()));
    own.results.insert(own.results.end(), results.begin(), results.end());
    own.result_ends.push_back(std::uint32_t(own.results.size()));
  }
  /// An op with one result of this shape.
  std::uint32_t op(const std::string &name, const Ids &operands, Shape shape,
                   std::vector<plan::AttributeT> attributes = {}, const std::string &symbol = "",
                   plan::DType dtype = f32) {
    const std::uint32_t id = value(std::move(shape), dtype);
    define(name, operands, {id}, std::move(attributes), symbol);
    return id;
  }
  void end(const Ids &outputs = {}) {
    plan::ProgramT &own = program();
    own.outputs.insert(own.outputs.end(), outputs.begin(), outputs.end());
    own.output_names.resize(own.outputs.size());
    auto function = std::make_unique<plan::ProgramFunctionT>();
    function->name = nameId("train_step");
    function->ops_end = std::uint32_t(own.op_kinds.size());
    function->inputs_end = std::uint32_t(own.inputs.size());
    function->outputs_end = std::uint32_t(own.outputs.size());
    own.functions.push_back(std::move(function));
  }
  plan::ProgramT &program() {
    if (!plan.program) {
      plan.program = std::make_unique<plan::ProgramT>();
      plan.program->names.push_back("");
    }
    return *plan.program;
  }

  /// The entry point of the function, with a section.
  plan::EntryT &step(std::uint32_t repeat = 1) {
    stream("compute");
    plan::EntryT &added = entry("train_step");
    section(repeat);
    return added;
  }
  /// A launch that computes values of the program from others.
  plan::LaunchT &compute(const std::string &kernel, std::vector<plan::ViewT> inputs, std::vector<plan::ViewT> outputs,
                         Ids inputValues = {}, Ids outputValues = {}, std::vector<plan::AttributeT> attributes = {}) {
    plan::LaunchT &launch = *PlanBuilder::launch(0, kernel, std::move(inputs), std::move(outputs)).operation.AsLaunch();
    launch.input_values = std::move(inputValues);
    launch.output_values = std::move(outputValues);
    for (plan::AttributeT &attribute : attributes)
      launch.attributes.push_back(std::make_unique<plan::AttributeT>(std::move(attribute)));
    return launch;
  }

private:
  std::uint32_t nameId(const std::string &name) {
    auto &names = program().names;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      names.push_back(name);
    return std::uint32_t(std::find(names.begin(), names.end(), name) - names.begin());
  }
};

/// "" if the plan is proved, "P9: " and the message of a refusal, or "?: " and why it is not proved.
inline std::string proofOf(const ProofPlan &plan) {
  check::Findings findings;
  if (const check::Verdict refusal = check::computesProgram(plan.plan, findings))
    return "P" + std::to_string(refusal->property) + ": " + refusal->message;
  return findings[9].notProved.empty() ? "" : "?: " + findings[9].notProved;
}

/// The text starts and continues so.
inline void expectText(const std::string &found, const std::string &begin, const std::string &part) {
  EXPECT_TRUE(found.starts_with(begin)) << found;
  EXPECT_NE(found.find(part), std::string::npos) << found;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_PROOF_PROOFPLAN_H
