//===- GraphBuilder.h - what the families' graphs share ----------------------------------===//
//
// Parameters under their checkpoint names, reads, small ops, causal attention, dropout, blocks, and the entry points:
// `train_step` (tokens, targets to loss) and `logits` (tokens to logits, nothing dropped). A family says which parameters
// there are and how tokens become logits.
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
  /// True where `forward` drops something in training: `train_step` then has the inputs that dropout draws by.
  virtual bool drops() const = 0;

  mlir::OpBuilder builder;
  std::int64_t batch, sequence, vocabulary;
  /// Where the ops that are built now come from.
  mlir::Location location = builder.getUnknownLoc();

  /// The module path of the source.
  mlir::Location at(llvm::StringRef path);
  mlir::RankedTensorType tensor(llvm::ArrayRef<std::int64_t> shape);
  void declare(const llvm::Twine &name, llvm::ArrayRef<std::int64_t> shape, llvm::StringRef init, double deviation = 0,
               llvm::StringRef alias = "", std::optional<std::int64_t> padding = std::nullopt);
  mlir::Value read(const llvm::Twine &name);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<std::int64_t> shape);
  mlir::Value add(llvm::StringRef name, mlir::Value a, mlir::Value b);
  /// Dropout with a key of its own; nothing outside training or at a rate of 0.
  mlir::Value drop(mlir::Value x, double rate);
  /// Causal attention of heads [batch, sequence, H, D] and [batch, sequence, G, D]; `window` 0: every token before. Where
  /// probabilities are dropped it stands in its parts.
  mlir::Value attend(mlir::Value q, mlir::Value k, mlir::Value v, double scale, std::int64_t window, double dropout);
  /// A module of the source with one result.
  mlir::Value block(llvm::StringRef name, mlir::Type result, llvm::function_ref<mlir::Value()> body);

private:
  bool trainOnly;
  llvm::StringMap<mlir::RankedTensorType> parameters;
  /// Inputs of the step that dropout draws by; null where nothing is dropped.
  mlir::Value seed, step, row;
  /// Keys of the dropouts, in the order of their making.
  std::int64_t nextKey = 0;

  void addStepInputs(mlir::func::FuncOp function);
  mlir::func::FuncOp function(llvm::StringRef name, EntryKind kind, llvm::ArrayRef<llvm::StringRef> inputs,
                              mlir::Type result, llvm::StringRef output);
  void buildTrainStep();
  void buildLogits();
};

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_GRAPHBUILDER_H
