//===- EmitContext.h - symbol tables and helpers of emission ------------------------===//
//
// Names to positions, in the order of the module, and the small translations that every part needs.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_EMIT_EMITCONTEXT_H
#define SLUICE_PASSES_EMIT_EMITCONTEXT_H

#include "dialect/plan/Plan.h"
#include "runtime/plan/PlanWriter.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace sluice {

struct EmitContext {
  /// `bytes`: about how long the file becomes.
  EmitContext(mlir::ModuleOp module, std::size_t bytes) : module(module), writer(bytes) {}

  mlir::ModuleOp module;
  /// Everything of the plan but its entry points, which `writer` takes.
  plan::PlanT plan;
  PlanWriter writer;
  llvm::DenseMap<mlir::StringAttr, std::uint32_t> buffers;
  llvm::StringMap<std::uint32_t> axes, units, parameters, streams, entries, kernels, locations;
  /// Where the first failure was reported.
  bool failed = false;

  mlir::InFlightDiagnostic error(mlir::Operation *op) {
    failed = true;
    return op->emitOpError();
  }
};

/// The enumerator of plan.fbs for one of the dialects, the recipe or the kernel records: enums with the same meaning
/// have the same values, which test/unit/passes/EnumsTest.cpp compares by name.
template <typename Enum, typename From> constexpr Enum planEnum(From value) {
  static_assert(std::is_enum_v<From>);
  return static_cast<Enum>(value);
}

inline plan::DType dtypeOf(mlir::Type type) { return planEnum<plan::DType>(plan_ir::dtypeOf(type)); }

/// The position of `name` in `names`, to which it is added where it is new.
std::uint32_t indexOf(llvm::StringMap<std::uint32_t> &indices, std::vector<std::string> &names, llvm::StringRef name);

std::unique_ptr<plan::ValidT> validOf(EmitContext &context, plan_ir::ValidAttr valid);
std::unique_ptr<plan::ViewT> viewOf(EmitContext &context, plan_ir::ViewAttr view);
/// Integers, floats, lists; texts as the list of their bytes.
std::vector<std::unique_ptr<plan::AttributeT>> attributesOf(llvm::ArrayRef<mlir::NamedAttribute> attributes);
/// "file:line:column" without folders, or a name with the line that an importer knows: "h.0.attn (model.py:41)"; empty
/// if nothing is known.
std::string locationText(mlir::Location location);

/// Mesh, streams, arenas, units, buffers, parameters.
void emitTables(EmitContext &context);
/// The unsharded program, erased from the module.
void emitProgram(EmitContext &context);
/// Entry points: ports, sections, instructions, each erased from the module when it is written.
void emitEntries(EmitContext &context);

} // namespace sluice

#endif // SLUICE_PASSES_EMIT_EMITCONTEXT_H
