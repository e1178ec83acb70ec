//===- Verify.cpp - the identity of a model, and of its plan ---------------------------------===//
//
// See Verify.h.
//
//===----------------------------------------------------------------------===//
#include "passes/driver/Verify.h"

#include "dialect/model/Attributes.h"
#include "runtime/report/Diff.h"

namespace sluice {

Digest sourceDigest(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, mlir::OpPrintingFlags().enableDebugInfo(false));
  stream.flush();
  return sha256(std::span(reinterpret_cast<const std::uint8_t *>(text.data()), text.size()));
}

void recordSourceDigest(mlir::ModuleOp module) {
  module->setAttr(model::sourceDigestName, mlir::StringAttr::get(module.getContext(), toHex(sourceDigest(module))));
}

Status verifyPlan(const std::string &path, const PlanFile &given, const PlanBytes &compiled) {
  SLUICE_ASSIGN_OR_RETURN(const PlanFile own, parsePlan(compiled.span(), "plan"));
  if (given.digest == own.digest)
    return Status::ok();
  return refusedError(path +
                      ": this model and this recipe do not give the plan: " + firstDifference(given.plan, own.plan))
      .withNote("'sluice-plan diff' lists all differences from the plan that this command writes with '-o' instead of "
                "'--verify'");
}

} // namespace sluice
