//===- Signals.h - Ctrl-C and the end of a job ------------------------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_SIGNALS_H
#define SLUICE_TOOLS_TRAIN_SIGNALS_H

#include <atomic>

namespace sluice {

/// Set by the first Ctrl-C, which ends the run after this step. A second one ends the process at once.
extern std::atomic<bool> stopRequested;
/// Set by SIGTERM: a launcher ends all processes of a job after one of them has died.
extern std::atomic<bool> terminated;

void catchInterrupt();
void catchTermination();

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_SIGNALS_H
