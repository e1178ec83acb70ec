//===- CrossEntropy.cpp - cross entropy on a GPU ----------------------------------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/cpu/CrossEntropyShape.h"
#include "runtime/kernel/cpu/LossAndGradient.h"
#include "runtime/kernel/cuda/RowLaunch.h"
#include "runtime/kernel/cuda/device/DenseLosses.h"
#include "runtime/kernel/cuda/device/LossAndGradient.h"

namespace sluice::cuda {
namespace {

/// The name that storedAlike has for a dense operand, if the elements of the last dim follow one another and all rows
/// are at one distance, `pitch` elements.
std::string storedRows(const Operand &operand, unsigned &pitch) {
  const View rows = joined(viewOf(operand), operand.rank - 1);
  // One row, or several at one distance; then the columns.
  if (operand.rank == 0 || operand.strides[operand.rank - 1] != 1 || rows.rank > 2)
    return "";
  pitch = static_cast<unsigned>(rows.rank == 2 ? rows.strides[0] : operand.extent[operand.rank - 1]);
  Operand dense = operand;
  for (int d = operand.rank - 2; d >= 0; --d)
    dense.strides[d] = dense.strides[d + 1] * dense.extent[d + 1];
  return storedAlike({&dense});
}

void setLoss(const KernelRequest &request, RowArgs &args) {
  args.classes = args.columns;
  args.ignore = request.attributes->integer("ignore_index");
  args.mean = request.attributes->choice<kernel::LossReduction>("reduction") == kernel::LossReduction::mean;
  args.smoothing = request.attributes->number("label_smoothing");
}

/// Several vectors of a thread are in flight, so that 256 threads are enough for a row.
LaunchShape lossGrid(const RowArgs &args) {
  LaunchShape shape = rowGrid(args.rows, args.columns);
  shape.threads = std::min(shape.threads, 256);
  return shape;
}
/// Of the block that combines the rows.
int lossThreads(Index rows) { return rows <= 4096 ? 512 : 1024; }

/// The arguments of the dense kernels with these operands, and the kernels' type; empty if the operands do not fit.
std::pair<DenseLossArgs, std::string> denseLoss(const RowArgs &args, const Operand &logits, const Operand &targets,
                                                const Operand &lse) {
  DenseLossArgs dense;
  dense.columns = static_cast<unsigned>(args.columns);
  dense.targetType = static_cast<int>(targets.dtype);
  dense.ignore = args.ignore;
  dense.classes = args.classes;
  dense.firstClass = args.firstClass;
  dense.smoothing = args.smoothing;
  dense.share = args.smoothing / static_cast<double>(args.classes);
  const std::string stored = storedRows(logits, dense.pitch);
  const bool fits = (targets.dtype == DType::i32 || targets.dtype == DType::i64) && targets.isDense() &&
                    storedAlike({&lse}) == "f32" && args.columns > 0;
  return {dense, fits ? stored : ""};
}

/// Loss and gradient by one kernel; null if the operands do not fit it.
Bound denseLossAndGradientOf(const KernelRequest &request) {
  const auto &in = request.inputs;
  RowArgs args = rowArgs(request, in[0]);
  setLoss(request, args);
  LossAndGradientArgs fused;
  const auto [dense, stored] = denseLoss(args, in[0], in[1], request.outputs[1]);
  fused.of = dense;
  fused.rows = static_cast<unsigned>(args.rows);
  const auto width = static_cast<unsigned>(vectorBytes / dtypeBytes(in[0].dtype));
  const std::int64_t shared = lossAndGradientShared(args.columns / width);
  // 2,048 threads on a multiprocessor.
  const int blocks =
      request.cuda->multiprocessors() * std::min(request.cuda->blocksWith(shared), 2048 / lossAndGradientThreads);
  if (stored.empty() || storedRows(request.outputs[2], fused.of.dpitch) != stored || fused.of.pitch % width != 0 ||
      fused.of.dpitch % width != 0 || blocks == 0)
    return std::unique_ptr<BoundKernel>();
  // The factor is after the losses of the rows.
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(crossEntropyWorkspace(args.rows) + crossEntropyGradWorkspace));
  const auto factorOf = [rows = args.rows](const RunAddresses &run) {
    return static_cast<double *>(run.workspace) + rows;
  };
  RowArgs ofFactor = args;
  ofFactor.in[0] = args.in[2];
  ofFactor.in[2] = args.in[1];
  LaunchList list(*request.cuda);
  list.add("sluice_crossEntropyFactor", {1, lossThreads(args.rows), reduceBytes}, ofFactor,
           [factorOf](RowArgs &args, const RunAddresses &run) {
             args.in[0].data = run.inputs[2];
             args.in[2].data = run.inputs[1];
             args.scratch = factorOf(run);
           });
  list.add("sluice_crossEntropyAndGrad_" + stored,
           {static_cast<std::uint64_t>(std::min<Index>(args.rows, blocks)), lossAndGradientThreads,
            static_cast<int>(shared)},
           fused, [factorOf](LossAndGradientArgs &args, const RunAddresses &run) {
             args.of.logits = run.inputs[0];
             args.of.targets = run.inputs[1];
             args.of.lse = static_cast<float *>(run.outputs[1]);
             args.of.dlogits = run.outputs[2];
             args.of.scratch = static_cast<double *>(run.workspace);
             args.factor = factorOf(run);
           });
  addRows(list, "sluice_crossEntropyEnd", {1, lossThreads(args.rows), reduceBytes}, args);
  return std::move(list).finish();
}

} // namespace

