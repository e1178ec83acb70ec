//===- Rows.cpp - softmax, norms and cross entropy on a GPU ----------------------------------------------===//
#include "runtime/kernel/cuda/device/Rows.h"
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/cpu/CrossEntropyShape.h"
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice::cuda {
namespace {

static_assert(normGradWorkspace(1) == normRuns * 2 * 8);

/// Rows of the operand, or one element per row.
View rowView(const Operand &operand, const Operand &frame) {
  return joined(viewOf(operand), operand.rank == frame.rank ? operand.rank - 1 : operand.rank);
}

/// The arguments of a kernel over the rows of `frame`.
RowArgs rowArgs(const KernelRequest &request, const Operand &frame) {
  RowArgs args;
  for (std::size_t i = 0; i < request.inputs.size(); ++i)
    args.in[i] = rowView(request.inputs[i], frame);
  for (std::size_t i = 0; i < request.outputs.size(); ++i)
    args.out[i] = rowView(request.outputs[i], frame);
  args.columns = frame.rank ? frame.extent[frame.rank - 1] : 1;
  args.rows = frame.rank ? cpu::extentOf(frame, 0, frame.rank - 1) : 1;
  return args;
}

void bindRow(RowArgs &args, const RunAddresses &run) {
  for (std::size_t i = 0; i < run.inputs.size(); ++i)
    args.in[i].data = run.inputs[i];
  for (std::size_t i = 0; i < run.outputs.size(); ++i)
    args.out[i].data = run.outputs[i];
  args.scratch = run.workspace;
}

void addRows(LaunchList &list, const std::string &function, const LaunchShape &shape, const RowArgs &args) {
  list.add(function, shape, args, bindRow);
}

/// One launch, a block per row.
Bound perRow(std::string_view function, const KernelRequest &request, std::initializer_list<const Operand *> operands,
             double epsilon = 0) {
  RowArgs args = rowArgs(request, request.inputs[0]);
  args.epsilon = epsilon;
  return oneLaunch(request, symbol(function, operands), rowGrid(args.rows, args.columns), args, bindRow);
}

/// The gradients of the vectors first: dx may be in dy's memory.
Bound normGradOf(const KernelRequest &request, bool mean) {
  const auto &in = request.inputs;
  RowArgs args = rowArgs(request, in[1]);
  args.mean = mean;
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(normGradWorkspace(args.columns)));
  LaunchList list(*request.cuda);
  constexpr int threads = 128;
  const auto tiles = static_cast<std::uint64_t>((args.columns + threads - 1) / threads);
  addRows(list, symbol("normVectors", {&in[0], &in[1]}), {tiles * normRuns, threads, reduceBytes}, args);
  addRows(list, "sluice_normVectorsEnd", {tiles, threads, reduceBytes}, args);
  addRows(list, symbol("normGrad", {&in[0], &in[1], &in[2], &request.outputs[0]}), rowGrid(args.rows, args.columns),
          args);
  return std::move(list).finish();
}

void setLoss(const KernelRequest &request, RowArgs &args) {
  args.classes = args.columns;
  args.ignore = request.attributes->integer("ignore_index");
  args.mean = request.attributes->choice<kernel::LossReduction>("reduction") == kernel::LossReduction::mean;
  args.smoothing = request.attributes->number("label_smoothing");
}

} // namespace

Bound kernels::softmax(const KernelRequest &request) {
  return perRow("softmax", request, {&request.inputs[0], &request.outputs[0]});
}
Bound kernels::softmax_grad(const KernelRequest &request) {
  return perRow("softmaxGrad", request, {&request.inputs[0], &request.inputs[1], &request.outputs[0]});
}
Bound kernels::logsumexp(const KernelRequest &request) {
  const RowArgs args = rowArgs(request, request.inputs[0]);
  // An empty row also has a result.
  LaunchShape shape = rowGrid(args.rows, args.columns);
  shape.blocks = static_cast<std::uint64_t>(args.rows);
  return oneLaunch(request, symbol("logSumExp", {&request.inputs[0]}), shape, args, bindRow);
}
Bound kernels::layer_norm(const KernelRequest &request) {
  const auto &in = request.inputs;
  return perRow("layerNorm", request, {&in[0], &in[1], &in[2], &request.outputs[0]},
                request.attributes->number("epsilon"));
}
Bound kernels::rms_norm(const KernelRequest &request) {
  const auto &in = request.inputs;
  return perRow("rmsNorm", request, {&in[0], &in[1], &request.outputs[0]}, request.attributes->number("epsilon"));
}
Bound kernels::layer_norm_grad(const KernelRequest &request) { return normGradOf(request, true); }
Bound kernels::rms_norm_grad(const KernelRequest &request) { return normGradOf(request, false); }

Bound kernels::cross_entropy(const KernelRequest &request) {
  RowArgs args = rowArgs(request, request.inputs[0]);
  setLoss(request, args);
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(crossEntropyWorkspace(args.rows)));
  LaunchList list(*request.cuda);
  addRows(list, symbol("crossEntropy", {&request.inputs[0]}), rowGrid(args.rows, args.columns), args);
  addRows(list, "sluice_crossEntropyEnd", {1, 512, reduceBytes}, args);
  return std::move(list).finish();
}

Bound kernels::cross_entropy_grad(const KernelRequest &request) {
  const auto &in = request.inputs;
  SLUICE_ASSIGN_OR_RETURN(cpu::CrossEntropyShape shape, cpu::CrossEntropyShape::ofGradient(request));
  RowArgs args = rowArgs(request, in[1]);
  setLoss(request, args);
  // A tensor rank has some of the classes.
  args.classes = shape.total;
  args.firstClass = shape.first;
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(crossEntropyGradWorkspace));
  LaunchList list(*request.cuda);
  addRows(list, "sluice_crossEntropyFactor", {1, 512, reduceBytes}, args);
  addRows(list, symbol("crossEntropyGrad", {&request.inputs[1], &request.outputs[0]}), rowGrid(args.rows, args.columns),
          args);
  return std::move(list).finish();
}

} // namespace sluice::cuda
