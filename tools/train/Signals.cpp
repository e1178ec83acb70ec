//===- Signals.cpp - Ctrl-C and the end of a job ----------------------------------------===//
#include "tools/train/Signals.h"

#include <csignal>

namespace sluice {

std::atomic<bool> stopRequested = false;
std::atomic<bool> terminated = false;

void catchInterrupt() {
  struct sigaction action{};
  action.sa_handler = [](int) { stopRequested = true; };
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
}

void catchTermination() {
  struct sigaction action{};
  action.sa_handler = [](int) { terminated = true; };
  sigaction(SIGTERM, &action, nullptr);
}

} // namespace sluice
