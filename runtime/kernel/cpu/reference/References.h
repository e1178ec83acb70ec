//===- References.h - the plain form of every kernel --------------------------===//
//
// One function per record, under its name. References accept any strides, compute in double, and are written for
// readability: fast kernels are tested against them, and operands that a fast kernel does not accept use them. They
// share no arithmetic with fast kernels, so that tests find a mistake in one of them.
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
