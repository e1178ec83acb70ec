//===- Assertion.cpp - conditions on a setting, for CI and job scripts --------------------------===//
#include "passes/driver/fit/Assertion.h"

#include "passes/recipe/Recipe.h"
#include "runtime/base/Text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace sluice {
namespace {

struct FigureName {
  FitFigure figure;
  const char *name;
  const char *example;
};
constexpr std::array<FigureName, 5> figureNames = {{
    {FitFigure::peak, "peak", "peak<=76GiB"},
    {FitFigure::reserved, "reserved", "reserved<=76GiB"},
    {FitFigure::step, "step", "step<=1.5s"},
    {FitFigure::tokens_per_s, "tokens_per_s", "tokens_per_s>=50000"},
    {FitFigure::mfu, "mfu", "mfu>=40%"},
}};

/// The number at the begin of a text, and the rest.
std::optional<double> numberOf(std::string_view text, std::string_view &rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0)
    return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<double> valueOf(FitFigure figure, std::string_view text) {
  std::int64_t bytes = 0;
  if (figure == FitFigure::peak || figure == FitFigure::reserved)
    return parseByteCount(text, bytes) ? std::optional(static_cast<double>(bytes)) : std::nullopt;
  std::string_view unit;
  const std::optional<double> number = numberOf(text, unit);
  if (!number)
    return std::nullopt;
  if (figure == FitFigure::step && (unit == "s" || unit == "ms"))
    return unit == "s" ? *number : *number / 1e3;
  if (figure == FitFigure::mfu && unit == "%")
    return *number / 100;
  return figure != FitFigure::step && unit.empty() ? number : std::nullopt;
}

} // namespace

std::string nameOf(FitFigure figure) { return figureNames[std::size_t(figure)].name; }

std::string figureText(FitFigure figure, double value) {
  switch (figure) {
  case FitFigure::peak:
  case FitFigure::reserved:
    return formatBytesExact(static_cast<std::uint64_t>(value));
  case FitFigure::step:
    return formatSeconds(value);
  case FitFigure::tokens_per_s:
    return std::to_string(std::llround(value));
  case FitFigure::mfu:
    return concat(std::llround(value * 1000) / 10, ".", std::llround(value * 1000) % 10, " %");
  }
  return "";
}

bool Assertion::holds(double value) const {
  if (comparison == "<=")
    return value <= bound;
  if (comparison == "<")
    return value < bound;
  return comparison == ">=" ? value >= bound : value > bound;
}

Result<Assertion> parseAssertion(const std::string &given) {
  std::string text;
  for (const char c : given)
    if (c != ' ')
      text += c;
  const std::size_t at = text.find_first_of("<>");
  Assertion assertion{given, {}, {}, 0};
  if (at != std::string::npos)
    for (const FigureName &known : figureNames) {
      if (text.substr(0, at) != known.name)
        continue;
      assertion.figure = known.figure;
      assertion.comparison = text.substr(at, at + 1 < text.size() && text[at + 1] == '=' ? 2 : 1);
      std::string_view unit;
      if (known.figure == FitFigure::mfu)
        if (const std::optional<double> part =
                numberOf(std::string_view(text).substr(at + assertion.comparison.size()), unit);
            part && unit.empty() && *part > 1)
          return Status(StatusCode::usage,
                        "--assert '" + given + "', expected an mfu of at most 1 but got " + formatNumber(*part))
              .withNote("a number with '%' is a percentage, as in 'mfu>=40%'");
      if (const std::optional<double> bound = valueOf(known.figure, text.substr(at + assertion.comparison.size()))) {
        assertion.bound = *bound;
        return assertion;
      }
      return Status(StatusCode::usage,
                    concat("--assert, expected a value as in '", known.example, "' but got '", given, "'"));
    }
  return Status(StatusCode::usage, "--assert, expected FIGURE and <=, <, >= or > and a value but got '" + given + "'")
      .withNote("FIGURE is one of " +
                join(figureNames, ", ", [](const FigureName &known) { return std::string(known.name); }));
}

} // namespace sluice
