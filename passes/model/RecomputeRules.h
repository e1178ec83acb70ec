//===- RecomputeRules.h - which forward ops the backward recomputes --------------------------===//
//
// The settings `recompute.policy` and `recompute.save` for one op. A table has entries by block; the entry of the
// innermost block around an op decides whether its results are kept, and the outermost block with an entry other than
// `none` is recomputed at once.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_MODEL_RECOMPUTERULES_H
#define SLUICE_PASSES_MODEL_RECOMPUTERULES_H

#include "passes/recipe/Recipe.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace sluice {

class RecomputeRules {
public:
  /// `settings` outlives the object.
  explicit RecomputeRules(const Recipe::Recompute &settings) : settings(settings) {}

  /// The part of the model that is recomputed at once.
  struct Region {
    /// A path of blocks, or of checkpoint regions; empty: the op is not recomputed.
    llvm::StringRef path;
    bool isCheckpoint = false;
  };
  /// Of a forward op, or of a backward op by the forward op that it derives from.
  Region regionOf(mlir::Operation *op);

  /// True for a forward op of a region whose results the forward keeps.
  bool isKept(mlir::Operation *op);

private:
  /// The settings of a path of blocks.
  struct BlockRules {
    /// The outermost block that is recomputed; empty: none.
    llvm::StringRef region;
    RecomputePolicy policy = RecomputePolicy::none;
    /// Of `selective`, by the name of the op.
    const Strings *save = nullptr;
    llvm::DenseMap<mlir::OperationName, bool> kept;
  };
  BlockRules &rulesOf(llvm::StringRef path);

  const Recipe::Recompute &settings;
  /// By path.
  llvm::StringMap<BlockRules> known;
};

/// Each name in a table is a block of the module, and each name of an op is one of the `model` dialect. Errors name the
/// recipe's line. Names of ops that no op of a `selective` block has are warnings.
Status checkRecomputeNames(mlir::ModuleOp module, const Recipe &recipe);

} // namespace sluice

#endif // SLUICE_PASSES_MODEL_RECOMPUTERULES_H
