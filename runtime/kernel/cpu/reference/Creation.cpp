//===- Creation.cpp - kernels that create tensors -----------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/GlobalIndex.h"
#include "runtime/kernel/cpu/Philox.h"

namespace sluice::cpu::reference {
namespace {

/// y = offset + spread * deviate(block, word), by seed, key and global element index.
template <typename Deviate> Bound random(const KernelRequest &request, double offset, double spread, Deviate deviate) {
  Check check(request);
  SLUICE_RETURN_IF_ERROR(ZeroElements::check(check, request));
  auto key = static_cast<std::uint64_t>(request.attributes->integer("key"));
  ZeroElements zeros(request);
  return makeKernel(request, [=](Call &call) {
    const Operand &y = call.outputs[0];
    const RandomStream stream(call, key);
    const GlobalIndex &global = stream.index;
    std::uint64_t current = ~std::uint64_t(0);
    PhiloxBlock block{};
    walk<2>(y.rank, y.extent, {y.strides, global.strides}, [&](auto &at) {
      std::uint64_t index = global.first + static_cast<std::uint64_t>(at[1]);
      if (index / 4 != current)
        block = philox(stream.seed, stream.key, current = index / 4);
      store(y, at[0], zeros.has(index) ? 0 : offset + spread * deviate(block, static_cast<int>(index % 4)));
    });
    return Status::ok();
  });
}

} // namespace

Bound constant(const KernelRequest &request) {
  double value = request.attributes->number("value");
  return makeKernel(request, [value](Call &call) {
    const Operand &y = call.outputs[0];
    walk<1>(y.rank, y.extent, {y.strides}, [&](auto &at) { store(y, at[0], value); });
    return Status::ok();
  });
}

Bound iota(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(int dim, Check(request).dimOf(request.outputs[0]));
  return makeKernel(request, [dim](Call &call) {
    const Operand &y = call.outputs[0];
    Dims along{};
    along[dim] = 1;
    walk<2>(y.rank, y.extent, {y.strides, along}, [&](auto &at) { storeInteger(y.data, y.dtype, at[0], at[1]); });
    return Status::ok();
  });
}

Bound random_normal(const KernelRequest &request) {
  return random(request, request.attributes->number("mean"), request.attributes->number("stddev"), philoxNormal);
}

Bound random_uniform(const KernelRequest &request) {
  double low = request.attributes->number("low"), high = request.attributes->number("high");
  return random(request, low, high - low, philoxUniform);
}

} // namespace sluice::cpu::reference
