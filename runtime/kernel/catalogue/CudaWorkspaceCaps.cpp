//===- CudaWorkspaceCaps.cpp - scratch memory of the CUDA kernels ----------------===//
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/catalogue/DnnAttention.h"
#include "runtime/kernel/catalogue/WorkspaceCaps.h"

#include <algorithm>

namespace sluice::cuda {
namespace {

std::uint64_t bytesOf(const Operand &operand) {
  return static_cast<std::uint64_t>(shapeElements(operand)) * dtypeBytes(operand.dtype);
}

} // namespace

std::uint64_t matmulCap(const LaunchDescription &) { return blasWorkspace; }
std::uint64_t attentionCap(const LaunchDescription &) { return dnnAttentionWorkspace; }

std::uint64_t attentionGradCap(const LaunchDescription &launch) {
  const Operand &dout = launch.inputs[0], &k = launch.inputs[2];
  if (launch.attributes.integer("cudnn") != 0)
    return dout.rank == 4 && k.rank == 4 ? DnnAttentionGrad(dout, k, launch.attributes.integer("rows")).workspace() : 0;
  return dout.rank == 4 ? attentionGradWorkspace(dout.shape[0], dout.shape[2], dout.shape[1]) : 0;
}

std::uint64_t convolutionCap(const LaunchDescription &launch) {
  return dnnConvolutionWorkspace(bytesOf(launch.inputs[1]));
}

std::uint64_t convolutionWeightGradCap(const LaunchDescription &launch) {
  const Operand &dy = launch.inputs[0], &dweight = launch.outputs[0];
  if (dy.rank != 4 || dweight.rank != 4)
    return 0;
  return std::max(dnnConvolutionWorkspace(bytesOf(dweight)),
                  convolutionWorkspace(std::max<std::int64_t>(launch.attributes.integer("groups"), 1),
                                       dweight.shape.data(), dy.shape.data()));
}

std::uint64_t batchNormCap(const LaunchDescription &launch) { return batchNormWorkspace(lastExtent(launch.inputs[0])); }
std::uint64_t normGradCap(const LaunchDescription &launch) {
  const std::int64_t columns = lastExtent(launch.inputs[1]);
  return normGradWorkspace(columns ? shapeElements(launch.inputs[1]) / columns : 0, columns);
}
std::uint64_t normGradAndSumCap(const LaunchDescription &launch) {
  const Operand &x = launch.inputs[1];
  const std::int64_t columns = lastExtent(x), rows = columns ? shapeElements(x) / columns : 0;
  return std::max(normGradWorkspace(rows, columns, 3),
                  columnsWorkspace(rows, columns, static_cast<std::int64_t>(dtypeBytes(x.dtype))));
}
std::uint64_t reduceSumCap(const LaunchDescription &launch) {
  const Operand &x = launch.inputs[0];
  const std::int64_t dims = static_cast<std::int64_t>(launch.attributes.list("dims").size());
  std::int64_t rows = 1, columns = 1;
  for (int d = 0; d < x.rank; ++d)
    (d < dims ? rows : columns) *= x.shape[d];
  return x.dtype == DType::f64 ? 0 : columnsWorkspace(rows, columns, static_cast<std::int64_t>(dtypeBytes(x.dtype)));
}
std::uint64_t sortedRowsCap(const LaunchDescription &launch) {
  const Operand &values = launch.inputs[0], &table = launch.outputs[0];
  const std::int64_t rows = table.rank == 0 ? 0 : table.shape[0];
  const bool wide = values.dtype == DType::f64 || table.dtype == DType::f64;
  return SortedRowsWorkspace(shapeElements(launch.inputs[1]), rows, rows ? shapeElements(table) / rows : 0,
                             wide ? 8 : 4)
      .bytes();
}
std::uint64_t crossEntropyCap(const LaunchDescription &launch) {
  return crossEntropyWorkspace(shapeElements(launch.inputs[1]));
}
std::uint64_t crossEntropyGradCap(const LaunchDescription &) { return crossEntropyGradWorkspace; }
std::uint64_t crossEntropyAndGradCap(const LaunchDescription &launch) {
  return crossEntropyCap(launch) + crossEntropyGradWorkspace;
}
std::uint64_t linearLossCap(const LaunchDescription &launch) {
  // The gradient alone has dloss, a scalar, before them.
  const auto in = launch.inputs.subspan(launch.inputs.size() >= 5 && launch.inputs[0].rank == 0 ? 1 : 0);
  const Operand &x = in[0], &weight = in[1], &targets = in[2];
  if (weight.rank != 2)
    return 0;
  const std::int64_t rows = std::max<std::int64_t>(shapeElements(targets), 1);
  const std::int64_t chunk = std::clamp<std::int64_t>(launch.attributes.integer("rows"), 1, rows);
  return LinearLossWorkspace(rows, chunk, weight.shape[0], dtypeBytes(x.dtype)).own() + blasWorkspace;
}

std::uint64_t powerSumCap(const LaunchDescription &launch) { return powerSumWorkspace(launch.inputs.size()); }

} // namespace sluice::cuda
