//===- TensorChoice.h - which parameters are sharded along the axis tensor ----------------===//
//
// For `sharding.tensor` = "auto": the passes of the axis run on copies of the training step, and the cheapest split of
// the parameters is kept. Blocks with equal ops have equal splits.
//
// The cost of a split has three parts of a rank's step, converted to sent bytes: the bytes of collectives along the
// axis, the floating-point operations that all ranks repeat, and the parameters, gradients and optimizer states that
// all ranks hold and update.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_CHOOSE_TENSORCHOICE_H
#define SLUICE_PASSES_CHOOSE_TENSORCHOICE_H

#include "passes/recipe/Recipe.h"
#include "passes/solver/choose/SplitSearch.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sluice {

/// Parameters that get the same split: one of each block of a kind, or one outside of the blocks, with its bias.
struct SplitVariable {
  /// A glob or name for messages: "h.*.mlp.c_fc.weight".
  std::string name;
  std::vector<std::string> weights, biases;
};

struct TensorCost {
  double sentBytes = 0, repeatedFlops = 0, heldBytes = 0;
  /// What a GPU with NVLink computes while it sends a byte: 300 to 500 TFLOP/s against 300 to 450 GB/s.
  static constexpr double flopsPerByte = 1000;
  /// Of memory that it reads or writes in an update while it sends a byte: 3 to 5 TB/s, where each is read and written.
  static constexpr double heldPerByte = 4;
  double total() const { return sentBytes + repeatedFlops / flopsPerByte + heldBytes / heldPerByte; }
};

class TensorChoice {
public:
  /// The splits of a variable, in the order of their numbers in SplitProblem.
  static constexpr TensorSplit splits[] = {TensorSplit::replicated, TensorSplit::column, TensorSplit::row};

  /// `module` is after the phase `optimize`, with its recipe.
  static Result<TensorChoice> create(mlir::ModuleOp module);

  const std::vector<SplitVariable> &variables() const { return all; }
  /// The variables of each kind of block, then those outside of blocks.
  const std::vector<std::vector<unsigned>> &groups() const { return kinds; }
  /// The search for the least total cost; refers to the choice.
  SplitProblem problem() const;
  /// Nothing if the passes refuse the split.
  std::optional<TensorCost> cost(const std::vector<unsigned> &values) const;
  /// The value of `sharding.tensor`.
  RecipeValue valueOf(const std::vector<unsigned> &values) const;

  /// The cheapest split found, with a remark for each variable.
  Result<RecipeValue> choose() const;

private:
  std::vector<SplitVariable> all;
  std::vector<std::vector<unsigned>> kinds;
  /// A product by row, and the products by column that it reads through other ops: the query, key and value of an
  /// attention, for example.
  std::vector<SplitMove> moves;
  /// The training step alone.
  mlir::OwningOpRef<mlir::ModuleOp> step;
  std::int64_t ranks = 1;
  /// Of the step.
  double undividedFlops = 0;

  void findVariables();
  void findMoves();
};

} // namespace sluice

#endif // SLUICE_PASSES_CHOOSE_TENSORCHOICE_H
