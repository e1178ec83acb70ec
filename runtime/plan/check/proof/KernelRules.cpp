//===- KernelRules.cpp - the kernels that implement ops, and by which dims they may be divided ---===//
//
// See KernelRules.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/KernelRules.h"

#include "runtime/base/Text.h"
#include "runtime/plan/LaunchAttributes.h"
#include "runtime/plan/check/proof/Numbering.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace sluice::check::proof {
namespace {

struct OpRule {
  std::string_view op, kernel;
  /// Of each element of the operands alone, with broadcasting: a part by any dim computes that part of the results.
  bool isPointwise = false;
};

// Casts, copies, scales, accumulations and constants are in Launches.cpp and Accumulations.cpp: they keep or multiply
// their operand.
constexpr OpRule opRules[] = {
    {"model.add", "add", true},
    {"model.subtract", "subtract", true},
    {"model.multiply", "multiply", true},
    {"model.divide", "divide", true},
    {"model.maximum", "maximum", true},
    {"model.negate", "negate", true},
    {"model.exp", "exp", true},
    {"model.log", "log", true},
    {"model.tanh", "tanh", true},
    {"model.erf", "erf", true},
    {"model.sin", "sin", true},
    {"model.cos", "cos", true},
    {"model.sqrt", "sqrt", true},
    {"model.rsqrt", "rsqrt", true},
    {"model.relu", "relu", true},
    {"model.relu_grad", "relu_grad", true},
    {"model.sigmoid", "sigmoid", true},
    {"model.softplus", "softplus", true},
    {"model.power", "power", true},
    {"model.compare", "compare", true},
    {"model.select", "select", true},
    {"model.cast", "cast", true},
    {"model.gelu", "gelu", true},
    {"model.gelu_grad", "gelu_grad", true},
    {"model.silu", "silu", true},
    {"model.silu_grad", "silu_grad", true},
    {"model.swiglu", "swiglu", true},
    {"model.swiglu_grad", "swiglu_grad", true},
    {"model.dropout", "dropout"},
    {"model.iota", "iota"},
    {"model.pad", "pad"},
    {"model.concat", "concat"},
    {"model.gather", "gather"},
    {"model.scatter_add", "scatter_add"},
    {"model.embedding", "embedding"},
    {"model.embedding_grad", "embedding_grad"},
    {"model.argmax", "argmax"},
    {"model.take_along", "take_along"},
    {"model.add_along", "add_along"},
    {"model.reduce_sum", "reduce_sum"},
    {"model.reduce_mean", "reduce_sum"},
    {"model.reduce_max", "reduce_max"},
    {"model.logsumexp", "logsumexp"},
    {"model.softmax", "softmax"},
    {"model.softmax_grad", "softmax_grad"},
    {"model.matmul", "matmul"},
    {"model.matmul_gelu", "matmul_gelu"},
    {"model.matmul_gelu_grad", "matmul_gelu_grad"},
    {"model.attention", "attention"},
    {"model.attention_grad", "attention_grad"},
    {"model.conv2d", "conv2d"},
    {"model.conv2d_input_grad", "conv2d_input_grad"},
    {"model.conv2d_weight_grad", "conv2d_weight_grad"},
    {"model.max_pool2d", "max_pool2d"},
    {"model.max_pool2d_grad", "max_pool2d_grad"},
    {"model.avg_pool2d", "avg_pool2d"},
    {"model.avg_pool2d_grad", "avg_pool2d_grad"},
    {"model.adaptive_avg_pool2d", "avg_pool2d"},
    {"model.adaptive_avg_pool2d_grad", "avg_pool2d_grad"},
    {"model.batch_norm", "batch_norm"},
    {"model.batch_norm_grad", "batch_norm_grad"},
    {"model.running_average", "running_average"},
    {"model.count_up", "count_up"},
    {"model.layer_norm", "layer_norm"},
    {"model.layer_norm_grad", "layer_norm_grad"},
    {"model.rms_norm", "rms_norm"},
    {"model.rms_norm_grad", "rms_norm_grad"},
    {"model.rope", "rope"},
    {"model.cross_entropy", "cross_entropy"},
    {"model.cross_entropy_grad", "cross_entropy_grad"},
    {"model.linear_cross_entropy", "linear_cross_entropy"},
    {"model.linear_cross_entropy_grad", "linear_cross_entropy_grad"},
    {"model.power_sum", "power_sum"},
    {"model.norm_root", "norm_root"},
    {"model.clip_coefficient", "clip_coefficient"},
    {"model.all_finite", "all_finite"},
    {"model.sgd", "sgd", true},
    {"model.adam", "adam", true},
    {"model.adamw", "adamw", true},
};

const OpRule *ruleOfOp(std::string_view op) {
  static const auto byOp = [] {
    std::unordered_map<std::string_view, const OpRule *> rules;
    for (const OpRule &rule : opRules)
      rules.emplace(rule.op, &rule);
    return rules;
  }();
  const auto found = byOp.find(op);
  return found == byOp.end() ? nullptr : found->second;
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
    setting.number = attribute.kind == 0 ? double(attribute.integer) : attribute.number;
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
                                                  std::string_view name) {
  const auto ofOp = [&](std::string_view own) -> std::optional<plan::AttributeT> {
    const plan::AttributeT *attribute = attributeOf(kind, own);
    return attribute ? std::optional(*attribute) : std::nullopt;
  };
  const bool isProduct =
      kind.op == "model.matmul" || kind.op == "model.matmul_gelu" || kind.op == "model.matmul_gelu_grad";
  if (isProduct && name == "transpose_a")
    return flagOf(attributeOf(kind, "transpose_lhs") != nullptr && attributeOf(kind, "transpose_lhs")->integer != 0);
  if (isProduct && name == "transpose_b")
    return flagOf(attributeOf(kind, "transpose_rhs") != nullptr && attributeOf(kind, "transpose_rhs")->integer != 0);
  // A bias has one dim, a residual those of the product.
  if (isProduct && name == "bias")
    return flagOf(operands.size() > 2 && operands[2].size() == 1);
  if (isProduct && name == "residual")
    return flagOf(operands.size() > 2 && operands.back().size() > 1);
  if (kind.op == "model.reduce_mean" && name == "mean")
    return flagOf(true);
  if (kind.op.starts_with("model.adaptive_avg_pool2d"))
    return name == "adaptive" ? std::optional(flagOf(true)) : std::nullopt;
  if (kind.op == "model.rope") {
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

std::string_view kernelOfOp(std::string_view op) {
  const OpRule *rule = ruleOfOp(op);
  return rule ? rule->kernel : std::string_view();
}

std::vector<std::string_view> opsWithKernels() {
  std::vector<std::string_view> ops;
  for (const OpRule &rule : opRules)
    ops.push_back(rule.op);
  return ops;
}

bool isUpdateKernel(std::string_view kernel) { return kernel == "sgd" || kernel == "adam" || kernel == "adamw"; }

std::string differingAttribute(const plan::ProgramKindT &kind, std::span<const Shape> operands, std::string_view kernel,
                               const plan::LaunchT &launch) {
  const KernelRecord *record = findKernelRecord(kernel);
  if (!record)
    return "the kernel has no record";
  const Attributes attributes = attributesOf(launch);
  for (const AttributeRecord &attribute : record->attributes) {
    if (attribute.isImplementation)
      continue;
    const std::optional<plan::AttributeT> recorded = expectedAttribute(kind, operands, attribute.name);
    const Setting expected = recorded ? recordedSetting(attribute, *recorded) : absentSetting(attribute),
                  found = launchSetting(attribute, attributes);
    if (!(expected == found))
      return concat("expected '", attribute.name, "' = ", textOf(attribute, expected), " but got ",
                    textOf(attribute, found));
  }
  return {};
}

bool isPointwiseOp(std::string_view op) {
  const OpRule *rule = ruleOfOp(op);
  return rule && rule->isPointwise;
}

} // namespace sluice::check::proof
