//===- Assertion.h - conditions on a setting, for CI and job scripts ----------------------------===//
#ifndef SLUICE_PASSES_DRIVER_FIT_ASSERTION_H
#define SLUICE_PASSES_DRIVER_FIT_ASSERTION_H

#include "runtime/base/Status.h"

#include <optional>
#include <string>

namespace sluice {

/// The figures of a setting that assertions compare. Names are those of the text.
enum class FitFigure { peak, reserved, step, tokens_per_s, mfu };

struct Assertion {
  /// As given.
  std::string text;
  FitFigure figure = FitFigure::peak;
  /// "<=", "<", ">=" or ">".
  std::string comparison;
  /// Bytes, seconds, tokens per second, or a part of 1.
  double bound = 0;

  bool holds(double value) const;
};

/// "FIGURE COMPARISON VALUE", as "peak<=76GiB", "step<1.5s", "tokens_per_s>=50000" or "mfu>40%". A usage error for
/// another form, and for an mfu above 1 without "%".
Result<Assertion> parseAssertion(const std::string &text);

/// The name in an assertion.
std::string nameOf(FitFigure figure);
/// A value with its unit, as a person reads it.
std::string figureText(FitFigure figure, double value);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_FIT_ASSERTION_H
