//===- Variant.cpp - variants of a recipe and a model -----------------------------------------===//
#include "passes/driver/Variant.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::size_t mostVariants = 1000;

Status usageError(const std::string &text, const std::string &problem) {
  return {StatusCode::usage, "--what-if " + text + ": " + problem};
}

/// The values between commas that are outside brackets and quotes.
std::vector<std::string> splitValues(std::string_view text) {
  std::vector<std::string> values(1);
  char quote = 0;
  int depth = 0;
  for (const char c : text) {
    if (c == ',' && depth == 0 && quote == 0) {
      values.emplace_back();
      continue;
    }
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    values.back() += c;
  }
  return values;
}

} // namespace

bool isModelExtent(std::string_view key) { return key == "batch" || key == "sequence"; }

Result<std::vector<Variant>> combineVariants(const std::vector<std::string> &texts) {
  std::vector<Variant> variants(1);
  for (const std::string &text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return usageError(text, "expected KEY=VALUE,VALUE,...");
    const std::string key = text.substr(0, equals);
    const std::vector<std::string> values = splitValues(std::string_view(text).substr(equals + 1));
    if (std::ranges::count(values, ""))
      return usageError(text, "a value is empty");
    if (std::ranges::count(variants[0], key, &VariantSetting::key))
      return usageError(text, "'" + key + "' is given twice");
    if (variants.size() * values.size() > mostVariants)
      return usageError(text, "expected at most " + std::to_string(mostVariants) + " combinations but got " +
                                  std::to_string(variants.size() * values.size()));
    std::vector<Variant> combined;
    for (const Variant &variant : variants)
      for (const std::string &value : values) {
        combined.push_back(variant);
        combined.back().push_back({key, value});
      }
    variants = std::move(combined);
  }
  return variants;
}

} // namespace sluice
