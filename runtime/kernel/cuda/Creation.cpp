//===- Creation.cpp - random numbers, dropout, rope and counters on a GPU ---------------------------------===//
#include "runtime/kernel/cpu/DropoutMask.h"
#include "runtime/kernel/cpu/RopeShape.h"
#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/kernel/cuda/device/DenseRope.h"

#include <optional>

namespace sluice::cuda {
namespace {

void setIndex(NumberedArgs &args, const cpu::GlobalIndex &index) {
  std::ranges::copy(index.strides, args.global);
  args.first = index.first;
}

Bound randomOf(const KernelRequest &request, bool normal, double offset, double spread) {
  const Operand &y = request.outputs[0];
  NumberedArgs args;
  args.y = viewOf(y);
  setIndex(args, cpu::GlobalIndex(y));
  args.key = static_cast<Key>(request.attributes->integer("key"));
  args.normal = normal;
  args.offset = offset;
  args.spread = spread;
  const cpu::ZeroElements zeros(request);
  args.zeroBegin = static_cast<Key>(std::max<std::int64_t>(zeros.begin, 0));
  args.zeroEnd = static_cast<Key>(std::max<std::int64_t>(zeros.end, 0));
  args.rowElements = static_cast<Key>(cpu::GlobalIndex(y).strides[0]);
  return oneLaunch(request, "sluice_random", gridFor(*request.cuda, y.elements()), args,
                   [](NumberedArgs &args, const RunAddresses &run) {
                     args.seed = static_cast<const Index *>(run.inputs[0]);
                     // Of a step.
                     if (run.inputs.size() > 1) {
                       args.step = static_cast<const Index *>(run.inputs[1]);
                       args.row = static_cast<const Index *>(run.inputs[2]);
                     }
                     args.y.data = run.outputs[0];
                   });
}

/// The tensor as a list of DenseRope.h has it, if its heads are dense.
std::optional<RotatedHeads> rotatedHeads(const Operand &x, const Operand &y, std::int64_t width) {
  RotatedHeads heads;
  for (const Operand *operand : {&x, &y}) {
    if (operand->strides[3] != 1 && operand->extent[3] != 1)
      return std::nullopt;
    for (int d = 0; d < 3; ++d) {
      const std::int64_t stride = operand->extent[d] == 1 ? 0 : operand->strides[d];
      if (stride % width != 0 || stride * operand->extent[d] >= std::int64_t(1) << 31)
        return std::nullopt;
      (operand == &x ? heads.xStrides : heads.yStrides)[d] = static_cast<unsigned>(stride / width);
    }
  }
  heads.batches = static_cast<unsigned>(x.extent[0]);
  heads.heads = static_cast<unsigned>(x.extent[2]);
  return heads;
}

/// By the kernel of dense heads, a block for each position; null if the operands do not fit it.
Bound ropeOfVectors(const KernelRequest &request, const cpu::RopeShape &shape) {
  const DType type = request.inputs[0].dtype;
  const bool stored = !shape.packed && (type == DType::f32 || type == DType::bf16 || type == DType::f16);
  const auto width = static_cast<std::int64_t>(vectorBytes / dtypeBytes(type));
  if (!stored || shape.size / 2 % width != 0 || shape.position < 0 ||
      shape.position + shape.rows > std::int64_t(denseRopePositions) || request.outputs.size() > listedRopes)
    return std::unique_ptr<BoundKernel>();
  DenseRopeArgs args;
  for (std::size_t i = 0; i < request.outputs.size(); ++i) {
    const Operand &x = request.inputs[i], &y = request.outputs[i];
    const bool isAlike = x.dtype == type && y.dtype == type && x.extent[1] == shape.rows && x.extent[3] == shape.size;
    const std::optional<RotatedHeads> heads = isAlike ? rotatedHeads(x, y, width) : std::nullopt;
    if (!heads)
      return std::unique_ptr<BoundKernel>();
    args.of[args.count++] = *heads;
  }
  args.half = static_cast<unsigned>(shape.size / 2);
  args.position = static_cast<unsigned>(shape.position);
  args.inverse = shape.inverse;
  for (std::size_t i = 0; i < shape.frequencies.size(); ++i) {
    const double turns = shape.frequencies[i] / 6.283185307179586477;
    args.turns[i] = static_cast<float>(turns);
    args.turnsRest[i] = static_cast<float>(turns - static_cast<double>(args.turns[i]));
  }
  return oneLaunch(request, "sluice_denseRope_" + std::string(dtypeName(type)),
                   {static_cast<std::uint64_t>(shape.rows), ropeThreads, static_cast<int>(shape.size) * 4}, args,
                   [](DenseRopeArgs &args, const RunAddresses &run) {
                     for (std::size_t i = 0; i < run.outputs.size(); ++i) {
                       args.of[i].x = run.inputs[i];
                       args.of[i].y = run.outputs[i];
                     }
                   });
}

/// Of one tensor, with any strides.
Bound generalRope(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(cpu::RopeShape shape, cpu::RopeShape::of(request));
  RopeArgs args;
  std::vector<View RopeArgs::*> inputs = {&RopeArgs::x};
  if (shape.packed)
    inputs.push_back(&RopeArgs::documents);
  const auto bind = bindViews(args, request, inputs, {&RopeArgs::y});
  args.packed = shape.packed;
  args.position = shape.position;
  args.inverse = shape.inverse;
  std::copy(shape.frequencies.begin(), shape.frequencies.end(), args.frequencies);
  return oneLaunch(request, "sluice_rope", gridFor(*request.cuda, request.inputs[0].elements() / 2), args, bind);
}

} // namespace

Bound kernels::random_normal(const KernelRequest &request) {
  return randomOf(request, true, request.attributes->number("mean"), request.attributes->number("stddev"));
}
Bound kernels::random_uniform(const KernelRequest &request) {
  const double low = request.attributes->number("low");
  return randomOf(request, false, low, request.attributes->number("high") - low);
}

Bound kernels::iota(const KernelRequest &request) {
  NumberedArgs args;
  const auto bind = bindViews(args, request, {}, {&NumberedArgs::y});
  args.global[request.attributes->integer("dim")] = 1;
  return oneLaunch(request, "sluice_iota", gridFor(*request.cuda, request.outputs[0].elements()), args, bind);
}

Bound kernels::dropout(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(cpu::DropoutMask mask, cpu::DropoutMask::of(request));
  const Operand &y = request.outputs[0];
  NumberedArgs args;
  const auto bind = bindViews(args, request, {&NumberedArgs::x}, {&NumberedArgs::y});
  const cpu::GlobalIndex index(y);
  setIndex(args, index);
  args.rowElements = static_cast<Key>(index.strides[0]);
  args.key = mask.key;
  args.threshold = mask.threshold;
  args.spread = mask.factor;
  return oneLaunch(request, "sluice_dropout", gridFor(*request.cuda, y.elements()), args,
                   [bind](NumberedArgs &args, const RunAddresses &run) {
                     bind(args, run);
                     args.seed = static_cast<const Index *>(run.inputs[1]);
                     args.step = static_cast<const Index *>(run.inputs[2]);
                     args.row = static_cast<const Index *>(run.inputs[3]);
                   });
}

Bound kernels::rope(const KernelRequest &request) {
  for (const Operand &y : request.outputs)
    if (y.extent[3] / 2 > ropeFrequencies)
      return cpu::Check(request).refuse("head size, expected at most " + std::to_string(2 * ropeFrequencies) +
                                        " on cuda but got " + std::to_string(y.extent[3]));
  SLUICE_ASSIGN_OR_RETURN(cpu::RopeShape shape, cpu::RopeShape::of(request));
  return whereAligned(ropeOfVectors(request, shape), prepareEach(generalRope, request));
}

} // namespace sluice::cuda
