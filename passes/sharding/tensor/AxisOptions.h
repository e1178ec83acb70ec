//===- AxisOptions.h - what passes along one axis read off the module -----------------------===//
//
// The passes that shard, propagate, reshard and localize along the axes tensor and expert have the axis as their
// option. All else is on the IR: the recipe, and the shardings of parameters and inputs.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_AXISOPTIONS_H
#define SLUICE_PASSES_SHARDING_TENSOR_AXISOPTIONS_H

#include "passes/recipe/Recipe.h"
#include "passes/sharding/tensor/AxisSharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace sluice::tensor {

/// Shardings of parameters by name; a parameter without is replicated.
using ParameterShardings = llvm::StringMap<AxisSharding>;

struct AxisOptions {
  AxisOptions(mlir::ModuleOp module, llvm::StringRef axisName, const Recipe &recipe);

  Axis axis;
  ParameterShardings parameters;
  /// The key that shards parameters along the axis, and its line.
  std::string key, origin;
  /// Values of the sequence that are completed are sharded along it from there on.
  bool bySequence = false;
  /// Extent of the sequence; 0 where the model does not say.
  std::int64_t sequence = 0;
};

/// True where parameters or inputs are sharded along the axis, and types along it are global still.
bool isToPartition(mlir::ModuleOp module, llvm::StringRef axis);
/// True where types along the axis are local.
bool isLocal(mlir::ModuleOp module, llvm::StringRef axis);

/// The functions that are entry points.
llvm::SmallVector<mlir::func::FuncOp> entriesOf(mlir::ModuleOp module);
/// The inputs of an entry that are sharded along the axis.
llvm::SmallVector<mlir::BlockArgument> shardedInputs(mlir::func::FuncOp entry, llvm::StringRef axis);

/// The sharding of a parameter along all axes of parts; null for one that is replicated along them.
spmd::ShardingAttr parameterSharding(mlir::Operation *parameter);
/// True for a parameter that is sharded along the axis.
bool isSharded(mlir::Operation *parameter, llvm::StringRef axis);

/// The reasons for collectives: one line for each, with its first location and the number of times.
class CollectiveRemarks {
public:
  void add(mlir::Location where, std::string text);
  /// One remark for each reason, in the order of their first locations.
  void emit() const;
  /// True where a reason begins with the text.
  bool has(llvm::StringRef text) const;

private:
  struct Reason {
    std::string text;
    mlir::Location where;
    unsigned times;
  };
  llvm::SmallVector<Reason> reasons;
};

/// An op and its sharding rule, or its number of operands, for remarks.
std::string ruleText(mlir::Operation *op);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_AXISOPTIONS_H
