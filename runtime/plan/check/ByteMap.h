//===- ByteMap.h - the last writer and readers of every byte of a space --------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_BYTEMAP_H
#define SLUICE_RUNTIME_PLAN_CHECK_BYTEMAP_H

#include "runtime/plan/check/Access.h"
#include "runtime/plan/check/IntervalMap.h"
#include "runtime/plan/check/StreamOrder.h"

#include <memory>
#include <vector>

namespace sluice::check {

/// A run of bytes with one history.
struct Run {
  std::uint64_t end = 0;
  /// The buffer through which the bytes were written; -1: they hold nothing.
  std::int32_t buffer = -1;
  /// Strided views wrote only these columns; null: all bytes were written.
  std::shared_ptr<const Columns> columns;
  Instance writer = before;
  Padding padding = clean;
  /// Since the last write, the latest of each stream.
  std::vector<Instance> readers;
};

/// Of one arena.
using ByteMap = IntervalMap<Run>;

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_BYTEMAP_H
