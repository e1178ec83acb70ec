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

/// Sums of channels: runs of rows, then the sum of the runs.
void addSums(LaunchList &list, const std::string &policy, BatchNormArgs args, ChannelSum sum,
             const Bind<BatchNormArgs> &bind) {
  constexpr int threads = 128;
  const auto tiles = static_cast<std::uint64_t>((args.columns + threads - 1) / threads);
  args.sum = static_cast<int>(sum);
  list.add("sluice_channelSums_" + policy, {tiles * channelRuns, threads, reduceBytes}, args, bind);
  list.add("sluice_channelSumsEnd", {tiles, threads, reduceBytes}, args, bind);
}

} // namespace

Bound kernels::batch_norm(const KernelRequest &request) {
  using A = BatchNormArgs;
  const auto &in = request.inputs;
  BatchNormArgs args = argsOf(request, in[0]);
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(batchNormWorkspace(args.columns)));
  const auto bind =
      bindViews(args, request, {&A::x, &A::weight, &A::bias}, {&A::y, &A::mean, &A::variance}, &A::scratch);
  const std::string policy = policyOf({&in[0], &in[1], &in[2], &request.outputs[0]});
  LaunchList list(*request.cuda);
  addSums(list, policy, args, ChannelSum::values, bind);
  addSums(list, policy, args, ChannelSum::squares, bind);
  list.add("sluice_batchNorm_" + policy, gridFor(*request.cuda, in[0].elements()), args, bind);
  return std::move(list).finish();
}

Bound kernels::batch_norm_grad(const KernelRequest &request) {
  using A = BatchNormArgs;
  const auto &in = request.inputs;
  BatchNormArgs args = argsOf(request, in[1]);
  args.addsWeight = request.adds[1];
  args.addsBias = request.adds[2];
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(batchNormWorkspace(args.columns)));
  const auto bind = bindViews(args, request, {&A::dy, &A::x, &A::weight, &A::mean, &A::variance},
                              {&A::dx, &A::dweight, &A::dbias}, &A::scratch);
  const std::string policy = policyOf({&in[0], &in[1], &in[2], &request.outputs[0]});
  LaunchList list(*request.cuda);
  addSums(list, policy, args, ChannelSum::gradients, bind);
  list.add("sluice_batchNormGrad_" + policy, gridFor(*request.cuda, in[1].elements()), args, bind);
  return std::move(list).finish();
}

} // namespace sluice::cuda
