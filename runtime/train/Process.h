//===- Process.h - memory of this process, from the operating system ---------------===//
#ifndef SLUICE_RUNTIME_TRAIN_PROCESS_H
#define SLUICE_RUNTIME_TRAIN_PROCESS_H

#include <cstdint>

namespace sluice {

/// Largest resident size that this process has had, in bytes; 0 where the system does not say.
std::uint64_t processHighWater();

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_PROCESS_H
