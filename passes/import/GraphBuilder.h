//===- GraphBuilder.h - builds the models of a family ------------------------------------===//
//
// The entry points `train_step` (tokens, targets and, for packed rows, documents to loss) and `logits` (tokens to
// logits, without dropout, of rows of one document), each in one or more shapes, and `eval_step` in a shape that
// differs. A family defines the parameters and `forward`, from tokens to logits.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_GRAPHBUILDER_H
#define SLUICE_PASSES_IMPORT_GRAPHBUILDER_H

#include "passes/import/HuggingFace.h"
#include "passes/import/ModelBuilder.h"

namespace sluice {

struct ModelEntry {
  std::string name;
  EntryKind kind = EntryKind::train;
  RowShape shape;
};
/// Of the options, in the order of the module.
std::vector<ModelEntry> entriesOf(const ImportOptions &options);

class GraphBuilder : public ModelBuilder {
public:
  GraphBuilder(mlir::MLIRContext *context, const ImportOptions &options, llvm::StringRef name, std::int64_t vocabulary);
  virtual ~GraphBuilder() = default;

  /// The verified module; `configText` is kept in `model.config`.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> build(llvm::StringRef configText);

protected:
  /// `sequence` is that of the entry point that is built next.
  virtual void selectSequence() = 0;
  virtual void declareParameters() = 0;
  /// [batch, sequence] tokens to [batch, sequence, vocabulary] logits. `documents` [batch, sequence]: the index of the
  /// first token of each token's document; null: a row is one document.
  virtual mlir::Value forward(mlir::Value tokens, mlir::Value documents) = 0;
  /// True if `forward` has dropout in training: `train_step` then has the inputs of its random numbers.
  virtual bool drops() const = 0;

  std::int64_t sequence, vocabulary;

  /// Causal attention of heads [batch, sequence, H, D] and [batch, sequence, G, D]; `window` 0: every previous token;
  /// `documents` as for forward, `cap` as for attend.
  mlir::Value attendCausally(mlir::Value q, mlir::Value k, mlir::Value v, double scale, std::int64_t window,
                             mlir::Value documents, double dropoutRate, double cap);

private:
  /// Begins an entry point and returns its inputs.
  llvm::SmallVector<mlir::Value> begin(const ModelEntry &entry);

  const ImportOptions &options;
};

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_GRAPHBUILDER_H
