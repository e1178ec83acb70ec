//===- HuggingFace.h - from a config.json to a model -------------------------------------===//
//
// A config is read in full before anything is built: every field that changes the mathematics is supported or
// refused by name. Parameters are named as the checkpoint names them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_HUGGINGFACE_H
#define SLUICE_PASSES_IMPORT_HUGGINGFACE_H

#include "passes/import/Shapes.h"
#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Settings of the user that are not in the config.
struct ImportOptions {
  /// Of `train_step`: rows of one rank's micro-batch, and tokens of a row.
  std::int64_t batch = 1;
  std::int64_t sequence = 1;
  /// Of further train entry points, each different.
  std::vector<RowShape> moreShapes = {};
  /// Of `eval_step`, if it is not that of `train_step`.
  std::optional<RowShape> evaluation;
  /// Entry points that give logits have one row, for generation: `logits` has `sequence` tokens, and further ones a
  /// half of it, a quarter, and so on.
  bool oneRowLogits = false;
  /// Replaces all dropout rates of the config.
  std::optional<double> dropout;
  /// Accepts a sequence longer than the positions of the config, unless they are learned.
  bool allowLonger = false;
  /// Omits the entry point `logits`, whose result is the largest buffer of a plan with a chunked loss.
  bool trainOnly = false;
  /// `train_step` has the input `documents`: rows have several documents, and a token sees its own.
  bool packed = false;
};

/// Sets the shapes of train entry points, in place of batch and sequence, and that of the evaluation, from texts
/// (readShapes()). Empty ones change nothing.
Status setShapes(ImportOptions &options, const std::vector<std::string> &shapes, const std::string &evaluation);

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The fields of the config that do not change the computation, as "'name' = value".
  std::vector<std::string> fieldsWithoutEffect;
};

/// Reads a config.json and builds the model of its family.
Result<ImportedModel> importHuggingFace(mlir::MLIRContext *context, const std::string &file,
                                        const ImportOptions &options);

/// The same from the text of a config.json; `file` is for messages.
Result<ImportedModel> importHuggingFaceText(mlir::MLIRContext *context, llvm::StringRef text, const std::string &file,
                                            const ImportOptions &options);

/// The values of `model_type`, separated by commas.
std::string familyNames();

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_HUGGINGFACE_H
