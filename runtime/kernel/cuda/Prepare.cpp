//===- Prepare.cpp - making CUDA kernels --------------------------------------------------------===//
#include "runtime/kernel/cuda/Prepare.h"

#include <algorithm>

namespace sluice::cuda {

static_assert(viewRank == maxRank);
static_assert(static_cast<int>(typeU8) == static_cast<int>(DType::u8) &&
              static_cast<int>(typeBf16) == static_cast<int>(DType::bf16));

Status checkAsReference(std::string_view name, const KernelRequest &request) {
  if (!request.cuda)
    return internalError("a kernel of the cuda device was prepared without one");
  KernelRequest onCpu = request;
  // The references' scratch memory is their own affair.
  onCpu.workspace = ~std::uint64_t(0);
  return findCpuKernel(name, KernelFlavour::reference)(onCpu).status();
}

View viewOf(const Operand &operand) {
  View view;
  view.data = operand.data;
  view.type = static_cast<int>(operand.dtype);
  view.rank = operand.rank;
  for (int d = 0; d < operand.rank; ++d) {
    view.extent[d] = operand.extent[d];
    view.strides[d] = operand.strides[d];
  }
  return view;
}

View joined(const View &view, int dims) {
  View result = view;
  result.rank = 0;
  for (int d = 0; d < view.rank; ++d) {
    const bool joins =
        d < dims && result.rank > 0 && result.strides[result.rank - 1] == view.extent[d] * view.strides[d];
    if (d < dims && view.extent[d] == 1)
      continue;
    if (joins)
      result.extent[result.rank - 1] *= view.extent[d];
    else
      result.extent[result.rank++] = view.extent[d];
    result.strides[result.rank - 1] = view.strides[d];
  }
  return result;
}

View broadcastView(const Operand &operand, const Operand &frame) {
  View view = viewOf(operand);
  const cpu::Dims strides = cpu::broadcastStrides(operand, frame);
  view.rank = frame.rank;
  for (int d = 0; d < frame.rank; ++d) {
    view.extent[d] = frame.extent[d];
    view.strides[d] = strides[d];
  }
  return view;
}

std::string policyOf(std::initializer_list<const Operand *> operands) {
  const auto all = [&](auto holds) {
    return std::ranges::all_of(operands, [&](const Operand *o) { return holds(o->dtype); });
  };
  if (all([](DType type) { return type == DType::f32; }))
    return "f32";
  if (all([](DType type) { return type == DType::bf16; }))
    return "bf16";
  if (all([](DType type) { return type == DType::f32 || type == DType::bf16 || type == DType::f16; }))
    return "mixed";
  return "wide";
}

std::string symbol(std::string_view function, std::initializer_list<const Operand *> operands) {
  return "sluice_" + std::string(function) + "_" + policyOf(operands);
}

LaunchShape gridFor(const KernelContext &context, std::int64_t count, int threads) {
  const std::int64_t wanted = (count + threads - 1) / threads, most = std::int64_t(context.multiprocessors()) * 16;
  return {static_cast<std::uint64_t>(std::clamp<std::int64_t>(wanted, 0, most)), threads, reduceBytes};
}

LaunchShape exactGrid(std::int64_t count, int threads) {
  return {static_cast<std::uint64_t>((count + threads - 1) / threads), threads, reduceBytes};
}

LaunchShape rowGrid(std::int64_t rows, std::int64_t columns) {
  const int threads = columns <= 64 ? 32 : columns <= 512 ? 128 : columns <= 4096 ? 256 : 512;
  return {columns == 0 ? 0 : static_cast<std::uint64_t>(rows), threads, reduceBytes};
}

} // namespace sluice::cuda
