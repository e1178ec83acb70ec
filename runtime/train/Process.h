//===- Process.h - what the operating system says of this process ---------------===//
#ifndef SLUICE_RUNTIME_TRAIN_PROCESS_H
#define SLUICE_RUNTIME_TRAIN_PROCESS_H

#include <cstdint>

namespace sluice {

/// Largest resident size that this process has had, in bytes; 0 where the system does not say.
std::uint64_t processHighWater();

/// Has the C library's allocator return large blocks to the system when they are freed, so that what a library takes
/// inside a call does not stay with the process; else its growth depends on the order of calls. For a program's main,
/// before the plan is read: the setting is the process's, not a library's to make.
void returnFreedMemory();

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_PROCESS_H
