//===- KernelRules.cpp - the kernels that implement ops, and by which dims they may be divided ---===//
//
// See KernelRules.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/KernelRules.h"
#include "runtime/kernel/catalogue/Signature.h"

#include "runtime/base/Text.h"
#include "runtime/plan/LaunchAttributes.h"
#include "runtime/plan/check/proof/Numbering.h"

#include <algorithm>
#include <cmath>

namespace sluice::check::proof {
namespace {

constexpr std::string_view dialect = "model.";

/// An op whose kernel does not have its name, or that no kernel computes.
struct OpRule {
  std::string_view op, kernel = {};
  /// The flag of the kernel that the op sets.
  std::string_view flag = {};
};

constexpr OpRule opRules[] = {
    {"reduce_mean", "reduce_sum", "mean"},
    {"adaptive_avg_pool2d", "avg_pool2d", "adaptive"},
    {"adaptive_avg_pool2d_grad", "avg_pool2d_grad", "adaptive"},
    // They keep or multiply their operand, or move or add its elements: Launches.cpp, Accumulations.cpp, Numbering.cpp
    // and NumberedViews.cpp.
    {"accumulate"},
    {"all_gather"},
    {"all_reduce"},
    {"broadcast"},
    {"constant"},
    {"copy"},
    {"gradient"},
    {"read"},
    {"reduce_scatter"},
    {"reshape"},
    {"scale"},
    {"slice"},
    {"split"},
    {"step_mean"},
    {"transpose"},
    {"write"},
};

/// The row of the op; null if the kernel has its name.
const OpRule *ruleOfOp(std::string_view op) {
  const auto found = std::ranges::find(opRules, op.substr(std::min(op.size(), dialect.size())), &OpRule::op);
  return found == std::end(opRules) ? nullptr : found;
}

/// An attribute of a kernel as the record's kind reads it.
struct Setting {
  bool isPresent = false;
  std::int64_t integer = 0;
  double number = 0;
  std::vector<std::int64_t> list;
  bool operator==(const Setting &other) const {
    const bool isSame = number == other.number || (std::isnan(number) && std::isnan(other.number));
    return isPresent == other.isPresent && integer == other.integer && isSame && list == other.list;
  }
};

/// The value of an absent attribute.
Setting absentSetting(const AttributeRecord &record) {
  Setting setting;
  // A number that the kernel computes differs from every given one.
  if (record.absence == AttributeAbsence::computed)
    return setting;
  setting.isPresent = true;
  if (record.kind == AttributeKind::number)
    setting.number = record.fallback;
  else
    setting.integer = std::int64_t(record.fallback);
  return setting;
}

/// An attribute of a launch, as kernels read it.
Setting launchSetting(const AttributeRecord &record, const Attributes &attributes) {
  if (!attributes.find(record.name))
    return absentSetting(record);
  Setting setting;
  setting.isPresent = true;
  if (record.kind == AttributeKind::number)
    setting.number = attributes.number(record.name);
  else if (record.kind == AttributeKind::list)
    setting.list.assign(attributes.list(record.name).begin(), attributes.list(record.name).end());
  else
    setting.integer = attributes.integer(record.name);
  if (record.kind == AttributeKind::flag)
    setting.integer = setting.integer != 0;
  return setting;
}

/// An attribute of an op. The program has the case of a choice by its name.
Setting recordedSetting(const AttributeRecord &record, const plan::AttributeT &attribute) {
  Setting setting;
  setting.isPresent = true;
  if (record.kind == AttributeKind::number) {
    setting.number = storedNumber(attribute);
  } else if (record.kind == AttributeKind::list) {
    setting.list = attribute.list;
  } else if (record.kind == AttributeKind::choice && attribute.kind == 2) {
    const std::string name(attribute.list.begin(), attribute.list.end());
    const auto found = std::ranges::find(record.choices, std::string_view(name));
    setting.integer = found == record.choices.end() ? -1 : found - record.choices.begin();
  } else {
    setting.integer = attribute.integer;
  }
  if (record.kind == AttributeKind::flag)
    setting.integer = setting.integer != 0;
  return setting;
}

std::string textOf(const AttributeRecord &record, const Setting &setting) {
  if (!setting.isPresent)
    return "no value";
  if (record.kind == AttributeKind::number)
    return formatNumber(setting.number);
  if (record.kind == AttributeKind::list)
    return formatShape(setting.list);
  return concat(setting.integer);
}

plan::AttributeT flagOf(bool isSet) {
  plan::AttributeT attribute;
  attribute.integer = isSet;
  return attribute;
}

/// The attribute of the kernel that implements the op: most have the op's name.
std::optional<plan::AttributeT> expectedAttribute(const plan::ProgramKindT &kind, std::span<const Shape> operands,
                                                  const KernelRecord &record, std::string_view name) {
  const auto ofOp = [&](std::string_view own) -> std::optional<plan::AttributeT> {
    const plan::AttributeT *attribute = attributeOf(kind, own);
    return attribute ? std::optional(*attribute) : std::nullopt;
  };
  const OpRule *rule = ruleOfOp(kind.op);
  if (rule && rule->flag == name)
    return flagOf(true);
  const bool isProduct = record.work == KernelWork::product;
  if (isProduct && name == "transpose_a")
    return flagOf(isFlagSet(kind, "transpose_lhs"));
  if (isProduct && name == "transpose_b")
    return flagOf(isFlagSet(kind, "transpose_rhs"));
  // A bias has one dim, a residual those of the product.
  if (isProduct && name == "bias")
    return flagOf(operands.size() > 2 && operands[2].size() == 1);
  if (isProduct && name == "residual")
    return flagOf(operands.size() > 2 && operands.back().size() > 1);
  if (record.id == KernelId::rope) {
    const std::string scaling = proof::textOf(kind, "scaling");
    const bool isLlama = scaling == "llama3";
    if (name == "factor" && !isLlama && scaling != "linear")
      return std::nullopt;
    if ((name == "low" || name == "high" || name == "original") && !isLlama)
      return std::nullopt;
  }
  return ofOp(name);
}

} // namespace

bool isKnownOp(std::string_view op) { return recordOfOp(op) || (op.starts_with(dialect) && ruleOfOp(op)); }

const KernelRecord *recordOfOp(std::string_view op) {
  if (!op.starts_with(dialect))
    return nullptr;
  const OpRule *rule = ruleOfOp(op);
  return findKernelRecord(rule ? rule->kernel : op.substr(dialect.size()));
}

std::string_view kernelOfOp(std::string_view op) {
  const KernelRecord *record = recordOfOp(op);
  return record ? record->name : std::string_view();
}

Attributes attributesOfOp(const plan::ProgramKindT &kind, std::span<const Shape> operands, const KernelRecord &record) {
  Attributes attributes;
  for (const AttributeRecord &attribute : record.attributes)
    if (const std::optional<plan::AttributeT> own = expectedAttribute(kind, operands, record, attribute.name)) {
      const Setting setting = recordedSetting(attribute, *own);
      attributes.add({attribute.name, setting.integer, setting.number, setting.list});
    }
  return attributes;
}

bool isUpdateKernel(std::string_view kernel) {
  const KernelRecord *record = findKernelRecord(kernel);
  return record && !record->inputs.empty() && record->inputs.begin()->count == OperandCount::each &&
         !computesEach(*record);
}

std::string differingAttribute(const plan::ProgramKindT &kind, std::span<const Shape> operands, std::string_view kernel,
                               const plan::LaunchT &launch) {
  const KernelRecord *record = findKernelRecord(kernel);
  if (!record)
    return "the kernel has no record";
  const Attributes attributes = attributesOf(launch);
  for (const AttributeRecord &attribute : record->attributes) {
    if (attribute.isImplementation)
      continue;
    const std::optional<plan::AttributeT> recorded = expectedAttribute(kind, operands, *record, attribute.name);
    const Setting expected = recorded ? recordedSetting(attribute, *recorded) : absentSetting(attribute),
                  found = launchSetting(attribute, attributes);
    if (!(expected == found))
      return concat("expected '", attribute.name, "' = ", textOf(attribute, expected), " but got ",
                    textOf(attribute, found));
  }
  return {};
}

bool isPointwiseOp(std::string_view op) {
  const KernelRecord *record = recordOfOp(op);
  return record && signatureOf(*record).isPointwise;
}

bool isLinear(const plan::ProgramKindT &kind) {
  const KernelRecord *record = recordOfOp(kind.op);
  return record && record->isLinear;
}

} // namespace sluice::check::proof
