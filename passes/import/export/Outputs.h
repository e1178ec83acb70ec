//===- Outputs.h - the outputs of an imported module, and entry points for them ------------===//
//
// The loss is the result of `train_step`. Other outputs are those of entry points of kind forward, in the form outside
// training: the logits of the loss in `logits`, the rest in `forward`.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_OUTPUTS_H
#define SLUICE_PASSES_IMPORT_EXPORT_OUTPUTS_H

#include "passes/import/export/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice::exported {

/// The value of the loss in the graph: the output of the name, else the one named `loss`, else the only scalar.
Result<std::string> findLoss(const Program &program, const std::string &name);

/// The tensors among the outputs that are not the loss, then those that `names` name: values of the graph, or the last
/// value of a module by its path. Each has a name that no other one has; without a key in a dict it is that of the
/// value.
Result<std::vector<OutputSpec>> findOtherOutputs(const Program &program, llvm::StringRef loss,
                                                 const std::vector<std::string> &names);

/// Leaves the first result of a function, the loss, and moves the others into entry points of their own at the end of
/// the module. An output without a key gets the name `logits` if the loss reads it as logits.
llvm::LogicalResult separateOutputs(mlir::func::FuncOp train, std::vector<OutputSpec> &outputs);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_OUTPUTS_H
