//===- ModuleBuilder.h - modules of the zoo -------------------------------------------------===//
//
// Modules with the names of their source: a linear layer declares its parameters at its first use and reads them at
// each, with the initial distributions of the source. Values are [rows, ...].
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_ZOO_MODULEBUILDER_H
#define SLUICE_PASSES_IMPORT_ZOO_MODULEBUILDER_H

#include "dialect/model/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace sluice::zoo {

using Shape = llvm::SmallVector<std::int64_t>;

/// The initial distribution of a parameter.
struct Initial {
  llvm::StringRef kind = "zeros";
  double a = 0, b = 0;
};
/// Evenly in [-bound, bound].
Initial evenly(double bound);

class ModuleBuilder {
public:
  ModuleBuilder(mlir::MLIRContext *context, llvm::StringRef name, std::int64_t batch, llvm::StringRef loss);

  /// An input of an entry point: floats, or indices below `limit`.
  struct Input {
    llvm::StringRef name;
    Shape shape;
    std::int64_t limit = 0;
  };
  /// Begins an entry point whose result is a loss. Each input gets `batch` rows.
  llvm::SmallVector<mlir::Value> beginTrain(llvm::StringRef entry, llvm::ArrayRef<Input> inputs);
  /// Ends it with the selected loss of these outputs.
  void finishTrain(llvm::ArrayRef<mlir::Value> outputs);
  void finishLoss(mlir::Value loss);
  /// Adds the inputs of dropout's random numbers to the entry point; no dropout at a rate of 0.
  void beginDropout(double rate);
  mlir::OwningOpRef<mlir::ModuleOp> take() { return std::move(module); }

  std::int64_t batch() const { return rows; }
  llvm::StringRef loss() const { return lossName; }

  // Structure.
  mlir::Value block(const llvm::Twine &name, llvm::function_ref<mlir::Value()> body);
  mlir::Value checkpoint(llvm::function_ref<mlir::Value()> body);

  // Parameters.
  void declare(const llvm::Twine &name, llvm::ArrayRef<std::int64_t> shape, Initial initial,
               llvm::StringRef alias = "");
  mlir::Value read(const llvm::Twine &name);

  // Modules.
  mlir::Value linear(const llvm::Twine &name, mlir::Value x, std::int64_t out, bool bias = true);
  mlir::Value layerNorm(const llvm::Twine &name, mlir::Value x, bool bias = true, double epsilon = 1e-5);
  mlir::Value embedding(const llvm::Twine &name, mlir::Value tokens, std::int64_t count, std::int64_t width);
  mlir::Value conv2d(const llvm::Twine &name, mlir::Value x, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding);
  /// Normalizes by the statistics of the micro-batch, and updates the running statistics.
  mlir::Value batchNorm(const llvm::Twine &name, mlir::Value x);
  /// Two linears, each followed by a ReLU.
  mlir::Value mlp(const llvm::Twine &prefix, mlir::Value x, std::int64_t multiplier);

  // Ops.
  mlir::Value matmul(mlir::Value a, mlir::Value b, bool transposeB);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value relu(mlir::Value x);
  mlir::Value gelu(mlir::Value x);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<std::int64_t> shape);
  mlir::Value constant(double value, llvm::ArrayRef<std::int64_t> shape);
  /// [N, C, H, W] to [N, H, W, C].
  mlir::Value channelsLast(mlir::Value x);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<std::int64_t> permutation);
  mlir::Value dropout(mlir::Value x);
  /// The sum over all data-parallel ranks. The unit of the block `gathered` is gathered at the same time.
  mlir::Value allReduce(mlir::Value x, llvm::StringRef gathered);
  /// The first `count` rows.
  mlir::Value firstRows(mlir::Value x, std::int64_t count);
  /// Over all dims, or over `dims`.
  mlir::Value sum(mlir::Value x);
  mlir::Value crossEntropy(mlir::Value logits, mlir::Value targets, llvm::StringRef reduction);
  /// q [B, T, C], k and v [B, S, C], split in heads. Dropout applies to the probabilities too.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v, std::int64_t heads, bool causal);

  static llvm::ArrayRef<std::int64_t> shapeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
  }
  mlir::RankedTensorType tensor(llvm::ArrayRef<std::int64_t> shape);
  /// The module path that is being built.
  mlir::Location location;
  mlir::OpBuilder builder;
  void at(const llvm::Twine &path);

private:
  void declareState(const std::string &name, mlir::RankedTensorType type, llvm::StringRef initial);
  void write(const std::string &name, mlir::Value value);

  std::int64_t rows;
  std::string lossName;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  /// The insertion point of the next parameter.
  mlir::OpBuilder declarations;
  llvm::StringMap<mlir::RankedTensorType> parameters;
  double dropoutRate = 0;
  mlir::Value seed, step, row;
  /// Keys of the dropouts, in the order of their creation.
  std::int64_t nextKey = 0;
};

} // namespace sluice::zoo

#endif // SLUICE_PASSES_IMPORT_ZOO_MODULEBUILDER_H
