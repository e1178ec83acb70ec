//===- Movement.cpp - slices, concatenation and padding on a GPU -----------------------------------------===//
#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/kernel/cuda/device/Pointwise.h"

namespace sluice::cuda {
namespace {

/// Moves an input to a window of the output; offsets in elements.
void addMove(LaunchList &list, const Operand &x, std::int64_t xOffset, std::size_t input, View window,
             std::int64_t yOffset) {
  PointwiseArgs args;
  args.y = window;
  args.x[0] = viewOf(x);
  std::int64_t count = 1;
  for (int d = 0; d < window.rank; ++d)
    count *= window.extent[d];
  const auto bytes = static_cast<std::int64_t>(dtypeBytes(x.dtype));
  list.add("sluice_strided", gridFor(list.owner(), count), args, [=](PointwiseArgs &args, const RunAddresses &run) {
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

} // namespace

Bound kernels::slice(const KernelRequest &request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  const std::int64_t dim = request.attributes->integer("dim");
  LaunchList list(*request.cuda);
  addMove(list, x, y.origin[dim] * x.strides[dim], 0, viewOf(y), 0);
  return std::move(list).finish();
}

Bound kernels::concat(const KernelRequest &request) {
  const Operand &y = request.outputs[0];
  const std::int64_t dim = request.attributes->integer("dim");
  LaunchList list(*request.cuda);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    addMove(list, request.inputs[i], 0, i, windowOf(y, request.inputs[i]), offset * y.strides[dim]);
    offset += request.inputs[i].extent[dim];
  }
  return std::move(list).finish();
}

Bound kernels::pad(const KernelRequest &request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  const auto low = request.attributes->list("low"), step = request.attributes->list("step");
  LaunchList list(*request.cuda);
  PointwiseArgs args;
  const auto bind = bindViews(args, request, {}, {&PointwiseArgs::y});
  args.p = request.attributes->number("value");
  list.add("sluice_constant", gridFor(*request.cuda, y.elements()), args, bind);
  View window = windowOf(y, x);
  std::int64_t offset = 0;
  for (int d = 0; d < y.rank; ++d) {
    offset += low[d] * y.strides[d];
    window.strides[d] = y.strides[d] * (step.empty() ? 1 : step[d]);
  }
  addMove(list, x, 0, 0, window, offset);
  return std::move(list).finish();
}

} // namespace sluice::cuda
