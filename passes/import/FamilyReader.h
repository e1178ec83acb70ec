//===- FamilyReader.h - reads the config.json of a decoder --------------------------------===//
//
// The groups of fields that families share. A family's function reads its groups and sets what its class defines.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_FAMILYREADER_H
#define SLUICE_PASSES_IMPORT_FAMILYREADER_H

#include "passes/import/Decoder.h"

namespace sluice {

class FamilyReader {
public:
  FamilyReader(ConfigFields &fields, const ImportOptions &options) : fields(fields), options(options) {}

  ConfigFields &fields;
  const ImportOptions &options;
  DecoderConfig config;
  /// `max_position_embeddings`, or the default of the class, and the name of the field.
  std::int64_t positions = 0;
  std::string positionsField = "max_position_embeddings";

  /// Defaults of sizes; 0: as many as query heads, as wide as the width divided by the heads.
  struct Sizes {
    std::int64_t positions = 2048, keyHeads = 0, headSize = 0;
    /// The class has the fields `num_key_value_heads` and `head_dim`.
    bool hasKeyHeads = true, hasHeadSize = true;
    llvm::StringRef inner = "intermediate_size";
  };
  /// Vocabulary, width, layers, heads, positions. All layers get the scale 1/sqrt(headSize) and no window.
  void readSizes(const Sizes &sizes);
  /// Epsilon, initializer range and tied embeddings.
  void readCommon(llvm::StringRef epsilon, double defaultEpsilon, bool tied, double range = 0.02,
                  llvm::StringRef rangeField = "initializer_range");
  /// Biases of queries, keys, values and the output.
  void readAttentionBias(llvm::StringRef field, bool otherwise);
  /// The padding row, which torch counts from the end if it is below 0; `otherwise` if there is no field.
  void readPadding(std::optional<std::int64_t> otherwise);
  /// Rotary positions. Sizes, positions and sequence of `defaults` are set here.
  void readRope(RopeDefaults defaults = {});
  /// `sliding_window` of all layers; null is no window.
  void readWindow(std::int64_t otherwise);
  /// `layer_types`: `sliding_attention` for some layers, all of which have `window`. `otherwise` is the type of a
  /// layer if the config has no types.
  void readLayerTypes(std::int64_t window, llvm::function_ref<bool(std::int64_t)> otherwise);
  /// A dropout rate, or --dropout.
  void readRate(llvm::StringRef field, double otherwise, double &rate);
  /// Refuses features that no family supports, unread fields, and sizes that do not agree.
  Status finish();

private:
  Status checkSizes() const;
};

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_FAMILYREADER_H
