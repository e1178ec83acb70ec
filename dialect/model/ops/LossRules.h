//===- LossRules.h - helpers of the losses ------------------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_LOSSRULES_H
#define SLUICE_DIALECT_MODEL_OPS_LOSSRULES_H

#include "dialect/model/ops/Helpers.h"

namespace sluice::model {

/// The label smoothing of the attribute, 0 if it is null.
double smoothingOf(std::optional<llvm::APFloat> smoothing);
mlir::LogicalResult verifySmoothing(mlir::Operation *op, double smoothing);

/// The sum of all elements, a scalar.
mlir::Value sumAll(mlir::ImplicitLocOpBuilder &builder, mlir::Value value);
/// The number of targets other than `ignore`, as a scalar of `element`.
mlir::Value countTargets(mlir::ImplicitLocOpBuilder &builder, mlir::Value targets, std::int64_t ignore,
                         mlir::Type element);
/// CountedMeanOpInterface of a loss with `reduction` and `targets`. Both results are divided by the number of all
/// targets, so that the count is near 1.
template <typename OpT>
llvm::FailureOr<std::pair<mlir::Value, mlir::Value>> makeSumAndCount(mlir::ImplicitLocOpBuilder &builder, OpT mean) {
  if (mean.getReduction() != LossReduction::mean)
    return llvm::failure();
  const double share = 1.0 / static_cast<double>(elementsOf(mean.getTargets()));
  auto sum = mlir::cast<OpT>(builder.clone(*mean));
  sum.setReduction(LossReduction::sum);
  mlir::Value count = countTargets(builder, mean.getTargets(), static_cast<std::int64_t>(mean.getIgnoreIndex()),
                                   elementOf(mean.getLoss()));
  return std::pair(makeScale(builder, sum.getLoss(), share), makeScale(builder, count, share));
}

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_OPS_LOSSRULES_H
