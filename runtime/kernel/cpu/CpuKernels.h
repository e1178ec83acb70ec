//===- CpuKernels.h - the implementations of the CPU kernels --------------------===//
//
// One function per record, under its name, in the file of its family.
//
// References accept any strides, compute in double, and are written for readability. They share no arithmetic with fast
// kernels, which are tested against them, so that tests find a mistake in one of them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_CPUKERNELS_H
#define SLUICE_RUNTIME_KERNEL_CPU_CPUKERNELS_H

#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

/// Of the records with a fast form. The reference has accepted the request before; it computes operands for which the
/// fast form returns useReference().
namespace fast {
#define SLUICE_KERNEL(name, form, ...) Bound name(const KernelRequest &request);
#include "runtime/kernel/catalogue/catalogue.def"
} // namespace fast

/// Of all records.
namespace reference {
#define SLUICE_KERNEL(name, form, ...) Bound name(const KernelRequest &request);
#include "runtime/kernel/catalogue/catalogue.def"
} // namespace reference

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_CPUKERNELS_H
