//===- Start.cpp - the settings that the ranks of a job compare ---------------------------===//
#include "tools/train/Start.h"

#include "runtime/base/Message.h"
#include "runtime/base/Text.h"
#include "runtime/train/ContentDigest.h"
#include "runtime/train/StartEnvironment.h"
#include "runtime/train/TokenData.h"

#include <algorithm>

namespace sluice {
namespace {

enum class Comparison : std::uint8_t { value, content, presence, ignored };

/// Options that are not compared by value. The plan's digest is compared when it is loaded. Only rank 0 prints and
/// writes files, but all ranks take part in saving and tracing.
Comparison comparisonOf(std::string_view name) {
  static constexpr std::pair<std::string_view, Comparison> exceptions[] = {
      {"data", Comparison::content},        {"eval-data", Comparison::content},   {"init", Comparison::content},
      {"prompts", Comparison::content},     {"tokenizer", Comparison::content},   {"save", Comparison::presence},
      {"trace", Comparison::presence},      {"algorithms", Comparison::presence}, {"plan", Comparison::ignored},
      {"listen", Comparison::ignored},      {"log", Comparison::ignored},         {"log-every", Comparison::ignored},
      {"machine", Comparison::ignored},     {"tensorboard", Comparison::ignored}, {"quiet", Comparison::ignored},
      {"secret-file", Comparison::ignored}, {"verbose", Comparison::ignored}};
  const auto *found = std::ranges::find(exceptions, name, &std::pair<std::string_view, Comparison>::first);
  return found == std::end(exceptions) ? Comparison::value : found->second;
}

} // namespace

Result<std::vector<StartValue>> startValues(std::span<const OptionValue> options) {
  std::vector<StartValue> values = {{"version", versionText("sluice-train")}};
  for (const OptionValue &option : options) {
    StartValue value{"--" + option.name, option.values.empty() ? "unset" : join(option.values, " ")};
    const Comparison comparison = comparisonOf(option.name);
    if (comparison == Comparison::ignored)
      continue;
    if (comparison == Comparison::presence)
      value.value = option.values.empty() ? "unset" : "set";
    if (comparison == Comparison::content && !option.values.empty()) {
      SLUICE_ASSIGN_OR_RETURN(value.value, contentDigest(expandGlobs(option.values)));
      value.code = option.name == "init" ? StatusCode::refused : StatusCode::input;
    }
    values.push_back(std::move(value));
  }
  for (StartValue &value : environmentValues())
    values.push_back(std::move(value));
  return values;
}

} // namespace sluice
