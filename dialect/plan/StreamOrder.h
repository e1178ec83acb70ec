//===- StreamOrder.h - the order of streams and events ------------------------------===//
//
// Vector clocks over instructions in order of issue. Instructions are ordered by their stream, and by a wait for an
// event's record. The passes that insert, elide and verify events and that compute lifespans use this class. The plan
// checker of the runtime has a separate implementation (runtime/plan/check), so that neither hides an error of the
// other.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_PLAN_STREAMORDER_H
#define SLUICE_DIALECT_PLAN_STREAMORDER_H

#include "dialect/plan/Plan.h"

#include <vector>

namespace sluice::plan_ir {

/// The order of instructions issued so far. Each stream starts after an unknown past, which is ordered
/// before other streams only by events.
class StreamOrder {
public:
  /// Position in the order of issue over all runs, from 1; 0: before the first.
  using Position = int64_t;

  /// Starts the next run of the entry point: carried waits refer to the records issued before this call, other waits to
  /// those after it.
  void beginRun();

  /// Clears the order between streams: each stream is ordered after its own instructions only. Records remain.
  void clearOrder();

  /// Issues the next instruction and returns its position. A wait that has no record orders nothing.
  Position issue(mlir::Operation *instruction);

  /// True if the wait, if it were issued next, would have a record.
  bool hasRecord(WaitOp wait) const { return recordOf(wait) != nullptr; }
  /// True if the wait has a record and its stream is already ordered after everything that the record is ordered after.
  bool isImplied(WaitOp wait) const;

  /// True if the instruction issued at `position` is done before the next instruction of `stream` starts.
  bool isDoneBefore(Position position, llvm::StringRef stream) const;
  /// True if the next instruction of stream `after` is ordered after everything that the next one of stream `before` is
  /// ordered after.
  bool isOrdered(llvm::StringRef before, llvm::StringRef after) const;
  /// The last instruction of stream `of`, records and waits included, that is done before the next instruction of
  /// `stream` starts; 0: none.
  Position lastBefore(llvm::StringRef stream, llvm::StringRef of) const;

private:
  /// For each stream: the last instruction other than a record or a wait, and the last instruction. Records and waits
  /// do not access memory, so only work has to be ordered.
  struct Known {
    Position work = unknown, any = 0;
  };
  static constexpr Position unknown = -1;
  /// By number of stream; streams at or past the end are unknown.
  using Clock = llvm::SmallVector<Known, 8>;

  unsigned addStream(llvm::StringRef name);
  const Clock *clockOf(llvm::StringRef stream) const;
  const Clock *recordOf(WaitOp wait) const;
  static Known known(const Clock &clock, unsigned stream) { return stream < clock.size() ? clock[stream] : Known(); }
  static bool covers(const Clock &clock, const Clock &other);
  static void merge(Clock &clock, const Clock &other);

  llvm::SmallVector<llvm::StringRef, 8> names;
  std::vector<Clock> clocks;
  llvm::DenseMap<int64_t, Clock> records, recordsOfPreviousRun;
  /// The number of the stream of each instruction, by position - 1.
  std::vector<uint8_t> streams;
};

} // namespace sluice::plan_ir

#endif // SLUICE_DIALECT_PLAN_STREAMORDER_H
