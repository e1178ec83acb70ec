//===- ProductRules.h - helpers of matrix products ----------------------------------===//
//
// m, n, k are the extents of a product; leading dims are the batch. In Matmul.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_PRODUCTRULES_H
#define SLUICE_DIALECT_MODEL_OPS_PRODUCTRULES_H

#include "dialect/model/ops/Helpers.h"

namespace sluice::model {

/// The operands of a product; `bias` and `residual` may be null.
struct Product {
  mlir::Value lhs, rhs;
  bool transposeLhs, transposeRhs;
  mlir::Value bias = {}, residual = {};

  /// The contracted extent.
  std::int64_t inner() const;
};

/// The product that an op, or an adaptor of it, computes.
template <typename OpT> Product productOf(OpT op) {
  Product product{op.getLhs(), op.getRhs(), op.getTransposeLhs(), op.getTransposeRhs()};
  if constexpr (requires { op.getBias(); })
    product.bias = op.getBias();
  if constexpr (requires { op.getResidual(); })
    product.residual = op.getResidual();
  return product;
}

/// Appends the types of the results of `kernel`, a product without or with more results of its type.
llvm::LogicalResult inferProduct(std::optional<mlir::Location> location, KernelId kernel, const Product &product,
                                 mlir::Type element, llvm::SmallVectorImpl<mlir::Type> &types);
/// The cotangents of lhs, rhs and bias.
llvm::SmallVector<mlir::Value> makeProductGradients(mlir::ImplicitLocOpBuilder &builder, const Product &product,
                                                    mlir::Value cotangent);
/// 2 m n k for each of the batch, one more per element for bias and for residual.
std::uint64_t productFlops(const Product &product, mlir::Value result);

} // namespace sluice::model

#endif // SLUICE_DIALECT_MODEL_OPS_PRODUCTRULES_H
