//===- Diagnostics.cpp - diagnostics of a context that are not printed ------------------------===//
#include "passes/driver/Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

namespace sluice {

std::string pathOf(mlir::Location location) {
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

static mlir::FileLineColLoc fileOf(mlir::Location location) {
  mlir::FileLineColLoc found;
  location->walk([&](mlir::Location inner) {
    found = mlir::dyn_cast<mlir::FileLineColLoc>(inner);
    return found ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return found;
}

bool hasFile(mlir::Location location) { return static_cast<bool>(fileOf(location)); }

FirstError::FirstError(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        if (text.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          text = diagnostic.str() + pathOf(diagnostic.getLocation());
      }) {}

static std::string placedText(mlir::Diagnostic &diagnostic) {
  const mlir::Location location = diagnostic.getLocation();
  if (mlir::FileLineColLoc file = fileOf(location))
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn()) +
           ": " + diagnostic.str();
  return diagnostic.str() + pathOf(location);
}

DiagnosticList::DiagnosticList(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        Entry entry{placedText(diagnostic), {}};
        for (mlir::Diagnostic &note : diagnostic.getNotes())
          entry.notes.push_back(placedText(note));
        const mlir::DiagnosticSeverity severity = diagnostic.getSeverity();
        (severity == mlir::DiagnosticSeverity::Error     ? errors
         : severity == mlir::DiagnosticSeverity::Warning ? warnings
                                                         : remarks)
            .push_back(std::move(entry));
      }) {}

Status DiagnosticList::explain(Status failure, bool isEmitted) const {
  if (failure.isOk() || errors.empty())
    return failure;
  Status explained(failure.code(), errors.front().text);
  for (const Entry &error : errors) {
    if (&error != &errors.front())
      explained.addNote(error.text);
    for (const std::string &note : error.notes)
      explained.addNote(note);
  }
  if (!isEmitted)
    explained.addNote(failure.message());
  for (const std::string &note : failure.notes())
    explained.addNote(note);
  return explained;
}

} // namespace sluice
