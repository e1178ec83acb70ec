//===- Catalogue.cpp - the table of records ------------------------------------===//
#include "runtime/kernel/catalogue/Catalogue.h"

#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/catalogue/WorkspaceCaps.h"

#include <algorithm>
#include <unordered_map>

namespace sluice {
namespace {

// The vocabulary of the records.
constexpr DTypeSet floats = {DType::f32, DType::f64, DType::bf16, DType::f16};
constexpr DTypeSet integers = {DType::i32, DType::i64, DType::u8};
constexpr DTypeSet anyType = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8};
/// Of sums over micro-batches that a kernel adds to.
constexpr DTypeSet sumTypes = {DType::f32, DType::f64};
/// Of statistics, losses and rates: f64 with values of f64, otherwise f32.
constexpr DTypeSet statistics = {DType::f32, DType::f64};
constexpr DTypeSet i64 = {DType::i64};
constexpr DTypeSet u8 = {DType::u8};
using enum OperandCount;
using kernel::comparePredicateNames, kernel::geluFormNames, kernel::lossReductionNames;
constexpr KernelTerms sum = KernelTerms::sum, maximum = KernelTerms::maximum, logSumExp = KernelTerms::logSumExp;
constexpr KernelWork product = KernelWork::product, chunkedProduct = KernelWork::chunkedProduct,
                     convolution = KernelWork::convolution, attention = KernelWork::attention;
constexpr KernelAddition ofValues = KernelAddition::ofValues, inPlace = KernelAddition::inPlace;
constexpr KernelReduction ordered = KernelReduction::ordered, fixed = KernelReduction::fixed;

constexpr AttributeRecord integer(std::string_view name, std::int64_t fallback) {
  return {.name = name, .kind = AttributeKind::integer, .fallback = static_cast<double>(fallback)};
}
constexpr AttributeRecord flag(std::string_view name) { return {.name = name, .kind = AttributeKind::flag}; }
constexpr AttributeRecord choice(std::string_view name, std::span<const std::string_view> choices) {
  return {.name = name, .kind = AttributeKind::choice, .choices = choices};
}
constexpr AttributeRecord number(std::string_view name, double fallback = 0) {
  return {.name = name, .kind = AttributeKind::number, .fallback = fallback};
}
constexpr AttributeRecord list(std::string_view name) { return {.name = name, .kind = AttributeKind::list}; }
constexpr AttributeRecord implementation(AttributeRecord attribute) {
  attribute.isImplementation = true;
  return attribute;
}
/// The kernel computes the default from the operands.
constexpr AttributeRecord computed(AttributeRecord attribute) {
  attribute.absence = AttributeAbsence::computed;
  return attribute;
}
constexpr AttributeRecord required(AttributeRecord attribute) {
  attribute.absence = AttributeAbsence::refused;
  return attribute;
}

constexpr KernelRecord records[] = {
#define SLUICE_KERNEL(kernel, form, ...) {.id = KernelId::kernel, .name = #kernel, .cpu = CpuForm::form, __VA_ARGS__},
#include "runtime/kernel/catalogue/catalogue.def"
};

static_assert(
    std::ranges::none_of(records, [](const KernelRecord &record) { return record.reduction == KernelReduction::none; }),
    "a kernel adds in an order that differs between runs, so no plan may launch it");

} // namespace

std::span<const KernelRecord> catalogue() { return records; }

const KernelRecord *findKernelRecord(std::string_view name) {
  static const auto byName = [] {
    std::unordered_map<std::string_view, const KernelRecord *> found;
    for (const KernelRecord &record : records)
      found.emplace(record.name, &record);
    return found;
  }();
  const auto found = byName.find(name);
  return found == byName.end() ? nullptr : found->second;
}

const KernelRecord &kernelRecord(KernelId id) { return records[static_cast<std::size_t>(id)]; }

std::string_view kernelName(KernelId id) { return kernelRecord(id).name; }

std::uint32_t catalogueVersion() { return SLUICE_CATALOGUE_VERSION; }

std::uint64_t workspaceCap(std::string_view name, std::span<const Operand> inputs, std::span<const Operand> outputs,
                           const Attributes &attributes, const KernelTarget &target) {
  const KernelRecord *record = findKernelRecord(name);
  if (!record)
    return 0;
  const WorkspaceFunction function = target.device == "cuda" ? record->workspace.cuda : record->workspace.cpu;
  const Attributes all = withFallbacks(*record, attributes);
  const OperandCounts counts = expectedOperands(*record, all, inputs.size(), outputs.size());
  const bool hasInputs = counts.isAtLeast ? inputs.size() >= counts.inputs : inputs.size() == counts.inputs;
  if (!function || !hasInputs || outputs.size() != counts.outputs)
    return 0;
  return function({inputs, outputs, all, std::max(target.threads, 1), target.isa == "avx512"});
}

} // namespace sluice
