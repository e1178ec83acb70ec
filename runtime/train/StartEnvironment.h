//===- StartEnvironment.h - the environment that the ranks of a job compare ---------------===//
#ifndef SLUICE_RUNTIME_TRAIN_STARTENVIRONMENT_H
#define SLUICE_RUNTIME_TRAIN_STARTENVIRONMENT_H

#include "runtime/collective/process/StartValues.h"

#include <vector>

namespace sluice {

/// The variables that change the arithmetic or the order of a reduction, with their values.
std::vector<StartValue> environmentValues();

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_STARTENVIRONMENT_H
