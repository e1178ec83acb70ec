//===- Rows.cpp - softmax, norms and cross entropy on a GPU ----------------------------------------------===//
#include "runtime/kernel/cuda/device/Rows.h"
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/cpu/CrossEntropyShape.h"
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice::cuda {
namespace {

static_assert(normGradWorkspace(1) == normRuns * 2 * 8);

/// A row, or what there is one of for each row.
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

Status addRows(LaunchList &list, const std::string &function, const LaunchShape &shape, const RowArgs &args) {
  return list.add<RowArgs>(function, shape, args, bindRow);
}

/// One launch, a block a row.
Bound perRow(std::string_view name, std::string_view function, const KernelRequest &request,
             std::initializer_list<const Operand *> operands, const Operand &frame, double epsilon = 0) {
  RowArgs args = rowArgs(request, frame);
  args.epsilon = epsilon;
  auto list = std::make_unique<LaunchList>(*request.cuda);
  SLUICE_RETURN_IF_ERROR(addRows(*list, symbol(function, operands), rowGrid(args.rows, args.columns), args));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

Bound softmaxOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("softmax", request));
  return perRow("softmax", "softmax", request, {&request.inputs[0], &request.outputs[0]}, request.inputs[0]);
}
Bound softmaxGradOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("softmax_grad", request));
  return perRow("softmax_grad", "softmaxGrad", request, {&request.inputs[0], &request.inputs[1], &request.outputs[0]},
                request.inputs[0]);
}
Bound logSumExpOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("logsumexp", request));
  RowArgs args = rowArgs(request, request.inputs[0]);
  auto list = std::make_unique<LaunchList>(*request.cuda);
  // A row of nothing still has a result.
  LaunchShape shape = rowGrid(args.rows, args.columns);
  shape.blocks = static_cast<std::uint64_t>(args.rows);
  SLUICE_RETURN_IF_ERROR(addRows(*list, symbol("logSumExp", {&request.inputs[0]}), shape, args));
  return std::unique_ptr<BoundKernel>(std::move(list));
}
Bound layerNormOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("layer_norm", request));
  const auto &in = request.inputs;
  return perRow("layer_norm", "layerNorm", request, {&in[0], &in[1], &in[2], &request.outputs[0]}, in[0],
                request.attributes->number("epsilon"));
}
Bound rmsNormOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("rms_norm", request));
  const auto &in = request.inputs;
  return perRow("rms_norm", "rmsNorm", request, {&in[0], &in[1], &request.outputs[0]}, in[0],
                request.attributes->number("epsilon"));
}

/// The vectors first: dx may stand in dy's place.
Bound normGradOf(std::string_view name, const KernelRequest &request, bool mean) {
  SLUICE_RETURN_IF_ERROR(checkAsReference(name, request));
  const auto &in = request.inputs;
  RowArgs args = rowArgs(request, in[1]);
  args.mean = mean;
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(normGradWorkspace(args.columns)));
  auto list = std::make_unique<LaunchList>(*request.cuda);
  constexpr int threads = 128;
  const auto tiles = static_cast<std::uint64_t>((args.columns + threads - 1) / threads);
  SLUICE_RETURN_IF_ERROR(
      addRows(*list, symbol("normVectors", {&in[0], &in[1]}), {tiles * normRuns, threads, reduceBytes}, args));
  SLUICE_RETURN_IF_ERROR(addRows(*list, "sluice_normVectorsEnd", {tiles, threads, reduceBytes}, args));
  SLUICE_RETURN_IF_ERROR(addRows(*list, symbol("normGrad", {&in[0], &in[1], &in[2], &request.outputs[0]}),
                                 rowGrid(args.rows, args.columns), args));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

void setLoss(const KernelRequest &request, RowArgs &args) {
  args.classes = args.columns;
  args.ignore = request.attributes->integer("ignore_index");
  args.mean = request.attributes->choice<kernel::LossReduction>("reduction") == kernel::LossReduction::mean;
  args.smoothing = request.attributes->number("label_smoothing");
}

Bound crossEntropyOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("cross_entropy", request));
  RowArgs args = rowArgs(request, request.inputs[0]);
  setLoss(request, args);
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(crossEntropyWorkspace(args.rows)));
  auto list = std::make_unique<LaunchList>(*request.cuda);
  SLUICE_RETURN_IF_ERROR(
      addRows(*list, symbol("crossEntropy", {&request.inputs[0]}), rowGrid(args.rows, args.columns), args));
  SLUICE_RETURN_IF_ERROR(addRows(*list, "sluice_crossEntropyEnd", {1, 512, reduceBytes}, args));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

Bound crossEntropyGradOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("cross_entropy_grad", request));
  const auto &in = request.inputs;
  SLUICE_ASSIGN_OR_RETURN(cpu::CrossEntropyShape shape,
                          cpu::CrossEntropyShape::of(request, in[1], in[2], in[3], in[0]));
  RowArgs args = rowArgs(request, in[1]);
  setLoss(request, args);
  // A tensor rank has some of the classes.
  args.classes = shape.total;
  args.firstClass = shape.first;
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(crossEntropyGradWorkspace));
  auto list = std::make_unique<LaunchList>(*request.cuda);
  SLUICE_RETURN_IF_ERROR(addRows(*list, "sluice_crossEntropyFactor", {1, 512, reduceBytes}, args));
  SLUICE_RETURN_IF_ERROR(addRows(*list, symbol("crossEntropyGrad", {&request.inputs[1], &request.outputs[0]}),
                                 rowGrid(args.rows, args.columns), args));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

} // namespace

CudaKernels rowKernels() {
  static constexpr CudaKernel kernels[] = {
      {KernelId::softmax, softmaxOf},
      {KernelId::softmax_grad, softmaxGradOf},
      {KernelId::logsumexp, logSumExpOf},
      {KernelId::layer_norm, layerNormOf},
      {KernelId::layer_norm_grad,
       [](const KernelRequest &request) { return normGradOf("layer_norm_grad", request, true); }},
      {KernelId::rms_norm, rmsNormOf},
      {KernelId::rms_norm_grad,
       [](const KernelRequest &request) { return normGradOf("rms_norm_grad", request, false); }},
      {KernelId::cross_entropy, crossEntropyOf},
      {KernelId::cross_entropy_grad, crossEntropyGradOf},
  };
  return kernels;
}

} // namespace sluice::cuda
