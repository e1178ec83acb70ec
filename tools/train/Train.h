//===- Train.h - the main of sluice-train -------------------------------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_TRAIN_H
#define SLUICE_TOOLS_TRAIN_TRAIN_H

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"

#include <memory>

namespace sluice {

/// The fault that a test injects into the run of this rank; null if there is no such fault.
using FaultReader = Result<std::unique_ptr<DelayInjector>> (*)(int rank);

/// The main of sluice-train. `faults`, if given, is called in each process of a job that a launcher started.
int trainMain(int argc, char **argv, FaultReader faults = nullptr);

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_TRAIN_H
