//===- Diagnostics.cpp - the compiler's diagnostics on stderr ------------------------------===//
#include "tools/compile/Diagnostics.h"

#include "passes/driver/Diagnostics.h"
#include "runtime/base/Text.h"

#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <iostream>

namespace sluice {

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

class Diagnostics::Output final : public llvm::raw_ostream {
public:
  Output() : llvm::raw_ostream(/*unbuffered=*/true) {}

  raw_ostream &changeColor(enum Colors color, bool bold, bool background) override {
    llvm::errs().changeColor(color, bold, background);
    return *this;
  }
  raw_ostream &resetColor() override {
    llvm::errs().resetColor();
    return *this;
  }
  raw_ostream &reverseColor() override {
    llvm::errs().reverseColor();
    return *this;
  }
  bool is_displayed() const override { return llvm::errs().is_displayed(); }
  bool has_colors() const override { return llvm::errs().has_colors(); }

private:
  /// Texts and lines are written in one call.
  void write_impl(const char *text, std::size_t bytes) override {
    llvm::errs() << printable({text, bytes}, /*isLine=*/false);
  }
  std::uint64_t current_pos() const override { return llvm::errs().tell(); }
};

static llvm::LogicalResult print(mlir::Diagnostic &diagnostic) {
  // The printer, registered before, prints other diagnostics.
  if (hasFile(diagnostic.getLocation()))
    return mlir::failure();
  const auto text = [](mlir::Diagnostic &each) { return printable(each.str() + pathOf(each.getLocation()), false); };
  std::cerr << prefixOf(diagnostic.getSeverity()) << text(diagnostic) << "\n";
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    std::cerr << "note: " << text(note) << "\n";
  return mlir::success();
}

Diagnostics::~Diagnostics() = default;

Diagnostics::Diagnostics(llvm::SourceMgr &sources, mlir::MLIRContext *context)
    : output(std::make_unique<Output>()), printer(sources, context, *output), withoutFile(context, print) {
  if (std::getenv("NO_COLOR"))
    llvm::WithColor::setAutoDetectFunction([](const llvm::raw_ostream &) { return false; });
}

} // namespace sluice
