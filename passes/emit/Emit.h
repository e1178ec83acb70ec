//===- Emit.h - plan IR to the bytes of a plan file ---------------------------------===//
#ifndef SLUICE_PASSES_EMIT_EMIT_H
#define SLUICE_PASSES_EMIT_EMIT_H

#include "runtime/plan/PlanWriter.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Writes the plan that a module holds after the memory phase. Entry points and the unsharded program are erased from
/// the module as they are written, so that module and plan are not in memory together. The same module gives the same
/// bytes.
llvm::FailureOr<PlanBytes> emitPlan(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_PASSES_EMIT_EMIT_H
