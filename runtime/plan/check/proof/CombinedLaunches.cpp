//===- CombinedLaunches.cpp - launches that consist of launches of other kernels -----------===//
//
// The proof follows a combined launch as its parts: each tensor of a list, or the parts that the kernel's record names.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/kernel/catalogue/LaunchDims.h"
#include "runtime/kernel/catalogue/Signature.h"
#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>

namespace sluice::check::proof {
namespace {

/// The launch of a kernel with the attributes of `all` and no operands.
plan::LaunchT launchLike(const plan::LaunchT &all, std::uint32_t kernel) {
  plan::LaunchT one;
  one.kernel = kernel;
  for (const auto &attribute : all.attributes)
    one.attributes.push_back(std::make_unique<plan::AttributeT>(*attribute));
  return one;
}
void addInput(plan::LaunchT &launch, const plan::ViewT &view, std::uint32_t id) {
  launch.inputs.push_back(std::make_unique<plan::ViewT>(view));
  launch.input_values.push_back(id);
}
/// Input `k` of `all`.
void addInput(plan::LaunchT &launch, const plan::LaunchT &all, std::size_t k) {
  addInput(launch, *all.inputs[k], idAt(all.input_values, k));
}
void addOutput(plan::LaunchT &launch, const plan::LaunchT &all, std::size_t k) {
  launch.outputs.push_back(std::make_unique<plan::ViewT>(*all.outputs[k]));
  launch.output_values.push_back(idAt(all.output_values, k));
}

/// No tensor of the list is memory that another writes.
std::vector<plan::LaunchT> tensorsOf(const plan::LaunchT &list) {
  std::vector<plan::LaunchT> tensors;
  for (std::size_t k = 0; k < list.outputs.size(); ++k) {
    plan::LaunchT &tensor = tensors.emplace_back(launchLike(list, list.kernel));
    addInput(tensor, list, k);
    addOutput(tensor, list, k);
  }
  return tensors;
}

/// The launches of the parts that the record names: an operand of a part is that of its name in the combined launch, or
/// a result of it. Empty if the extents do not fit.
class Combination {
public:
  Combination(const plan::LaunchT &all, const KernelRecord &record)
      : all(all), record(record), attributes(attributesOf(all)),
        inputs(inputRecords(record, attributes, all.inputs.size())),
        outputs(outputRecords(record, attributes, all.outputs.size())) {
    const auto extentsOf = [](const auto &views) {
      std::vector<Extents> extents;
      for (const auto &view : views)
        extents.push_back(view->shape);
      return extents;
    };
    dims = launchDims(record, attributes, extentsOf(all.inputs), extentsOf(all.outputs));
  }

  bool fit() const {
    const OperandCounts counts = expectedOperands(record, attributes, all.inputs.size(), all.outputs.size());
    return all.inputs.size() == counts.inputs && all.outputs.size() == counts.outputs && dims;
  }

  plan::LaunchT launchOf(const PartRecord &part, std::uint32_t kernel) const {
    plan::LaunchT one;
    one.kernel = kernel;
    const KernelRecord &own = kernelRecord(part.kernel);
    for (const AttributeRecord &attribute : own.attributes)
      for (const auto &given : all.attributes)
        if (given->name == nameOf(part, attribute.name))
          one.attributes.emplace_back(std::make_unique<plan::AttributeT>(*given))->name = attribute.name;
    for (const OperandRecord &operand : own.inputs)
      if (const std::ptrdiff_t k = find(inputs, nameOf(part, operand.name)); k >= 0)
        addInput(one, all, std::size_t(k));
      else if (const std::ptrdiff_t r = find(outputs, nameOf(part, operand.name)); r >= 0)
        addInput(one, *all.outputs[std::size_t(r)], idAt(all.output_values, std::size_t(r)));
    for (const OperandRecord &operand : own.outputs)
      if (const std::ptrdiff_t r = find(outputs, nameOf(part, operand.name)); r >= 0)
        addOutput(one, all, std::size_t(r));
    addReducedDims(one, part, signatureOf(own));
    return one;
  }

private:
  /// The name in the combined kernel.
  static std::string_view nameOf(const PartRecord &part, std::string_view name) {
    for (const AliasRecord &renamed : part.names)
      if (renamed.input == name)
        return renamed.output;
    return name;
  }
  static std::ptrdiff_t find(const std::vector<const OperandRecord *> &operands, std::string_view name) {
    const auto found = std::ranges::find(operands, name, &OperandRecord::name);
    return found == operands.end() ? -1 : found - operands.begin();
  }

  /// The dims that the part reduces by an attribute: those of its first input whose factors its result does not have.
  void addReducedDims(plan::LaunchT &one, const PartRecord &part, const Signature &own) const {
    const std::string_view name = own.outputs.front().dims.empty() ? "" : own.outputs.front().dims.front().without;
    const std::ptrdiff_t from = find(outputs, nameOf(part, own.inputs.front().name)),
                         to = find(outputs, nameOf(part, own.outputs.front().name));
    if (name.empty() || from < 0 || to < 0)
      return;
    plan::AttributeT &reduced = *one.attributes.emplace_back(std::make_unique<plan::AttributeT>());
    reduced.name = name;
    reduced.kind = 2;
    const auto &kept = dims->outputs[std::size_t(to)], &source = dims->outputs[std::size_t(from)];
    for (std::size_t d = 0; d < source.size(); ++d)
      if (std::ranges::find(kept, source[d].factors, &LaunchDim::factors) == kept.end())
        reduced.list.push_back(std::int64_t(d));
  }

  const plan::LaunchT &all;
  const KernelRecord &record;
  const Attributes attributes;
  const std::vector<const OperandRecord *> inputs, outputs;
  std::optional<LaunchDims> dims;
};

} // namespace

std::vector<plan::LaunchT> EntryProof::partsOf(const plan::LaunchT &launch) const {
  const KernelRecord *record = findKernelRecord(kernelOf(launch));
  if (!record)
    return {};
  if (launch.outputs.size() > 1 && launch.inputs.size() == launch.outputs.size() && computesEach(*record))
    return tensorsOf(launch);
  std::vector<plan::LaunchT> parts;
  if (!record->parts.empty())
    if (const Combination combined(launch, *record); combined.fit())
      for (const PartRecord &part : record->parts)
        parts.push_back(combined.launchOf(part, indexOf(part.kernel)));
  return parts;
}

} // namespace sluice::check::proof
