//===- Creation.cpp - filling memory with one value ---------------------------===//
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Registry.h"
#include "runtime/kernel/cpu/reference/References.h"

#include <cstring>

namespace sluice::cpu {
namespace {

/// One element is written, then copied to the rest.
Bound constant(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto slow, reference::constant(request));
  if (!contiguousRows(request.outputs[0]))
    return slow;
  double value = numberAttribute(request, "value", 0);
  return makeKernel(request, [value](Call &call) {
    const Operand &y = call.outputs[0];
    std::size_t bytes = dtypeBytes(y.dtype);
    forStretches<1>(call.threads, {&y}, [&](auto &at, std::int64_t count) {
      if (count == 0)
        return;
      char *to = y.as<char>() + at[0] * static_cast<std::int64_t>(bytes);
      storeNumber(to, y.dtype, 0, value);
      std::size_t whole = bytes * static_cast<std::size_t>(count);
      for (std::size_t done = bytes; done < whole; done *= 2)
        std::memcpy(to + done, to, std::min(done, whole - done));
    });
    return Status::ok();
  });
}

constexpr FastKernel kernels[] = {{"constant", constant}};

} // namespace

FastKernels creationKernels() { return kernels; }

} // namespace sluice::cpu
