//===- Fault.h - a rank that dies or stops on purpose ------------------------------===//
//
// Kills a process in the middle of a step. The environment variable SLUICE_FAULT has the form
// "kill:RANK:INSTRUCTION:TIMES": when that rank runs the instruction for that time, counted over all entry points;
// "stop" stops the process, "exit" ends it with code 9.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_FAULTS_FAULT_H
#define SLUICE_TEST_FAULTS_FAULT_H

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"

#include <memory>

namespace sluice {

/// The fault of this rank by the variable's value; null: none.
Result<std::unique_ptr<DelayInjector>> readFault(const char *value, int rank);

} // namespace sluice

#endif // SLUICE_TEST_FAULTS_FAULT_H
