//===- Machine.h - checks that a plan fits this runtime and machine ---------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_MACHINE_H
#define SLUICE_RUNTIME_EXECUTOR_MACHINE_H

#include "runtime/executor/Executor.h"

namespace sluice {

/// Refuses a plan that this runtime cannot run: a different device or catalogue version, an unknown kernel, an
/// instruction set that the machine does not have, more threads than the plan allows. Fixes the process to the plan's
/// instruction set.
Status checkFits(const plan::PlanT &plan, const ExecutorOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_MACHINE_H
