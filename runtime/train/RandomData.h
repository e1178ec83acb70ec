//===- RandomData.h - inputs drawn by counter -------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_RANDOMDATA_H
#define SLUICE_RUNTIME_TRAIN_RANDOMDATA_H

#include "runtime/train/InputData.h"

namespace sluice {

/// Every element depends on the seed, its port's name, its sample and its position in the row, and on nothing else:
/// floats are standard normal, integers uniform below the port's limit. The number of samples is unbounded.
Result<std::unique_ptr<InputData>> openRandomData(std::uint64_t seed, const std::vector<const plan::PortT *> &ports);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_RANDOMDATA_H
