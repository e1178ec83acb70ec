//===- FastKernels.h - the fast form of the CPU's kernels ----------------------===//
//
// One function per record with a fast form, cpu::fast::<name>, in the file of its family. The reference of the same
// name serves operands that the fast form does not take.
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
