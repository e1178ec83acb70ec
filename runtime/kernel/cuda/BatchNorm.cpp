//===- BatchNorm.cpp - batch norm on a GPU ----------------------------------------------------------------------===//
#include "runtime/kernel/cuda/device/BatchNorm.h"
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice::cuda {
namespace {

static_assert(batchNormWorkspace(1) == (channelRuns + 1) * 2 * 8);

BatchNormArgs argsOf(const KernelRequest &request, const Operand &x) {
  BatchNormArgs args;
  args.columns = x.extent[x.rank - 1];
  args.rows = cpu::extentOf(x, 0, x.rank - 1);
  args.epsilon = request.attributes->number("epsilon");
  return args;
}

using Bind = void (*)(BatchNormArgs &, const RunAddresses &);

/// Sums of channels, by runs and then altogether.
Status addSums(LaunchList &list, const std::string &policy, BatchNormArgs args, ChannelSum sum, Bind bind) {
  constexpr int threads = 128;
  const auto tiles = static_cast<std::uint64_t>((args.columns + threads - 1) / threads);
  args.sum = static_cast<int>(sum);
  SLUICE_RETURN_IF_ERROR(
      list.add<BatchNormArgs>("sluice_channelSums_" + policy, {tiles * channelRuns, threads, reduceBytes}, args, bind));
  return list.add<BatchNormArgs>("sluice_channelSumsEnd", {tiles, threads, reduceBytes}, args, bind);
}

Bound batchNormOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("batch_norm", request));
  const auto &in = request.inputs;
  const auto &out = request.outputs;
  BatchNormArgs args = argsOf(request, in[0]);
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(batchNormWorkspace(args.columns)));
  args.x = viewOf(in[0]), args.weight = viewOf(in[1]), args.bias = viewOf(in[2]);
  args.y = viewOf(out[0]), args.mean = viewOf(out[1]), args.variance = viewOf(out[2]);
  const Bind bind = [](BatchNormArgs &args, const RunAddresses &run) {
    args.x.data = run.inputs[0], args.weight.data = run.inputs[1], args.bias.data = run.inputs[2];
    args.y.data = run.outputs[0], args.mean.data = run.outputs[1], args.variance.data = run.outputs[2];
    args.scratch = static_cast<double *>(run.workspace);
  };
  const std::string policy = policyOf({&in[0], &in[1], &in[2], &out[0]});
  auto list = std::make_unique<LaunchList>(*request.cuda);
  SLUICE_RETURN_IF_ERROR(addSums(*list, policy, args, ChannelSum::values, bind));
  SLUICE_RETURN_IF_ERROR(addSums(*list, policy, args, ChannelSum::squares, bind));
  SLUICE_RETURN_IF_ERROR(
      list->add<BatchNormArgs>("sluice_batchNorm_" + policy, gridFor(*request.cuda, in[0].elements()), args, bind));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

Bound batchNormGradOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("batch_norm_grad", request));
  const auto &in = request.inputs;
  const auto &out = request.outputs;
  BatchNormArgs args = argsOf(request, in[1]);
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(batchNormWorkspace(args.columns)));
  args.dy = viewOf(in[0]), args.x = viewOf(in[1]), args.weight = viewOf(in[2]), args.mean = viewOf(in[3]),
  args.variance = viewOf(in[4]);
  args.dx = viewOf(out[0]), args.dweight = viewOf(out[1]), args.dbias = viewOf(out[2]);
  const Bind bind = [](BatchNormArgs &args, const RunAddresses &run) {
    View *const from[] = {&args.dy, &args.x, &args.weight, &args.mean, &args.variance};
    for (int i = 0; i < 5; ++i)
      from[i]->data = run.inputs[i];
    args.dx.data = run.outputs[0], args.dweight.data = run.outputs[1], args.dbias.data = run.outputs[2];
    args.scratch = static_cast<double *>(run.workspace);
  };
  const std::string policy = policyOf({&in[0], &in[1], &in[2], &out[0]});
  auto list = std::make_unique<LaunchList>(*request.cuda);
  SLUICE_RETURN_IF_ERROR(addSums(*list, policy, args, ChannelSum::gradients, bind));
  SLUICE_RETURN_IF_ERROR(
      list->add<BatchNormArgs>("sluice_batchNormGrad_" + policy, gridFor(*request.cuda, in[1].elements()), args, bind));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

} // namespace

CudaKernels batchNormKernels() {
  static constexpr CudaKernel kernels[] = {{KernelId::batch_norm, batchNormOf},
                                           {KernelId::batch_norm_grad, batchNormGradOf}};
  return kernels;
}

} // namespace sluice::cuda
