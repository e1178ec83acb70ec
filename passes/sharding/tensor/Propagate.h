//===- Propagate.h - splits flow through an entry function -------------------------------===//
//
// From the parameters on, each op's sharding rule says how its results lie by how its operands do. Collectives come where
// a rule asks for them: a split factor that the op reduces leaves partial results, which are all-reduced before the next
// op that is not linear in them; a factor that must be whole is gathered. What the ranks hold whole is the same on all.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_PROPAGATE_H
#define SLUICE_PASSES_SHARDING_TENSOR_PROPAGATE_H

#include "passes/sharding/tensor/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace sluice::tensor {

/// Splits of parameters by name; what is not named is whole.
using ParameterSplits = llvm::StringMap<Layout>;

/// Why collectives were inserted: one line for each reason, with the first place and the number of times.
struct Reasons {
  struct Reason {
    mlir::Location where;
    unsigned times;
  };
  /// In the order of their first places.
  llvm::SmallVector<std::pair<std::string, Reason>> list;
  void add(mlir::Location where, std::string text);
};

/// What the recipe asks for.
struct Wishes {
  ParameterSplits splits;
  Axis axis;
  /// The key that asks for the splits, and its line.
  llvm::StringRef key;
  std::string origin;
  /// Values of the sequence that are completed lie in parts of it from there on.
  bool bySequence = false;
  /// Extent of the sequence; 0 where the model does not say.
  std::int64_t sequence = 0;
  /// Each rank takes a part of the rows of every input, and computes on them between what the splits ask for.
  bool byRows = false;
};

/// Rewrites the function to what one rank computes.
llvm::LogicalResult propagate(mlir::func::FuncOp function, const Wishes &wishes, Reasons &reasons);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_PROPAGATE_H
