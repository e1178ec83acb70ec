//===- Movement.cpp - pieces, concatenation and padding on a GPU -----------------------------------------===//
#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/kernel/cuda/device/Pointwise.h"

namespace sluice::cuda {
namespace {

/// Moves an input to a window of the output; offsets in elements.
Status addMove(LaunchList &list, const Operand &x, std::int64_t xOffset, std::size_t input, View window,
               std::int64_t yOffset) {
  PointwiseArgs args;
  args.y = window;
  args.x[0] = viewOf(x);
  std::int64_t count = 1;
  for (int d = 0; d < window.rank; ++d)
    count *= window.extent[d];
  const auto bytes = static_cast<std::int64_t>(dtypeBytes(x.dtype));
  return list.add<PointwiseArgs>("sluice_strided", gridFor(list.owner(), count), args,
                                 [=](PointwiseArgs &args, const RunAddresses &run) {
                                   args.x[0].data = static_cast<char *>(run.inputs[input]) + xOffset * bytes;
                                   args.y.data = static_cast<char *>(run.outputs[0]) + yOffset * bytes;
                                 });
}

View windowOf(const Operand &y, const Operand &extents) {
  View window = viewOf(y);
  for (int d = 0; d < y.rank; ++d)
    window.extent[d] = extents.extent[d];
  return window;
}

Bound slice(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("slice", request));
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  const std::int64_t dim = request.attributes->integer("dim");
  auto list = std::make_unique<LaunchList>(*request.cuda);
  SLUICE_RETURN_IF_ERROR(addMove(*list, x, y.origin[dim] * x.strides[dim], 0, viewOf(y), 0));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

Bound concat(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("concat", request));
  const Operand &y = request.outputs[0];
  const std::int64_t dim = request.attributes->integer("dim");
  auto list = std::make_unique<LaunchList>(*request.cuda);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(
        addMove(*list, request.inputs[i], 0, i, windowOf(y, request.inputs[i]), offset * y.strides[dim]));
    offset += request.inputs[i].extent[dim];
  }
  return std::unique_ptr<BoundKernel>(std::move(list));
}

Bound pad(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("pad", request));
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  const auto low = request.attributes->list("low"), step = request.attributes->list("step");
  auto list = std::make_unique<LaunchList>(*request.cuda);
  PointwiseArgs args;
  args.y = viewOf(y);
  args.p = request.attributes->number("value");
  SLUICE_RETURN_IF_ERROR(
      list->add<PointwiseArgs>("sluice_constant", gridFor(*request.cuda, y.elements()), args,
                               [](PointwiseArgs &args, const RunAddresses &run) { args.y.data = run.outputs[0]; }));
  View window = windowOf(y, x);
  std::int64_t offset = 0;
  for (int d = 0; d < y.rank; ++d) {
    offset += low[d] * y.strides[d];
    window.strides[d] = y.strides[d] * (step.empty() ? 1 : step[d]);
  }
  SLUICE_RETURN_IF_ERROR(addMove(*list, x, 0, 0, window, offset));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

} // namespace

CudaKernels movementKernels() {
  static constexpr CudaKernel kernels[] = {{KernelId::slice, slice}, {KernelId::concat, concat}, {KernelId::pad, pad}};
  return kernels;
}

} // namespace sluice::cuda
