//===- Convolution.cpp - convolution and its derivatives on a GPU -------------------------------------------===//
//
// cuDNN computes it if it is enabled and has an engine (DnnKernels.h), else Sluice's kernels do.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cuda/device/Convolution.h"
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/cpu/ConvolutionShape.h"
#include "runtime/kernel/cuda/DnnKernels.h"
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice::cuda {
namespace {

/// The arguments, or a refusal if a number of positions does not fit the kernels' 32 bits.
Result<ConvolutionArgs> argsOf(const KernelRequest &request, const Operand &x, const Operand &weight,
                               const Operand &y) {
  const cpu::Check check(request);
  SLUICE_ASSIGN_OR_RETURN(cpu::ConvolutionShape s, cpu::ConvolutionShape::of(request, x, weight, y));
  ConvolutionArgs args;
  args.images = s.images;
  args.groups = s.groups;
  args.inputs = s.inputs / s.groups;
  args.outputs = s.outputs / s.groups;
  for (int d = 0; d < 2; ++d) {
    args.in[d] = s.in[d], args.out[d] = s.out[d], args.kernel[d] = s.kernel[d];
    args.stride[d] = s.stride[d], args.padding[d] = s.padding[d], args.dilation[d] = s.dilation[d];
  }
  // In floating point, so that no product wraps.
  const double images = static_cast<double>(s.images),
               window = static_cast<double>(s.kernel[0]) * static_cast<double>(s.kernel[1]);
  for (const double count : {images * static_cast<double>(s.in[0]) * static_cast<double>(s.in[1]),
                             images * static_cast<double>(s.out[0]) * static_cast<double>(s.out[1]),
                             window * static_cast<double>(std::max(args.inputs, args.outputs))})
    if (count >= 2147483648.0)
      return check.refuse("places, expected less than 2147483648 on cuda but got " +
                          std::to_string(static_cast<std::int64_t>(count)));
  return args;
}

/// The tiles of one of the three, all groups and runs.
template <template <typename> typename Problem>
LaunchShape tilesFor(const ConvolutionArgs &args, const std::string &policy) {
  using Counts = Problem<F32>;
  const Index tiles = tilesOf(Counts::rowCount(args)) * tilesOf(Counts::columnCount(args));
  return {static_cast<std::uint64_t>(tiles * args.groups * args.runs), tileThreads,
          tileShared(policy == "wide" ? 8 : 4)};
}

} // namespace

Bound kernels::conv2d(const KernelRequest &request) {
  using A = ConvolutionArgs;
  if (Bound other = byDnn(request); !other.isOk() || *other)
    return other;
  const auto &in = request.inputs;
  SLUICE_ASSIGN_OR_RETURN(ConvolutionArgs args, argsOf(request, in[0], in[1], request.outputs[0]));
  args.hasBias = in.size() == 3;
  std::vector<View A::*> inputs = {&A::x, &A::weight};
  if (args.hasBias)
    inputs.push_back(&A::bias);
  const auto bind = bindViews(args, request, inputs, {&A::y});
  const std::string policy = policyOf({&in[0], &in[1], &in[args.hasBias ? 2 : 1], &request.outputs[0]});
  return oneLaunch(request, "sluice_convolution_" + policy, tilesFor<ConvolutionForward>(args, policy), args, bind);
}

Bound kernels::conv2d_input_grad(const KernelRequest &request) {
  using A = ConvolutionArgs;
  if (Bound other = byDnn(request); !other.isOk() || *other)
    return other;
  const auto &in = request.inputs;
  SLUICE_ASSIGN_OR_RETURN(ConvolutionArgs args, argsOf(request, request.outputs[0], in[1], in[0]));
  const auto bind = bindViews(args, request, {&A::y, &A::weight}, {&A::x});
  const std::string policy = policyOf({&in[0], &in[1], &request.outputs[0]});
  return oneLaunch(request, "sluice_convolutionInput_" + policy, tilesFor<ConvolutionInput>(args, policy), args, bind);
}

/// In runs, because the weight alone would leave most of the device idle.
Bound kernels::conv2d_weight_grad(const KernelRequest &request) {
  using A = ConvolutionArgs;
  if (Bound other = byDnn(request); !other.isOk() || *other)
    return other;
  const auto &in = request.inputs;
  const Operand &dy = in[0], &dweight = request.outputs[0];
  SLUICE_ASSIGN_OR_RETURN(ConvolutionArgs args, argsOf(request, in[1], dweight, dy));
  args.runs = convolutionRuns(args.groups, dweight.shape.data(), dy.shape.data());
  const Index positions = args.images * args.out[0] * args.out[1];
  args.runLength = (positions + args.runs - 1) / args.runs;
  SLUICE_RETURN_IF_ERROR(
      cpu::Check(request).workspace(convolutionWorkspace(args.groups, dweight.shape.data(), dy.shape.data())));
  const std::string policy = policyOf({&dy, &in[1], &dweight});
  const auto bind = bindViews(args, request, {&A::y, &A::x}, {&A::weight}, &A::partial);
  LaunchList list(*request.cuda);
  list.add("sluice_convolutionWeight_" + policy, tilesFor<ConvolutionWeight>(args, policy), args, bind);
  if (args.runs > 1)
    list.add("sluice_convolutionWeightEnd", gridFor(*request.cuda, dweight.elements()), args, bind);
  return std::move(list).finish();
}

} // namespace sluice::cuda
