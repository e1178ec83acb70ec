//===- Models.h - the rows of the zoo, by file -------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_ZOO_MODELS_H
#define SLUICE_PASSES_IMPORT_ZOO_MODELS_H

#include "passes/import/zoo/ModuleBuilder.h"
#include "passes/import/zoo/Settings.h"

namespace sluice::zoo {

struct Model {
  llvm::StringLiteral name;
  llvm::StringLiteral description;
  /// Keys in addition to `batch` and `loss`.
  std::vector<Key> keys;
  Status (*build)(ModuleBuilder &builder, const Settings &settings);
  llvm::StringLiteral batch = "2";
  llvm::StringLiteral loss = "sum";
  /// Losses in addition to sum, mean and first-row-square.
  std::vector<llvm::StringLiteral> losses = {};
};

std::vector<Model> linearModels();
std::vector<Model> transformerModels();
std::vector<Model> encoderDecoderModels();
std::vector<Model> convolutionalModels();
std::vector<Model> expertModels();

} // namespace sluice::zoo

#endif // SLUICE_PASSES_IMPORT_ZOO_MODELS_H
