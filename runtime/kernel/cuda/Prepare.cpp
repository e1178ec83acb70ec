//===- Prepare.cpp - launches of CUDA kernels --------------------------------------------------------===//
#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/base/cuda/Vector.h"

#include <algorithm>

namespace sluice::cuda {

static_assert(viewRank == maxRank);
static_assert(static_cast<int>(typeU8) == static_cast<int>(DType::u8) &&
              static_cast<int>(typeBf16) == static_cast<int>(DType::bf16));

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

namespace {

/// Indices of kernels of dense operands have 32 bits.
constexpr std::int64_t mostDense = std::int64_t(1) << 31;

std::string storedName(const Operand &operand) {
  if (!operand.isDense() || operand.elements() >= mostDense)
    return "";
  return operand.dtype == DType::f32    ? "f32"
         : operand.dtype == DType::bf16 ? "bf16"
         : operand.dtype == DType::f16  ? "f16"
                                        : "";
}

} // namespace

std::string storedAlike(std::initializer_list<const Operand *> operands) {
  const std::string name = storedName(**operands.begin());
  const bool alike = std::ranges::all_of(operands, [&](const Operand *o) { return storedName(*o) == name; });
  return alike ? name : "";
}

std::string storedPair(const Operand &from, const Operand &to) {
  const std::string left = storedName(from), right = storedName(to);
  const bool isPair = !left.empty() && !right.empty() && (left == right || left == "f32" || right == "f32");
  return isPair ? left + "_" + right : "";
}

std::string symbol(std::string_view function, std::initializer_list<const Operand *> operands) {
  return "sluice_" + std::string(function) + "_" + policyOf(operands);
}

namespace {

class LaunchKernel final : public BoundKernel {
public:
  explicit LaunchKernel(std::vector<std::function<Status(const RunAddresses &)>> steps) : steps(std::move(steps)) {}

  Status run(std::span<void *const>, std::span<void *const>, void *) override {
    return internalError("a kernel of the cuda device was run without a stream");
  }
  Status enqueue(void *nativeStream, std::span<void *const> inputs, std::span<void *const> outputs,
                 void *workspace) override {
    const RunAddresses run{inputs, outputs, workspace, nativeStream};
    for (const auto &step : steps)
      SLUICE_RETURN_IF_ERROR(step(run));
    return {};
  }

private:
  const std::vector<std::function<Status(const RunAddresses &)>> steps;
};

class AlignedKernel final : public BoundKernel {
public:
  AlignedKernel(std::unique_ptr<BoundKernel> vectors, std::unique_ptr<BoundKernel> general)
      : vectors(std::move(vectors)), general(std::move(general)) {}

  Status run(std::span<void *const> inputs, std::span<void *const> outputs, void *workspace) override {
    return general->run(inputs, outputs, workspace);
  }
  Status enqueue(void *nativeStream, std::span<void *const> inputs, std::span<void *const> outputs,
                 void *workspace) override {
    const bool areAligned =
        std::ranges::all_of(inputs, isVectorAligned) && std::ranges::all_of(outputs, isVectorAligned);
    return (areAligned ? vectors : general)->enqueue(nativeStream, inputs, outputs, workspace);
  }

private:
  const std::unique_ptr<BoundKernel> vectors, general;
};

} // namespace

Bound whereAligned(Bound vectors, Bound general) {
  SLUICE_RETURN_IF_ERROR(vectors.takeStatus());
  SLUICE_RETURN_IF_ERROR(general.takeStatus());
  if (!*vectors)
    return general;
  return std::unique_ptr<BoundKernel>(std::make_unique<AlignedKernel>(std::move(*vectors), std::move(*general)));
}

Bound LaunchList::finish() && {
  SLUICE_RETURN_IF_ERROR(std::move(failure));
  return std::unique_ptr<BoundKernel>(std::make_unique<LaunchKernel>(std::move(steps)));
}

LaunchShape gridFor(const KernelContext &context, std::int64_t count, int threads) {
  const std::int64_t wanted = (count + threads - 1) / threads, most = std::int64_t(context.multiprocessors()) * 16;
  return {static_cast<std::uint64_t>(std::clamp<std::int64_t>(wanted, 0, most)), threads, reduceBytes};
}

std::int64_t spanOfBlocks(const KernelContext &context, std::int64_t elements, int blocksOfSm, int threadElements) {
  const std::int64_t blocks = std::int64_t(context.multiprocessors()) * blocksOfSm, step = 256 * threadElements;
  return std::max<std::int64_t>(((elements + blocks - 1) / blocks + step - 1) / step, 1) * step;
}

LaunchShape exactGrid(std::int64_t count, int threads) {
  return {static_cast<std::uint64_t>((count + threads - 1) / threads), threads, reduceBytes};
}

LaunchShape rowGrid(std::int64_t rows, std::int64_t columns) {
  const int threads = columns <= 64 ? 32 : columns <= 512 ? 128 : columns <= 4096 ? 256 : 512;
  return {columns == 0 ? 0 : static_cast<std::uint64_t>(rows), threads, reduceBytes};
}

} // namespace sluice::cuda
