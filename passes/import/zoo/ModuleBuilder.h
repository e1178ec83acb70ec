//===- ModuleBuilder.h - modules of the zoo -------------------------------------------------===//
//
// Modules with the names of their source: a linear layer declares its parameters at its first use and reads them at
// each, with the initial distributions of the source. Values are [rows, ...].
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_ZOO_MODULEBUILDER_H
#define SLUICE_PASSES_IMPORT_ZOO_MODULEBUILDER_H

#include "passes/import/ModelBuilder.h"
#include "passes/import/Shapes.h"

namespace sluice::zoo {

/// Evenly in [-bound, bound].
Initial evenly(double bound);

class ModuleBuilder : public ModelBuilder {
public:
  ModuleBuilder(mlir::MLIRContext *context, llvm::StringRef name, std::int64_t batch, llvm::StringRef loss);

  /// Begins an entry point whose result is a loss. Its name is `entry`, or that of the shape that is built.
  llvm::SmallVector<mlir::Value> beginTrain(llvm::StringRef entry, llvm::ArrayRef<Input> inputs);
  /// The entry points that are begun next have this shape, which their names end with.
  void beginShape(const RowShape &shape);
  /// Ends it with the selected loss of these outputs.
  void finishTrain(llvm::ArrayRef<mlir::Value> outputs);
  mlir::OwningOpRef<mlir::ModuleOp> take() { return std::move(module); }

  llvm::StringRef loss() const { return lossName; }

  mlir::Value linear(const llvm::Twine &name, mlir::Value x, std::int64_t out, bool bias = true);
  mlir::Value conv2d(const llvm::Twine &name, mlir::Value x, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding);
  /// Normalizes by the statistics of the micro-batch, and updates the running statistics.
  mlir::Value batchNorm(const llvm::Twine &name, mlir::Value x);
  /// Two linears, each followed by a ReLU.
  mlir::Value mlp(const llvm::Twine &prefix, mlir::Value x, std::int64_t multiplier);
  /// q [B, T, C], k and v [B, S, C], split in heads. Dropout applies to the probabilities.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v, std::int64_t heads, bool causal,
                        double dropoutRate = 0);
  /// [N, C, H, W] to [N, H, W, C].
  mlir::Value channelsLast(mlir::Value x) { return transpose(x, {0, 2, 3, 1}); }
  /// The sum over all data-parallel ranks. The unit of the block `gathered` is gathered at the same time.
  mlir::Value allReduce(mlir::Value x, llvm::StringRef gathered);
  /// Over all dims.
  mlir::Value sum(mlir::Value x);

private:
  void write(const llvm::Twine &name, mlir::Value value);

  std::string lossName;
  std::optional<RowShape> shape;
};

} // namespace sluice::zoo

#endif // SLUICE_PASSES_IMPORT_ZOO_MODULEBUILDER_H
