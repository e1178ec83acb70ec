//===- ModelBuilder.h - builds the modules of models --------------------------------------===//
//
// The parts that all importers share: entry points with named inputs, parameters under the names of their checkpoint,
// module blocks, and ops over f32 tensors at the location of the module path that is being built.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_MODELBUILDER_H
#define SLUICE_PASSES_IMPORT_MODELBUILDER_H

#include "dialect/model/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace sluice {

using Shape = llvm::SmallVector<std::int64_t>;

/// The initial distribution of a parameter.
struct Initial {
  llvm::StringRef kind = "zeros";
  double a = 0, b = 0;
};

/// The mask of attention: none, causal, or causal with the last `window` keys (0: all); with documents [B, T] (null:
/// none) also those of other documents.
struct AttentionMask {
  bool causal = true;
  std::int64_t window = 0;
  mlir::Value documents = {};
};

class ModelBuilder {
public:
  ModelBuilder(mlir::Location location, llvm::StringRef name, std::int64_t batch);

  /// Its location is the module path that is being built.
  mlir::ImplicitLocOpBuilder builder;
  void at(const llvm::Twine &path) { builder.setLoc(locationOf(path)); }
  mlir::Location locationOf(const llvm::Twine &path) { return mlir::NameLoc::get(builder.getStringAttr(path)); }
  /// Rows of one rank's micro-batch.
  std::int64_t batch() const { return rows; }
  /// Those of the entry points that are begun next, if they are not those of the module.
  void setBatch(std::int64_t batch) { rows = batch; }
  static llvm::ArrayRef<std::int64_t> shapeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
  }
  mlir::RankedTensorType tensor(llvm::ArrayRef<std::int64_t> shape) {
    return mlir::RankedTensorType::get(shape, builder.getF32Type());
  }

  //===- Entry points -----------------------------------------------------------===//

  /// An input of an entry point: floats, or indices below `limit`.
  struct Input {
    llvm::StringRef name;
    Shape shape;
    std::int64_t limit = 0;
  };
  /// Begins an entry point and returns its inputs. Each gets `batch` rows.
  llvm::SmallVector<mlir::Value> beginEntry(mlir::Location location, llvm::StringRef entry, EntryKind kind,
                                            llvm::ArrayRef<Input> inputs, mlir::Type result, llvm::StringRef output);
  /// Adds the inputs of dropout's random numbers to the entry point. Without them there is no dropout.
  void beginDropout();
  /// Ends the entry point.
  void finishEntry(mlir::Value output);

  //===- Structure --------------------------------------------------------------===//

  mlir::Value block(const llvm::Twine &name, llvm::function_ref<mlir::Value()> body);
  mlir::Value checkpoint(llvm::function_ref<mlir::Value()> body);
  /// Declares a parameter unless it is declared already.
  void declare(const llvm::Twine &name, llvm::ArrayRef<std::int64_t> shape, Initial initial,
               llvm::ArrayRef<llvm::StringRef> aliases = {}, std::optional<std::int64_t> padding = std::nullopt);
  /// The same for a state that the forward updates.
  void declareState(const llvm::Twine &name, mlir::RankedTensorType type, llvm::StringRef initial);
  mlir::Value read(const llvm::Twine &name);

  //===- Ops --------------------------------------------------------------------===//

  /// Modules with their parameters, which they declare at their first use.
  mlir::Value layerNorm(const llvm::Twine &name, mlir::Value x, bool bias = true, double epsilon = 1e-5);
  mlir::Value rmsNorm(const llvm::Twine &name, mlir::Value x, double epsilon);
  mlir::Value embedding(const llvm::Twine &name, mlir::Value tokens, std::int64_t count, std::int64_t width,
                        std::optional<std::int64_t> padding = std::nullopt);

  mlir::Value matmul(mlir::Value a, mlir::Value b, bool transposeB);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value relu(mlir::Value x);
  mlir::Value gelu(mlir::Value x, GeluApproximation approximation = GeluApproximation::none);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<std::int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<std::int64_t> permutation);
  mlir::Value constant(double value, llvm::ArrayRef<std::int64_t> shape);
  /// The rows [first, first + count).
  mlir::Value sliceRows(mlir::Value x, std::int64_t first, std::int64_t count);
  mlir::Value crossEntropy(mlir::Value logits, mlir::Value targets, LossReduction reduction);
  /// Dropout with a new key; the identity in an entry point without dropout or at a rate of 0.
  mlir::Value dropout(mlir::Value x, double rate);
  /// `cap tanh(x / cap)`; x at a cap of 0.
  mlir::Value capped(mlir::Value x, double cap);
  /// Attention of q [B, T, H, D] to k and v [B, S, G, D], with a cap of the scores and dropout of the probabilities.
  mlir::Value attend(mlir::Value q, mlir::Value k, mlir::Value v, double scale, AttentionMask mask, double dropoutRate,
                     double cap = 0);

protected:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The entry point that was begun last.
  mlir::func::FuncOp entry() const { return function; }

private:
  mlir::Value attendByParts(mlir::Value q, mlir::Value k, mlir::Value v, double scale, AttentionMask mask,
                            double dropoutRate, double cap);
  /// Null if the name is declared already.
  model::ParameterOp declareOnce(llvm::StringRef name, mlir::RankedTensorType type, Initial initial);

  std::int64_t rows;
  mlir::func::FuncOp function;
  /// Inserts the next parameter.
  mlir::OpBuilder declarations;
  llvm::StringMap<mlir::RankedTensorType> parameters;
  /// Inputs of the entry point for dropout's random numbers; null without dropout.
  mlir::Value seed, step, row;
  /// Keys of the entry point's dropouts, in the order of their creation.
  std::int64_t nextKey = 0;
};

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_MODELBUILDER_H
