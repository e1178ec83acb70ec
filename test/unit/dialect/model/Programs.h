//===- Programs.h - model programs for the tests ------------------------------------===//
//
// Parses textual IR with the model and func dialects, and collects the diagnostics.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_DIALECT_MODEL_PROGRAMS_H
#define SLUICE_TEST_UNIT_DIALECT_MODEL_PROGRAMS_H

#include "dialect/model/Model.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <string>

namespace sluice::model::test {

/// A context with the dialects, whose diagnostics are kept.
struct Programs {
  Programs()
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          diagnostics += diagnostic.str() + "\n";
          return mlir::success();
        }) {
    context.loadDialect<ModelDialect, mlir::func::FuncDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << diagnostics;
    return module;
  }
  /// Every op of the dialect at least once: the round-trip test.
  mlir::OwningOpRef<mlir::ModuleOp> parseAll() {
    auto module =
        mlir::parseSourceFile<mlir::ModuleOp>(SLUICE_SOURCE_DIR "/test/dialect/model/round-trip.mlir", &context);
    EXPECT_TRUE(module) << diagnostics;
    return module;
  }
  /// The first op of type OpT.
  template <typename OpT> static OpT first(mlir::ModuleOp module) {
    OpT found;
    module.walk([&](OpT op) {
      found = op;
      return mlir::WalkResult::interrupt();
    });
    EXPECT_TRUE(found);
    return found;
  }

  mlir::MLIRContext context;
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sluice::model::test

#endif // SLUICE_TEST_UNIT_DIALECT_MODEL_PROGRAMS_H
