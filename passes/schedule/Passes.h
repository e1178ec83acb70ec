//===- Passes.h - the schedule stage: order of issue, streams, events ----------------===//
//
// Phases of this stage, in order: prefetch (spmd to spmd), lower (spmd to plan), streams (plan to plan).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SCHEDULE_PASSES_H
#define SLUICE_PASSES_SCHEDULE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <memory>

namespace sluice {

/// One creator for each pass, and registerSchedulePasses().
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/schedule/Passes.h.inc"

/// Phase prefetch: gathers issued early, waits for reductions late.
void buildPrefetch(mlir::OpPassManager &manager);
/// Phase lower: spmd to the plan dialect, on buffers, without streams and events.
void buildLower(mlir::OpPassManager &manager);
/// Phase streams: every instruction on its stream, events between streams.
void buildStreams(mlir::OpPassManager &manager);

} // namespace sluice

#endif // SLUICE_PASSES_SCHEDULE_PASSES_H
