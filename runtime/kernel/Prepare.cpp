//===- Prepare.cpp - a request against the record of its kernel -------------------===//
#include "runtime/kernel/Kernel.h"

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

class ListKernel final : public BoundKernel {
public:
  explicit ListKernel(std::vector<std::unique_ptr<BoundKernel>> kernels) : kernels(std::move(kernels)) {}

  Status run(std::span<void *const> inputs, std::span<void *const> outputs, void *workspace) override {
    for (std::size_t i = 0; i < kernels.size(); ++i)
      SLUICE_RETURN_IF_ERROR(kernels[i]->run(inputs.subspan(i, 1), outputs.subspan(i, 1), workspace));
    return {};
  }
  Status enqueue(void *nativeStream, std::span<void *const> inputs, std::span<void *const> outputs,
                 void *workspace) override {
    for (std::size_t i = 0; i < kernels.size(); ++i)
      SLUICE_RETURN_IF_ERROR(kernels[i]->enqueue(nativeStream, inputs.subspan(i, 1), outputs.subspan(i, 1), workspace));
    return {};
  }

private:
  const std::vector<std::unique_ptr<BoundKernel>> kernels;
};

} // namespace

KernelRequest requestOf(const KernelRequest &list, std::size_t index) {
  KernelRequest one = list;
  one.inputs = list.inputs.subspan(index, 1);
  one.outputs = list.outputs.subspan(index, 1);
  return one;
}

Result<std::unique_ptr<BoundKernel>> prepareEach(PrepareFunction implementation, const KernelRequest &list) {
  if (list.outputs.size() == 1)
    return implementation(list);
  std::vector<std::unique_ptr<BoundKernel>> kernels;
  for (std::size_t i = 0; i < list.outputs.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(kernels.emplace_back(), implementation(requestOf(list, i)));
  }
  return std::unique_ptr<BoundKernel>(std::make_unique<ListKernel>(std::move(kernels)));
}

Result<std::unique_ptr<BoundKernel>> prepareByRecord(const KernelRecord &record, PrepareFunction implementation,
                                                     const KernelRequest &request) {
  const Attributes given = request.attributes ? *request.attributes : Attributes();
  SLUICE_RETURN_IF_ERROR(checkLaunch(record, request.inputs, request.outputs, given));
  const Attributes all = withFallbacks(record, given);
  SLUICE_RETURN_IF_ERROR(checkExtents(record, request.inputs, request.outputs, all));
  KernelRequest checked = request;
  checked.attributes = &all;
  checked.record = &record;
  for (const AliasRecord &sum : record.sums) {
    const bool isInPlace =
        std::ranges::find(record.mustAlias, sum.input, &AliasRecord::input) != record.mustAlias.end();
    if (!isInPlace || all.integer(sum.input) == 0)
      continue;
    // It is the last input.
    checked.inputs = checked.inputs.first(checked.inputs.size() - 1);
    const auto output = std::ranges::find(record.outputs, sum.output, &OperandRecord::name);
    checked.adds[static_cast<std::size_t>(output - record.outputs.begin())] = true;
  }
  Result<std::unique_ptr<BoundKernel>> kernel = implementation(checked);
  if (kernel.isOk() && !all.undeclared().empty())
    return internalError("kernel '" + std::string(record.name) + "' reads attribute '" + std::string(all.undeclared()) +
                         "', which its record does not declare");
  return kernel;
}

} // namespace sluice
