//===- CombinedLaunches.cpp - launches that consist of launches of other kernels -----------===//
//
// The proof follows a combined launch as its parts: each tensor of a list; a loss and its gradient; the gradient of a
// norm and the sum of dx over rows.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/kernel/catalogue/Catalogue.h"

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
plan::AttributeT &addAttribute(plan::LaunchT &launch, const std::string &name) {
  plan::AttributeT &attribute = *launch.attributes.emplace_back(std::make_unique<plan::AttributeT>());
  attribute.name = name;
  return attribute;
}
void removeAttribute(plan::LaunchT &launch, std::string_view name) {
  std::erase_if(launch.attributes, [&](const auto &attribute) { return attribute->name == name; });
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

/// The launch has the inputs of the loss, the factor of the gradient and, if given, the sum to which its last result is
/// added. The inputs of the gradient are its factor, those of the loss, the log-sum-exp, and the sum.
std::vector<plan::LaunchT> lossAndGradient(const plan::LaunchT &both, std::uint32_t lossKernel,
                                           std::uint32_t gradientKernel) {
  constexpr std::string_view given = "dweight_sum";
  const bool adds = numberOf(both, given, 0) != 0;
  std::vector<plan::LaunchT> parts;
  plan::LaunchT loss = launchLike(both, lossKernel), gradient = launchLike(both, gradientKernel);
  removeAttribute(loss, given);
  const std::size_t factor = both.inputs.size() - (adds ? 2 : 1);
  addInput(gradient, both, factor);
  for (std::size_t k = 0; k < factor; ++k) {
    addInput(loss, both, k);
    addInput(gradient, both, k);
  }
  addInput(gradient, *both.outputs[1], idAt(both.output_values, 1));
  if (adds)
    addInput(gradient, both, factor + 1);
  for (std::size_t k = 0; k < both.outputs.size(); ++k)
    addOutput(k < 2 ? loss : gradient, both, k);
  parts.push_back(std::move(loss));
  parts.push_back(std::move(gradient));
  return parts;
}

/// The last result is the sum of dx over all dims but the last. With `columns_sum` the last input is added to it.
std::vector<plan::LaunchT> normGradAndSum(const plan::LaunchT &both, std::uint32_t gradientKernel,
                                          std::uint32_t sumKernel) {
  constexpr std::string_view given = "columns_sum";
  const bool adds = numberOf(both, given, 0) != 0;
  const std::size_t columns = both.outputs.size() - 1, inputs = both.inputs.size() - (adds ? 1 : 0);
  std::vector<plan::LaunchT> parts;
  plan::LaunchT gradient = launchLike(both, gradientKernel), sum;
  removeAttribute(gradient, given);
  for (std::size_t k = 0; k < inputs; ++k)
    addInput(gradient, both, k);
  for (std::size_t k = 0; k < columns; ++k)
    addOutput(gradient, both, k);
  sum.kernel = sumKernel;
  addInput(sum, *both.outputs[0], idAt(both.output_values, 0));
  addOutput(sum, both, columns);
  plan::AttributeT &dims = addAttribute(sum, "dims");
  dims.kind = 2;
  for (std::size_t d = 0; d + 1 < both.outputs[0]->shape.size(); ++d)
    dims.list.push_back(static_cast<std::int64_t>(d));
  if (adds) {
    addAttribute(sum, "sum").integer = 1;
    addInput(sum, both, inputs);
  }
  parts.push_back(std::move(gradient));
  parts.push_back(std::move(sum));
  return parts;
}

} // namespace

std::vector<plan::LaunchT> EntryProof::partsOf(const plan::LaunchT &launch) const {
  const std::string &kernel = kernelOf(launch);
  if (kernel == kernelName(KernelId::cross_entropy_and_grad))
    return lossAndGradient(launch, indexOf(KernelId::cross_entropy), indexOf(KernelId::cross_entropy_grad));
  if (kernel == kernelName(KernelId::linear_cross_entropy_and_grad))
    return lossAndGradient(launch, indexOf(KernelId::linear_cross_entropy),
                           indexOf(KernelId::linear_cross_entropy_grad));
  if (kernel == kernelName(KernelId::layer_norm_grad_and_sum))
    return normGradAndSum(launch, indexOf(KernelId::layer_norm_grad), indexOf(KernelId::reduce_sum));
  if (launch.outputs.size() > 1 && launch.inputs.size() == launch.outputs.size())
    if (const KernelRecord *record = findKernelRecord(kernel); record && computesEach(*record))
      return tensorsOf(launch);
  return {};
}

} // namespace sluice::check::proof
