//===- Signals.h - signals that end a run -------------------------------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_SIGNALS_H
#define SLUICE_TOOLS_TRAIN_SIGNALS_H

#include <atomic>

namespace sluice {

/// Set by the first SIGINT or SIGTERM, which ends the run after a step. A second signal ends the process at once.
extern std::atomic<bool> stopRequested;

/// Catches both signals from now on. May be called again.
void catchSignals();

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_SIGNALS_H
