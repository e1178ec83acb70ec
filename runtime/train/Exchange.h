//===- Exchange.h - small data from process to process ----------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_EXCHANGE_H
#define SLUICE_RUNTIME_TRAIN_EXCHANGE_H

#include "runtime/base/Status.h"

#include <string>

namespace sluice {

/// Used by one thread of each process of a run; all make the same calls in the same order. If all ranks are in one
/// process, there is nothing to exchange.
class Exchange {
public:
  virtual ~Exchange() = default;
  /// Number of ranks.
  virtual int size() const = 0;
  /// True if the rank is in this process.
  virtual bool holds(int rank) const { return true; }
  bool isRoot() const { return holds(0); }
  /// True if no other process waits for this one.
  bool hasAllRanks() const { return holds(0) && holds(size() - 1); }
  /// True on all processes if it is true on one.
  virtual Result<bool> agree(bool value) const { return value; }
  /// The text of the process of `rank`, on all processes.
  virtual Status share(int rank, std::string &text) const { return {}; }
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_EXCHANGE_H
