//===- RunOrder.h - order of a run of an entry point after the run before ----------------------===//
//
// Waits of the first gathers also order later instructions of their streams, and copies to the host, after the work of
// the run before. When plan-carry-events removes such waits, it adds others for these instructions.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_MEMORY_RUNORDER_H
#define SLUICE_PASSES_MEMORY_RUNORDER_H

#include "dialect/plan/Accesses.h"

#include "llvm/ADT/DenseMap.h"

namespace sluice {

/// By event, the stream that records it in the section.
llvm::DenseMap<int64_t, llvm::StringRef> recordingStreams(plan_ir::SectionOp section);

/// The last instruction that starts early of each stream that has one.
using LastEarly = llvm::SmallDenseMap<StreamKind, mlir::Operation *>;

/// Lets the first work after `last` on the streams of copies to the device and of gathers, and the first copy of an
/// activation to the host, wait for the run before. `last` is of the first section of the entry point; `events` is the
/// number of its events, which grows.
void orderAfterPreviousRun(plan_ir::EntryOp entry, mlir::SymbolTable &symbols, const plan_ir::Streams &streams,
                           const LastEarly &last, int64_t &events);

} // namespace sluice

#endif // SLUICE_PASSES_MEMORY_RUNORDER_H
