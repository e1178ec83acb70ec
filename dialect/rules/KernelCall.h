//===- KernelCall.h - how an op is launched -------------------------------------===//
//
// Two ways to become real: a call of a catalogue kernel, or a view of an operand's memory, which needs no launch.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_KERNELCALL_H
#define SLUICE_DIALECT_RULES_KERNELCALL_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <utility>

namespace sluice {

struct KernelCall {
  /// Name in runtime/kernel/catalogue.def.
  llvm::StringRef kernel;
  /// Integer, float and dense i64 array attributes, by the kernel's names.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  /// Input operands in the catalogue's order; outputs are the op's results in order.
  llvm::SmallVector<mlir::Value> inputs;
  /// (input, output) pairs that may lie in the same memory if the input is not used afterwards.
  llvm::SmallVector<std::pair<unsigned, unsigned>> mayAlias;
  /// (input, output) pairs that must lie in the same memory (optimizer updates).
  llvm::SmallVector<std::pair<unsigned, unsigned>> mustAlias;
};

/// A strided window, in elements from the start of a buffer.
struct StridedLayout {
  std::int64_t offset = 0;
  llvm::SmallVector<std::int64_t> shape;
  llvm::SmallVector<std::int64_t> strides;
};

} // namespace sluice

#endif // SLUICE_DIALECT_RULES_KERNELCALL_H
