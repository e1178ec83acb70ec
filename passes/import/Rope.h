//===- Rope.h - rotary positions from a config.json ---------------------------------------===//
//
// `rope_parameters`, or `rope_scaling` and `rope_theta` in older configs. The frequencies depend on the sequence length
// for the scalings dynamic and longrope, which is constant in a plan.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_ROPE_H
#define SLUICE_PASSES_IMPORT_ROPE_H

#include "passes/import/ConfigFields.h"

namespace sluice {

/// As model.rope's attributes, with what the op does not have.
struct RopeConfig {
  /// The first elements of a head that rotate.
  std::int64_t size = 0;
  double theta = 10000;
  /// `default`, `linear` or `llama3`: the other scalings change `theta` or have `divisors`.
  std::string scaling = "default";
  double factor = 1, low = 1, high = 1, original = 1;
  /// The divisor of each frequency; empty: 1.
  llvm::SmallVector<double> divisors;
  /// Multiplies the cosines and sines.
  double attentionFactor = 1;
};

/// What a family's class defines about rotary positions.
struct RopeDefaults {
  std::int64_t headSize = 0, positions = 0, sequence = 0;
  /// The rotated share of a head if the config has none; 0: the class rotates all of a head and has no such field.
  double share = 0;
  /// Names of the top-level fields.
  llvm::StringRef theta = "rope_theta", shareField = "partial_rotary_factor";
  /// The default of the top-level `original_max_position_embeddings`; 0: the class has no such field.
  std::int64_t original = 0;
  /// The class has no scaling but longrope, which older configs name "su" or "yarn".
  bool onlyLongRope = false;
};

/// Errors are in `fields.status`.
RopeConfig readRope(ConfigFields &fields, const RopeDefaults &defaults);

} // namespace sluice

#endif // SLUICE_PASSES_IMPORT_ROPE_H
