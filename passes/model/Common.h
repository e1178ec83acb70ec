//===- Common.h - helpers of the model passes ------------------------------------------===//
#ifndef SLUICE_PASSES_MODEL_COMMON_H
#define SLUICE_PASSES_MODEL_COMMON_H

#include "dialect/model/Attributes.h"
#include "dialect/rules/Roles.h"
#include "passes/recipe/RecipeTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace sluice {

/// Entry functions of the module itself (not of nested ones), in order; of one kind if `kind` is given.
llvm::SmallVector<mlir::func::FuncOp> entryFunctions(mlir::ModuleOp module,
                                                     std::optional<EntryKind> kind = std::nullopt);

/// The parameters of which a glob matches the name or an alias. A glob that matches none is a warning, which names
/// `key`.
llvm::StringSet<> parametersMatching(mlir::ModuleOp module, llvm::ArrayRef<std::string> globs, llvm::StringRef key);

mlir::FloatType elementType(mlir::MLIRContext *context, Precision precision);

/// The entry point of evaluation.
inline constexpr llvm::StringLiteral evaluationName = "eval_step";
/// The role of an entry point's input.
PortRole inputRole(mlir::func::FuncOp function, unsigned index);
/// The argument of the input with the role, or null.
mlir::Value findInput(mlir::func::FuncOp function, PortRole role);
/// True if a function of the module has an input of that role.
bool hasInput(mlir::ModuleOp module, PortRole role);
/// Appends an input.
mlir::Value addInput(mlir::func::FuncOp function, mlir::Type type, PortRole role);
/// Appends an output.
void addOutput(mlir::func::FuncOp function, mlir::Value value, llvm::StringRef name);

/// The text of a string attribute; empty if the attribute is missing.
llvm::StringRef textAttribute(mlir::Operation *op, llvm::StringRef name);

/// The ops belong to the block and the checkpoint of `source`.
void copyScope(llvm::ArrayRef<mlir::Operation *> ops, mlir::Operation *source);
/// The ops belong to the phase `update` and to no block.
void setUpdatePhase(llvm::ArrayRef<mlir::Operation *> ops);

/// True if an op of the function is of the phase.
bool hasPhase(mlir::func::FuncOp function, Phase phase);

/// Inlines the blocks and checkpoint regions of a function.
void flattenBlocks(mlir::func::FuncOp function);

/// Collects the ops that a builder creates, in order.
class InsertionRecorder : public mlir::OpBuilder::Listener {
public:
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override {
    if (!previous.isSet())
      created.push_back(op);
  }
  llvm::SmallVector<mlir::Operation *> created;
};

} // namespace sluice

#endif // SLUICE_PASSES_MODEL_COMMON_H
