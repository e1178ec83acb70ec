//===- FastKernels.h - the fast forms of the CPU kernels ----------------------===//
//
// One function per record with a fast form, cpu::fast::<name>, in the file of its family. The reference of the same
// name has accepted the request before, and computes operands for which the fast form returns useReference().
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_FASTKERNELS_H
#define SLUICE_RUNTIME_KERNEL_CPU_FASTKERNELS_H

#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu::fast {

#define SLUICE_KERNEL(name, form, ...) Bound name(const KernelRequest &request);
#include "runtime/kernel/catalogue/catalogue.def"

} // namespace sluice::cpu::fast

#endif // SLUICE_RUNTIME_KERNEL_CPU_FASTKERNELS_H