Bound kernels::cross_entropy(const KernelRequest &request) {
  RowArgs args = rowArgs(request, request.inputs[0]);
  setLoss(request, args);
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(crossEntropyWorkspace(args.rows)));
  LaunchList list(*request.cuda);
  const auto [dense, stored] = denseLoss(args, request.inputs[0], request.inputs[1], request.outputs[1]);
  if (stored.empty())
    addRows(list, symbol("crossEntropy", {&request.inputs[0]}), rowGrid(args.rows, args.columns), args);
  else
    list.add("sluice_denseCrossEntropy_" + stored, lossGrid(args), dense,
             [](DenseLossArgs &args, const RunAddresses &run) {
               args.logits = run.inputs[0];
               args.targets = run.inputs[1];
               args.lse = static_cast<float *>(run.outputs[1]);
               args.scratch = static_cast<double *>(run.workspace);
             });
  addRows(list, "sluice_crossEntropyEnd", {1, lossThreads(args.rows), reduceBytes}, args);
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
  addRows(list, "sluice_crossEntropyFactor", {1, lossThreads(args.rows), reduceBytes}, args);
  auto [dense, stored] = denseLoss(args, in[1], in[2], in[3]);
  if (stored.empty() || storedRows(request.outputs[0], dense.dpitch) != stored)
    addRows(list, symbol("crossEntropyGrad", {&request.inputs[1], &request.outputs[0]}),
            rowGrid(args.rows, args.columns), args);
  else
    list.add("sluice_denseCrossEntropyGrad_" + stored, lossGrid(args), dense,
             [](DenseLossArgs &args, const RunAddresses &run) {
               args.logits = run.inputs[1];
               args.targets = run.inputs[2];
               args.lse = static_cast<float *>(run.inputs[3]);
               args.dlogits = run.outputs[0];
               args.scratch = static_cast<double *>(run.workspace);
             });
  return std::move(list).finish();
}

/// Rows that do not fit in shared memory are read twice, by two kernels.
Bound kernels::cross_entropy_and_grad(const KernelRequest &request) {
  return whereAligned(denseLossAndGradientOf(request),
                      cpu::LossAndGradient::prepare(request, findCudaKernel(KernelId::cross_entropy),
                                                    findCudaKernel(KernelId::cross_entropy_grad)));
}

} // namespace sluice::cuda
