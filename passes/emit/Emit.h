//===- Emit.h - plan IR to the bytes of a plan file ---------------------------------===//
#ifndef SLUICE_PASSES_EMIT_EMIT_H
#define SLUICE_PASSES_EMIT_EMIT_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// Writes the plan that a module holds after the memory phase. The bytes are read back and checked as any reader would;
/// a plan that the checker refuses is an internal error. The same module gives the same bytes.
llvm::LogicalResult emitPlan(mlir::ModuleOp module, std::vector<std::uint8_t> &bytes);

} // namespace sluice

#endif // SLUICE_PASSES_EMIT_EMIT_H
