//===- When.h - the repetitions in which an op is issued --------------------------===//
//
// A named set or a list of repetitions. It is the value of `#spmd.when` and `#plan.when` (Rules_WhenAttr in Enums.td).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_WHEN_H
#define SLUICE_DIALECT_RULES_WHEN_H

#include "dialect/rules/Enums.h"

#include "mlir/IR/AttributeSupport.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"

#include <cstdint>

namespace sluice {

/// Does not own the list: an attribute's list lives as long as the MLIRContext.
class When {
public:
  /// A named set; a list is built by the other constructor.
  When(WhenKind kind = WhenKind::all) : kind(kind) {}
  /// The listed repetitions, increasing and from 0.
  explicit When(llvm::ArrayRef<std::int64_t> repetitions) : kind(WhenKind::listed), repetitions(repetitions) {}

  /// Just these repetitions, at least one and increasing, of `repeat` in all: a named set if one is equal, else the
  /// list.
  static When of(llvm::ArrayRef<std::int64_t> repetitions, std::int64_t repeat);

  bool isAll() const { return kind == WhenKind::all; }
  WhenKind getKind() const { return kind; }
  /// The list; empty for a named set.
  llvm::ArrayRef<std::int64_t> getRepetitions() const { return repetitions; }
  /// True if the op is issued in `repetition` of `repeat`.
  bool includes(std::int64_t repetition, std::int64_t repeat) const;

  bool operator==(const When &other) const { return kind == other.kind && repetitions == other.repetitions; }
  bool operator!=(const When &other) const { return !(*this == other); }
  friend llvm::hash_code hash_value(const When &when) { return llvm::hash_combine(when.kind, when.repetitions); }

  /// A list has repetitions from 0, increasing.
  mlir::LogicalResult verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  When copyInto(mlir::AttributeStorageAllocator &allocator) const;
  static mlir::FailureOr<When> parse(mlir::AsmParser &parser);
  void print(mlir::AsmPrinter &printer) const;

private:
  WhenKind kind;
  llvm::ArrayRef<std::int64_t> repetitions;
};

} // namespace sluice

#endif // SLUICE_DIALECT_RULES_WHEN_H
