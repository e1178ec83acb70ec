//===- Verify.h - the identity of a model, and of its plan -----------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_VERIFY_H
#define SLUICE_PASSES_DRIVER_VERIFY_H

#include "runtime/plan/PlanWriter.h"
#include "runtime/plan/Reader.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// The SHA-256 of the module's text as MLIR prints it, without locations: comments, white space and file names do not
/// change it.
Digest sourceDigest(mlir::ModuleOp module);

/// Sets `model.source_digest`.
void recordSourceDigest(mlir::ModuleOp module);

/// Ok if `given` has the bytes that were compiled. Otherwise StatusCode::refused with the first difference: the model,
/// a setting of the recipe, the version of the plan, a table, an instruction.
Status verifyPlan(const std::string &path, const PlanFile &given, const PlanBytes &compiled);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_VERIFY_H
