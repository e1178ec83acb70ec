//===- LossRules.h - helpers of the losses ------------------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_LOSSRULES_H
#define SLUICE_DIALECT_MODEL_OPS_LOSSRULES_H

#include "dialect/model/ops/Helpers.h"

namespace sluice::model {

/// The label smoothing of the attribute, 0 if it is null.
double smoothingOf(std::optional<llvm::APFloat> smoothing);
mlir::LogicalResult verifySmoothing(mlir::Operation *op, double smoothing);

/// The sum of all elements, a scalar.
mlir::Value sumAll(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value);
/// The number of targets other than `ignore`, as a scalar of `element`.
mlir::Value countTargets(mlir::OpBuilder &builder, mlir::Location location, mlir::Value targets, std::int64_t ignore,
                         mlir::Type element);

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_OPS_LOSSRULES_H
