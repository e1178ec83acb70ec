//===- Launch.cpp - checks a launch against the record of its kernel --------------===//
#include "runtime/kernel/catalogue/Catalogue.h"

#include "runtime/base/Text.h"
#include "runtime/kernel/catalogue/LaunchDims.h"

#include <algorithm>

namespace sluice {
namespace {

/// The records of the operands that a launch with these attributes has; those of a list or of an update's parameters
/// once.
std::vector<const OperandRecord *> present(std::span<const OperandRecord> operands, const Attributes &attributes) {
  std::vector<const OperandRecord *> result;
  for (const OperandRecord &operand : operands)
    if (operand.given.empty() || attributes.number(operand.given, 0) != 0)
      result.push_back(&operand);
  return result;
}

std::size_t countOf(std::span<const OperandRecord *const> operands, OperandCount count) {
  return static_cast<std::size_t>(std::ranges::count(operands, count, &OperandRecord::count));
}

/// An optional operand, present or absent by the number of operands.
bool isByCount(const OperandRecord &operand) {
  return operand.count == OperandCount::optional && operand.given.empty();
}

std::vector<const OperandRecord *> expand(std::span<const OperandRecord> operands, const Attributes &attributes,
                                          std::size_t size) {
  std::vector<const OperandRecord *> there = present(operands, attributes);
  if (there.size() > size)
    std::erase_if(there, [](const OperandRecord *operand) { return isByCount(*operand); });
  const std::size_t group = countOf(there, OperandCount::each), rest = there.size() - group;
  std::vector<const OperandRecord *> result;
  while (group > 0 && result.size() + group + rest <= size)
    result.insert(result.end(), there.begin(), there.begin() + static_cast<std::ptrdiff_t>(group));
  for (const OperandRecord *operand : std::span(there).subspan(group))
    do {
      if (result.size() < size)
        result.push_back(operand);
    } while (operand->count == OperandCount::oneOrMore && result.size() < size);
  return result;
}

/// Pairs of each parameter of an update in turn.
AliasPairs pairsOf(std::span<const AliasRecord> aliases, const KernelRecord &record, const Attributes &attributes,
                   std::size_t inputs, std::size_t outputs) {
  const auto in = inputRecords(record, attributes, inputs), out = outputRecords(record, attributes, outputs);
  const auto places = [](const std::vector<const OperandRecord *> &operands, std::string_view name) {
    std::vector<unsigned> result;
    for (unsigned i = 0; i < operands.size(); ++i)
      if (operands[i]->name == name)
        result.push_back(i);
    return result;
  };
  std::vector<std::pair<std::vector<unsigned>, std::vector<unsigned>>> pairs;
  std::size_t parameters = 0;
  for (const AliasRecord &alias : aliases) {
    pairs.push_back({places(in, alias.input), places(out, alias.output)});
    parameters = std::max(parameters, std::min(pairs.back().first.size(), pairs.back().second.size()));
  }
  AliasPairs result;
  for (std::size_t parameter = 0; parameter < parameters; ++parameter)
    for (const auto &[from, to] : pairs)
      if (parameter < from.size() && parameter < to.size())
        result.push_back({from[parameter], to[parameter]});
  return result;
}

std::string typesText(DTypeSet dtypes) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < dtypeCount; ++i)
    if (dtypes.has(static_cast<DType>(i)))
      names.push_back(dtypeName(static_cast<DType>(i)));
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ").append(names[i]);
  return text;
}

Status refuse(const KernelRecord &record, const std::string &what) {
  return refusedError("kernel '" + std::string(record.name) + "' " + what);
}

Status checkTypes(const KernelRecord &record, std::string_view side, std::span<const Operand> operands,
                  const std::vector<const OperandRecord *> &expected) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!expected[i]->dtypes.has(operands[i].dtype))
      return refuse(record, concat(side, " ", i, " dtype, expected ", typesText(expected[i]->dtypes), " but got ",
                                   dtypeName(operands[i].dtype)));
  return Status::ok();
}

/// As attributeProblem, only for the attributes of the record.
std::string valueProblem(const KernelRecord &record, const Attributes &attributes) {
  for (const AttributeRecord &attribute : record.attributes) {
    const Attributes::Item *item = attributes.find(attribute.name);
    if (!item && attribute.absence == AttributeAbsence::refused)
      return "is missing attribute '" + std::string(attribute.name) + "'";
    if (!item || (attribute.kind != AttributeKind::choice && attribute.kind != AttributeKind::flag))
      continue;
    const std::int64_t last = attribute.kind == AttributeKind::flag ? 1 : std::ssize(attribute.choices) - 1;
    if (item->integer < 0 || item->integer > last)
      return concat(std::string(attribute.name), ", expected 0 to ", last, " but got ", item->integer);
  }
  return {};
}

} // namespace

