//===- Signals.cpp - signals that end a run -----------------------------------------------===//
#include "tools/train/Signals.h"

#include <csignal>

namespace sluice {

std::atomic<bool> stopRequested = false;

static void stop(int signal) {
  if (!stopRequested.exchange(true))
    return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void catchSignals() {
  struct sigaction action{};
  action.sa_handler = stop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

} // namespace sluice
