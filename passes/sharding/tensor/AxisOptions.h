//===- AxisOptions.h - the state of the module along one model-parallel axis ----------------===//
//
// The passes that shard, propagate, reshard and localize along the model-parallel axes have the axis as an option
// and read the rest from the IR: the recipe, and the shardings of parameters and inputs.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_TENSOR_AXISOPTIONS_H
#define SLUICE_PASSES_SHARDING_TENSOR_AXISOPTIONS_H

#include "passes/recipe/Recipe.h"
#include "passes/sharding/tensor/AxisSharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace sluice::tensor {

/// Shardings of parameters by name; other parameters are replicated.
using ParameterShardings = llvm::StringMap<AxisSharding>;

struct AxisOptions {
  AxisOptions(mlir::ModuleOp module, llvm::StringRef axisName, const Recipe &recipe);

  Axis axis;
  ParameterShardings parameters;
  /// The recipe key that shards parameters along the axis, and its origin.
  std::string key, origin;
  /// Sequence parallelism: a completed value with a sequence dim is sharded along it.
  bool bySequence = false;
  /// The extent of the sequence in an entry point; 0 where neither it nor the module states it, and along `expert`.
  std::int64_t sequenceOf(mlir::func::FuncOp entry) const;
};

/// True where parameters or inputs are sharded along the axis and types along it are global.
bool isToPartition(mlir::ModuleOp module, llvm::StringRef axis);
/// True where types along the axis are local.
bool isLocal(mlir::ModuleOp module, llvm::StringRef axis);

/// The inputs of an entry that are sharded along the axis.
llvm::SmallVector<mlir::BlockArgument> shardedInputs(mlir::func::FuncOp entry, llvm::StringRef axis);

/// The sharding of a parameter along the model-parallel axes; null for a parameter that is replicated along them.
spmd::ShardingAttr parameterSharding(mlir::Operation *parameter);
/// True for a parameter that is sharded along the axis, or along an axis of the role.
bool isSharded(mlir::Operation *parameter, llvm::StringRef axis);
bool isSharded(mlir::Operation *parameter, AxisRole role);

/// Remarks on collectives. Equal texts are one remark, with the first location and their number.
class CollectiveRemarks {
public:
  void add(mlir::Location where, std::string text);
  /// Emits the remarks in the order in which they were added.
  void emit() const;
  /// True where a remark begins with the text.
  bool has(llvm::StringRef text) const;

private:
  struct CountedRemark {
    std::string text;
    mlir::Location where;
    unsigned times;
  };
  llvm::SmallVector<CountedRemark> remarks;
};

/// An op and its sharding rule, or its number of operands, for remarks.
std::string ruleText(mlir::Operation *op);

} // namespace sluice::tensor

#endif // SLUICE_PASSES_SHARDING_TENSOR_AXISOPTIONS_H
