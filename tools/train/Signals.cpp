//===- Signals.cpp - signals that end a run -----------------------------------------------===//
#include "tools/train/Signals.h"

#include <csignal>

namespace sluice {

std::atomic<bool> stopRequested = false;

static void stop(int signal) {
  // A shell sends SIGHUP again for the terminal that was closed.
  if (!stopRequested.exchange(true) || signal == SIGHUP)
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
  // A run under nohup outlives its terminal.
  if (struct sigaction before{}; sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
}

} // namespace sluice
