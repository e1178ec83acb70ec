//===- Operands.h - operands of the calls of elementwise ops -------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_ATEN_OPERANDS_H
#define SLUICE_PASSES_IMPORT_EXPORT_ATEN_OPERANDS_H

#include "passes/import/export/Call.h"

namespace sluice::exported {

inline mlir::Type elementOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}
inline bool isFloatValue(mlir::Value value) { return mlir::isa<mlir::FloatType>(elementOf(value)); }
inline std::int64_t countOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getNumElements();
}

/// An operand in the type of the result.
inline mlir::Value operand(Call &call, llvm::StringRef name) {
  return call.cast(call.value(name), call.elementType(call.result().type));
}

/// A tensor or a number, in f64.
inline mlir::Value wide(Call &call, llvm::StringRef name) {
  const mlir::Type f64 = call.builder.getF64Type();
  if (call.isTensor(name))
    return call.cast(call.value(name), f64);
  return call.make<model::ConstantOp>({}, {{"value", call.builder.getF64FloatAttr(call.number(name))}},
                                      mlir::RankedTensorType::get({}, f64));
}

inline mlir::Value add(Call &call, mlir::Value a, mlir::Value b) { return call.make<model::AddOp>({a, b}); }
inline mlir::Value subtract(Call &call, mlir::Value a, mlir::Value b) { return call.make<model::SubtractOp>({a, b}); }
inline mlir::Value multiply(Call &call, mlir::Value a, mlir::Value b) { return call.make<model::MultiplyOp>({a, b}); }
inline mlir::Value divide(Call &call, mlir::Value a, mlir::Value b) { return call.make<model::DivideOp>({a, b}); }
inline mlir::Value negate(Call &call, mlir::Value x) { return call.make<model::NegateOp>(x); }
/// torch's derivative of abs is 0 at 0, as that of the larger of two equal values of opposite sign is.
inline mlir::Value magnitude(Call &call, mlir::Value x) { return call.make<model::MaximumOp>({x, negate(call, x)}); }
inline mlir::Value logicalAnd(Call &call, mlir::Value a, mlir::Value b) { return multiply(call, a, b); }
inline mlir::Value logicalOr(Call &call, mlir::Value a, mlir::Value b) { return call.make<model::MaximumOp>({a, b}); }
inline mlir::Value isNan(Call &call, mlir::Value x) { return call.compare(x, ComparePredicate::ne, x); }
/// Without a derivative.
inline mlir::Value stopped(Call &call, mlir::Value x) {
  return isFloatValue(x) ? mlir::Value(call.make<model::StopGradientOp>(x)) : x;
}
template <typename Op>
mlir::Value reduce(Call &call, mlir::Value x, llvm::ArrayRef<std::int64_t> dims, bool keep = false) {
  if (dims.empty())
    return x;
  return call.make<Op>(x, {{"dims", call.builder.getDenseI64ArrayAttr(dims)},
                           {"keep", keep ? call.builder.getUnitAttr() : mlir::UnitAttr()}});
}
inline llvm::SmallVector<std::int64_t> allDims(mlir::Value x) {
  return llvm::to_vector(llvm::seq<std::int64_t>(0, Call::rankOf(x)));
}
/// The index along a dim of a shape.
inline mlir::Value iota(Call &call, llvm::ArrayRef<std::int64_t> shape, std::int64_t dim, mlir::Type element) {
  return call.make<model::IotaOp>({}, {{"dim", call.builder.getI64IntegerAttr(dim)}},
                                  mlir::RankedTensorType::get(shape, element));
}
/// `value`, with the derivative of `like`, which is about as large.
inline mlir::Value withDerivativeOf(Call &call, mlir::Value value, mlir::Value like) {
  return add(call, stopped(call, value), subtract(call, like, stopped(call, like)));
}

/// `value`, which is NaN where `of` is, as a function of it with the derivative 0: in torch such a function has a
/// gradient of zeros, in contrast to a tensor without a gradient.
inline mlir::Value flat(Call &call, mlir::Value value, mlir::Value of) {
  return call.select(call.compare(value, ComparePredicate::eq, value), stopped(call, value), of);
}
/// The root, with the derivative 0 at 0.
mlir::Value safeRoot(Call &call, mlir::Value square);
/// Sets the result of a function that is computed in f64, of float32 or a narrower type.
void setNarrow(Call &call, mlir::Value value);
/// By the call's argument `reduction`.
mlir::Value reducedLoss(Call &call, mlir::Value each);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_ATEN_OPERANDS_H
