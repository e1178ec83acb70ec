//===- GraphBuilder.h - helpers of the model families ------------------------------------===//
//
// Parameters under their checkpoint names, reads, small ops, causal attention, dropout, blocks, and the entry points:
// `train_step` (tokens, targets to loss) and `logits` (tokens to logits, without dropout). A family defines the
// parameters and `forward`, from tokens to logits.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_GRAPHBUILDER_H
#define SLUICE_PASSES_IMPORT_GRAPHBUILDER_H

#include "passes/import/HuggingFace.h"

#include "dialect/model/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace sluice {

class GraphBuilder {
public:
  GraphBuilder(mlir::MLIRContext *context, const ImportOptions &options, std::int64_t vocabulary)
      : builder(context), batch(options.batch), sequence(options.sequence), vocabulary(vocabulary),
        trainOnly(options.trainOnly) {}
  virtual ~GraphBuilder() = default;

  /// The module; `configText` is kept in `model.config`.
  mlir::OwningOpRef<mlir::ModuleOp> build(llvm::StringRef name, llvm::StringRef configText);

protected:
  virtual void declareParameters() = 0;
  /// [batch, sequence] tokens to [batch, sequence, vocabulary] logits.
  virtual mlir::Value forward(mlir::Value tokens) = 0;
  /// True where `forward` has dropout in training: `train_step` then has the inputs of its random numbers.
  virtual bool drops() const = 0;

  mlir::OpBuilder builder;
  std::int64_t batch, sequence, vocabulary;
  /// The location of the ops that are built.
  mlir::Location location = builder.getUnknownLoc();

  /// The module path of the source.
  mlir::Location at(llvm::StringRef path);
  mlir::RankedTensorType tensor(llvm::ArrayRef<std::int64_t> shape);
  void declare(const llvm::Twine &name, llvm::ArrayRef<std::int64_t> shape, llvm::StringRef init, double deviation = 0,
               llvm::StringRef alias = "", std::optional<std::int64_t> padding = std::nullopt);
  mlir::Value read(const llvm::Twine &name);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<std::int64_t> shape);
  mlir::Value add(llvm::StringRef name, mlir::Value a, mlir::Value b);
  /// Dropout with a new key; the identity outside training or at a rate of 0.
  mlir::Value drop(mlir::Value x, double rate);
  /// Causal attention of heads [batch, sequence, H, D] and [batch, sequence, G, D]; `window` 0: every previous token.
  /// With dropout of probabilities it is built as separate ops.
  mlir::Value attend(mlir::Value q, mlir::Value k, mlir::Value v, double scale, std::int64_t window, double dropout);
  /// A module of the source with one result.
  mlir::Value block(llvm::StringRef name, mlir::Type result, llvm::function_ref<mlir::Value()> body);

private:
  bool trainOnly;
  llvm::StringMap<mlir::RankedTensorType> parameters;
  /// Inputs of the step for dropout's random numbers; null without dropout.
  mlir::Value seed, step, row;
  /// Keys of the dropouts, in the order of their creation.
  std::int64_t nextKey = 0;

  void addStepInputs(mlir::func::FuncOp function);
  mlir::func::FuncOp function(llvm::StringRef name, EntryKind kind, llvm::ArrayRef<llvm::StringRef> inputs,
                              mlir::Type result, llvm::StringRef output);
  void buildTrainStep();
  void buildLogits();
};

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_GRAPHBUILDER_H
