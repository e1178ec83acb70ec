//===- Reader.h - a program from a module of StableHLO --------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_STABLEHLO_READER_H
#define SLUICE_PASSES_IMPORT_STABLEHLO_READER_H

#include "passes/import/export/Graph.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace sluice::stablehlo {

/// The attribute of a module that the Python helper wrote, with the version of JAX.
inline constexpr llvm::StringLiteral writtenBy = "sluice.jax";
/// On an argument of `main`: the name of the parameter or of the input. On a result: the name of the output.
inline constexpr llvm::StringLiteral parameterName = "sluice.parameter", inputName = "sluice.input",
                                     outputName = "sluice.output";

/// Names of the arguments of `main` in order, where the text has none.
struct ArgumentNames {
  std::vector<std::string> parameters, inputs;
};

/// Inlines calls and unrolls loops of a known number of steps. Ops that are not supported are nodes with a problem.
/// `file` is for messages.
Result<exported::Program> readModule(mlir::ModuleOp module, const ArgumentNames *names, const std::string &file);

} // namespace sluice::stablehlo

#endif // SLUICE_PASSES_IMPORT_STABLEHLO_READER_H
