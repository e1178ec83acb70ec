//===- Diagnostics.cpp - the compiler's diagnostics on stderr ------------------------------===//
#include "tools/compile/Diagnostics.h"

#include "passes/memory/Passes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <iostream>

namespace sluice {

/// A module path of the source, as the importer names locations, the first one of an op that computes several; empty if
/// there is no path.
static std::string pathOf(mlir::Location location) {
  std::string path;
  location->walk([&](mlir::Location inner) {
    auto name = mlir::dyn_cast<mlir::NameLoc>(inner);
    if (!name || name.getName() == "model")
      return mlir::WalkResult::advance();
    path = " (at " + name.getName().str() + ")";
    return mlir::WalkResult::interrupt();
  });
  return path;
}

static bool hasFile(mlir::Location location) {
  bool found = false;
  location->walk([&](mlir::Location inner) {
    found |= mlir::isa<mlir::FileLineColLoc>(inner);
    return mlir::WalkResult::advance();
  });
  return found;
}

static const char *prefixOf(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Error:
    return "error: ";
  case mlir::DiagnosticSeverity::Warning:
    return "warning: ";
  case mlir::DiagnosticSeverity::Note:
    return "note: ";
  case mlir::DiagnosticSeverity::Remark:
    return "remark: ";
  }
  return "";
}

Diagnostics::Diagnostics(llvm::SourceMgr &sources, mlir::MLIRContext *context)
    : printer(sources, context, llvm::errs()),
      watcher(context, [this](mlir::Diagnostic &diagnostic) { return print(diagnostic); }) {
  if (std::getenv("NO_COLOR"))
    llvm::WithColor::setAutoDetectFunction([](const llvm::raw_ostream &) { return false; });
}

FirstError::FirstError(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        if (text.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          text = diagnostic.str() + pathOf(diagnostic.getLocation());
      }) {}

llvm::LogicalResult Diagnostics::print(mlir::Diagnostic &diagnostic) {
  isOverBudget |= isOverBudgetError(diagnostic);
  // The printer, registered before, prints other diagnostics.
  if (hasFile(diagnostic.getLocation()))
    return mlir::failure();
  std::cerr << prefixOf(diagnostic.getSeverity()) << diagnostic.str() << pathOf(diagnostic.getLocation()) << "\n";
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    std::cerr << "note: " << note.str() << pathOf(note.getLocation()) << "\n";
  return mlir::success();
}

} // namespace sluice
