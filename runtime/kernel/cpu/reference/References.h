//===- References.h - the plain form of every kernel --------------------------===//
//
// One function per record, under its name. References take any strides, compute in double, and are written to be
// read: they are what the fast kernels are tested against, and serve where a fast kernel does not take the operands. What
// they have in common with a device's kernels is written twice: one mistake in both would not be seen.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_REFERENCE_REFERENCES_H
#define SLUICE_RUNTIME_KERNEL_CPU_REFERENCE_REFERENCES_H

#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu::reference {

#define SLUICE_KERNEL(name, form, ...) Bound name(const KernelRequest &request);
#include "runtime/kernel/catalogue/catalogue.def"

} // namespace sluice::cpu::reference

#endif // SLUICE_RUNTIME_KERNEL_CPU_REFERENCE_REFERENCES_H
