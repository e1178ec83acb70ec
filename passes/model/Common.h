//===- Common.h - what the passes of the model stage share -----------------------------===//
#ifndef SLUICE_PASSES_MODEL_COMMON_H
#define SLUICE_PASSES_MODEL_COMMON_H

#include "dialect/model/Model.h"
#include "passes/recipe/RecipeTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace sluice {

/// Names of discardable attributes of the model dialect.
namespace names {
inline constexpr llvm::StringLiteral entry = "model.entry";
inline constexpr llvm::StringLiteral input = "model.input";
inline constexpr llvm::StringLiteral output = "model.output";
inline constexpr llvm::StringLiteral block = "model.block";
inline constexpr llvm::StringLiteral checkpoint = "model.checkpoint";
inline constexpr llvm::StringLiteral phase = "model.phase";
/// Which time the model runs the op's outermost block, from 0; absent: the first.
inline constexpr llvm::StringLiteral pass = "model.pass";
inline constexpr llvm::StringLiteral id = "model.id";
inline constexpr llvm::StringLiteral ids = "model.ids";
inline constexpr llvm::StringLiteral unsharded = "model.unsharded";
} // namespace names

/// Values of model.entry.
namespace entries {
/// A loss to train on.
inline constexpr llvm::StringLiteral train = "train";
/// A loss that is only looked at.
inline constexpr llvm::StringLiteral eval = "eval";
/// Run as it is.
inline constexpr llvm::StringLiteral forward = "forward";
} // namespace entries

/// Values of model.phase, in their order.
namespace phases {
inline constexpr llvm::StringLiteral forward = "forward";
inline constexpr llvm::StringLiteral loss = "loss";
inline constexpr llvm::StringLiteral backward = "backward";
inline constexpr llvm::StringLiteral update = "update";
} // namespace phases

/// Entry functions of the module itself (not of nested ones), in order; of one kind where `kind` is not empty.
llvm::SmallVector<mlir::func::FuncOp> entryFunctions(mlir::ModuleOp module, llvm::StringRef kind = {});

/// The parameters of which a glob matches the name or an alias. A glob that matches none is an error, which names `key`.
llvm::FailureOr<llvm::StringSet<>> parametersMatching(mlir::ModuleOp module, llvm::ArrayRef<std::string> globs,
                                                       llvm::StringRef key);

mlir::FloatType elementType(mlir::MLIRContext *context, Precision precision);

/// Inputs that say which step this is, and which of its rows: `seed`, `step`, `row`.
bool isStepInput(llvm::StringRef name);
/// The argument of that input; null where there is none.
mlir::Value findInput(mlir::func::FuncOp function, llvm::StringRef name);
/// Appends an input.
mlir::Value addInput(mlir::func::FuncOp function, mlir::Type type, llvm::StringRef name);

/// The text of a string attribute, empty where there is none.
llvm::StringRef textAttribute(mlir::Operation *op, llvm::StringRef name);

/// The part of a path before the first `/`.
llvm::StringRef outermost(llvm::StringRef path);

/// True where an op of the function has `model.phase` = `phase`.
bool hasPhase(mlir::func::FuncOp function, llvm::StringRef phase);

/// Inlines the blocks and checkpoint regions of a function; returns how many.
unsigned flattenBlocks(mlir::func::FuncOp function);

/// Collects every op that is made while it listens, in order of making.
class InsertionRecorder : public mlir::OpBuilder::Listener {
public:
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override {
    if (!previous.isSet())
      made.push_back(op);
  }
  llvm::SmallVector<mlir::Operation *> made;
};

} // namespace sluice

#endif // SLUICE_PASSES_MODEL_COMMON_H
