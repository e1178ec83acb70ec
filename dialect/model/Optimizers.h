//===- Optimizers.h - the optimizers of the model dialect -----------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_OPTIMIZERS_H
#define SLUICE_DIALECT_MODEL_OPTIMIZERS_H

#include "dialect/rules/Optimizer.h"

namespace sluice::model {

/// The optimizer of a recipe that names none.
inline constexpr llvm::StringLiteral defaultOptimizer = "adamw";

/// All ops of the dialect with OptimizerOpInterface, by mnemonic; the default one first, then by name.
llvm::ArrayRef<OptimizerInfo> optimizers();

/// Null if no optimizer has the name.
const OptimizerInfo *findOptimizer(llvm::StringRef name);

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_OPTIMIZERS_H
