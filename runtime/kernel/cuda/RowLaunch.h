//===- RowLaunch.h - launches of the kernels of device/Rows.h ----------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_ROWLAUNCH_H
#define SLUICE_RUNTIME_KERNEL_CUDA_ROWLAUNCH_H

#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/kernel/cuda/device/Rows.h"

namespace sluice::cuda {

/// Rows of the operand, or one element per row.
inline View rowView(const Operand &operand, const Operand &frame) {
  return joined(viewOf(operand), operand.rank == frame.rank ? operand.rank - 1 : operand.rank);
}

/// The arguments of a kernel over the rows of `frame`.
inline RowArgs rowArgs(const KernelRequest &request, const Operand &frame) {
  RowArgs args;
  for (std::size_t i = 0; i < request.inputs.size(); ++i)
    args.in[i] = rowView(request.inputs[i], frame);
  for (std::size_t i = 0; i < request.outputs.size(); ++i)
    args.out[i] = rowView(request.outputs[i], frame);
  args.columns = frame.rank ? frame.extent[frame.rank - 1] : 1;
  args.rows = frame.rank ? cpu::extentOf(frame, 0, frame.rank - 1) : 1;
  return args;
}

/// Sets the addresses of the operands.
inline void bindRow(RowArgs &args, const RunAddresses &run) {
  // Those after them are sums, which the outputs have.
  for (std::size_t i = 0; i < std::min(run.inputs.size(), std::size(args.in)); ++i)
    args.in[i].data = run.inputs[i];
  for (std::size_t i = 0; i < run.outputs.size(); ++i)
    args.out[i].data = run.outputs[i];
  args.scratch = run.workspace;
}

inline void addRows(LaunchList &list, const std::string &function, const LaunchShape &shape, const RowArgs &args) {
  list.add(function, shape, args, bindRow);
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_ROWLAUNCH_H