bool computesEach(const KernelRecord &record) {
  const auto isList = [](const OperandRecord &input) { return input.count == OperandCount::each; };
  return std::ranges::count_if(record.inputs, isList) == 1 && record.outputs.size() == 1 &&
         std::ranges::all_of(record.inputs,
                             [&](const OperandRecord &input) { return isList(input) || !input.given.empty(); });
}

OperandCounts expectedOperands(const KernelRecord &record, const Attributes &attributes, std::size_t inputs,
                               std::size_t outputs) {
  const auto in = present(record.inputs, attributes), out = present(record.outputs, attributes);
  const std::size_t groupIn = countOf(in, OperandCount::each), groupOut = countOf(out, OperandCount::each);
  // A list has no inputs that an attribute gives.
  const bool isOne = groupOut == 0 || (computesEach(record) && in.size() > groupIn);
  const std::size_t parameters = isOne ? 1 : std::max<std::size_t>(outputs / groupOut, 1);
  OperandCounts counts{groupIn * (parameters - 1) + in.size(), groupOut * (parameters - 1) + out.size(),
                       countOf(in, OperandCount::oneOrMore) > 0};
  // All of them or none.
  if (inputs < counts.inputs)
    counts.inputs -= static_cast<std::size_t>(
        std::ranges::count_if(in, [](const OperandRecord *operand) { return isByCount(*operand); }));
  return counts;
}

std::vector<const OperandRecord *> inputRecords(const KernelRecord &record, const Attributes &attributes,
                                                std::size_t inputs) {
  return expand(record.inputs, attributes, inputs);
}

std::vector<const OperandRecord *> outputRecords(const KernelRecord &record, const Attributes &attributes,
                                                 std::size_t outputs) {
  return expand(record.outputs, attributes, outputs);
}

AliasPairs mayAliasPairs(const KernelRecord &record, const Attributes &attributes, std::size_t inputs,
                         std::size_t outputs) {
  return pairsOf(record.mayAlias, record, attributes, inputs, outputs);
}

AliasPairs mustAliasPairs(const KernelRecord &record, const Attributes &attributes, std::size_t inputs,
                          std::size_t outputs) {
  return pairsOf(record.mustAlias, record, attributes, inputs, outputs);
}

std::string_view kindText(AttributeKind kind) {
  switch (kind) {
  case AttributeKind::number:
    return "a number";
  case AttributeKind::list:
    return "a list of integers";
  default:
    return "an integer";
  }
}

std::string attributeProblem(const KernelRecord &record, const Attributes &attributes) {
  for (const Attributes::Item &item : attributes.all())
    if (std::ranges::find(record.attributes, item.name, &AttributeRecord::name) == record.attributes.end())
      return "has no attribute '" + std::string(item.name) + "'";
  return valueProblem(record, attributes);
}

Attributes withFallbacks(const KernelRecord &record, const Attributes &attributes) {
  Attributes all({attributes.all().begin(), attributes.all().end()});
  for (const AttributeRecord &attribute : record.attributes)
    if (attribute.absence == AttributeAbsence::fallback && !attributes.find(attribute.name))
      all.add({attribute.name, static_cast<std::int64_t>(attribute.fallback), attribute.fallback, {}});
  return all;
}

Status checkLaunch(const KernelRecord &record, std::span<const Operand> inputs, std::span<const Operand> outputs,
                   const Attributes &attributes) {
  const OperandCounts counts = expectedOperands(record, attributes, inputs.size(), outputs.size());
  if (counts.isAtLeast ? inputs.size() < counts.inputs : inputs.size() != counts.inputs)
    return refuse(record, concat("inputs, expected ", (counts.isAtLeast ? "at least " : ""), counts.inputs, " but got ",
                                 inputs.size()));
  if (outputs.size() != counts.outputs)
    return refuse(record, concat("outputs, expected ", counts.outputs, " but got ", outputs.size()));
  SLUICE_RETURN_IF_ERROR(checkTypes(record, "input", inputs, inputRecords(record, attributes, inputs.size())));
  SLUICE_RETURN_IF_ERROR(checkTypes(record, "output", outputs, outputRecords(record, attributes, outputs.size())));
  const std::string problem = valueProblem(record, attributes);
  return problem.empty() ? Status::ok() : refuse(record, problem);
}

Status checkExtents(const KernelRecord &record, std::span<const Operand> inputs, std::span<const Operand> outputs,
                    const Attributes &attributes) {
  const auto extentsOf = [](std::span<const Operand> operands) {
    std::vector<Extents> extents;
    for (const Operand &operand : operands)
      extents.push_back(Extents(operand.extent).first(static_cast<std::size_t>(operand.rank)));
    return extents;
  };
  const std::vector<Extents> in = extentsOf(inputs), out = extentsOf(outputs);
  ExtentProblem problem;
  if (launchDims(record, attributes, in, out, &problem))
    return Status::ok();
  const Extents got = (problem.isOutput ? out : in)[problem.operand];
  return refuse(record, concat(problem.isOutput ? "output " : "input ", problem.operand, " extents, expected ",
                               problem.expected, " but got [", join(got, ", "), "]"));
}

} // namespace sluice
