//===- KernelCall.h - kernel calls and views of ops -----------------------------===//
//
// An op is executed as a call of a catalogue kernel, or as a view of an operand's memory, which needs no launch.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_KERNELCALL_H
#define SLUICE_DIALECT_RULES_KERNELCALL_H

#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/kernel/catalogue/LaunchDims.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace sluice {

struct KernelCall {
  KernelId kernel;
  /// Integer, float and dense i64 array attributes, by the names of the kernel's record.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  /// Input operands in the record's order; outputs are the op's results in order.
  llvm::SmallVector<mlir::Value> inputs;

  llvm::StringRef name() const { return kernelName(kernel); }
  /// (input, result) pairs of one type that may share memory if the input is not used afterwards.
  AliasPairs mayAlias(mlir::ResultRange results) const;
  /// (input, result) pairs that share memory.
  AliasPairs mustAlias(mlir::ResultRange results) const;
};

/// The call of a kernel with all operands of the op in order, and with the op's attributes that the kernel's record
/// has: a flag as 0 or 1, a choice as its number. An optional attribute that is absent is left out, but for a flag.
KernelCall recordedCall(mlir::Operation *op, KernelId kernel);

/// The dims of the op's kernel call by the signature in the kernel's record; nullopt, and the first operand that does
/// not fit, if extents differ.
std::optional<LaunchDims> launchDims(mlir::Operation *op, const KernelCall &call, ExtentProblem *problem = nullptr);
/// `operand #1 has the wrong extents, expected [4, k] but got [3]`: the problem of operand `number` with this shape.
std::string problemText(const ExtentProblem &problem, std::size_t number, llvm::ArrayRef<std::int64_t> shape);
/// Verifies the extents of operands and results of an op with a kernel.
llvm::LogicalResult verifyExtents(mlir::Operation *op);

/// Attributes of a launch as the catalogue takes them. Names live as long as the context.
Attributes launchAttributes(llvm::ArrayRef<mlir::NamedAttribute> attributes);

/// A strided window, in elements from the start of a buffer.
struct StridedLayout {
  std::int64_t offset = 0;
  llvm::SmallVector<std::int64_t> shape;
  llvm::SmallVector<std::int64_t> strides;
};

} // namespace sluice

#endif // SLUICE_DIALECT_RULES_KERNELCALL_H
