//===- StartValues.h - settings that all ranks must have alike ---------------------===//
//
// Each process of a job reads a command line and an environment. Ranks that differ in a seed would train together
// without an error, so the processes compare their settings before the first step.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_PROCESS_STARTVALUES_H
#define SLUICE_RUNTIME_COLLECTIVE_PROCESS_STARTVALUES_H

#include "runtime/collective/Communicator.h"

#include <span>
#include <string>

namespace sluice {

struct StartValue {
  /// For the message: "--seed", "OMP_NUM_THREADS". Neither text has a zero byte.
  std::string name;
  std::string value;
  /// Of the error if the values differ.
  StatusCode code = StatusCode::usage;
};

/// Called on every rank, with the same names in the same order. Every rank gets the same error, which has the first
/// value that differs from rank 0's and the rank that has it.
Status compareStartValues(World &world, int rank, std::span<const StartValue> values);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_PROCESS_STARTVALUES_H
