//===- Signals.h - signals that end a run -------------------------------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_SIGNALS_H
#define SLUICE_TOOLS_TRAIN_SIGNALS_H

#include <atomic>

namespace sluice {

/// Set by the first SIGINT, SIGTERM or SIGHUP, which ends the run after a step. A second SIGINT or SIGTERM ends the
/// process at once.
extern std::atomic<bool> stopRequested;

/// Catches these signals from now on; SIGHUP only if it is not ignored, as nohup does. May be called again.
void catchSignals();

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_SIGNALS_H
