//===- Evaluation.h - a training function outside training ---------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_EVALUATION_H
#define SLUICE_DIALECT_MODEL_EVALUATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice::model {

/// Changes an entry point to its form outside training: replaces ops by EvaluationOpInterface, removes writes of states
/// and the inputs of training. Failure if an op reported an error.
llvm::LogicalResult makeEvaluation(mlir::func::FuncOp function);

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_EVALUATION_H
