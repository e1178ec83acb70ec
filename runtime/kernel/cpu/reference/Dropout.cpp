//===- Dropout.cpp - zero by chance, the rest scaled up -----------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/DropoutMask.h"

namespace sluice::cpu::reference {

Bound dropout(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(DropoutMask mask, DropoutMask::of(request));
  return makeKernel(request, [mask](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    DropoutMask::Draws draws = mask.draws(call);
    GlobalIndex index(y, mask.row(call));
    walk<3>(y.rank, y.extent, {x.strides, y.strides, index.strides}, [&](auto &at) {
      std::uint64_t i = index.first + static_cast<std::uint64_t>(at[2]);
      store(y, at[1], draws.keeps(draws.block(i / 4), i) ? load(x, at[0]) * mask.factor : 0);
    });
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
