//===- LearningRate.cpp - the rate of each step ---------------------------------===//
#include "runtime/train/LearningRate.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <optional>

namespace sluice {

/// The part of a wsd schedule, at its end, in which the rate decays.
static constexpr double wsdDecay = 0.2;

static std::string_view trim(std::string_view text) {
  std::size_t begin = text.find_first_not_of(" \t\"'");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\"'") - begin + 1);
}

static std::optional<std::string_view> find(std::span<const std::string> recipe, std::string_view key) {
  for (const std::string &line : recipe) {
    std::size_t equals = line.find('=');
    if (equals != std::string::npos && trim(std::string_view(line).substr(0, equals)) == key)
      return trim(std::string_view(line).substr(equals + 1));
  }
  return std::nullopt;
}

template <typename T> static Status readNumber(std::span<const std::string> recipe, std::string_view key, T &out) {
  std::optional<std::string_view> text = find(recipe, key);
  if (!text || text->empty() || *text == "none")
    return Status::ok();
  auto [rest, error] = std::from_chars(text->data(), text->data() + text->size(), out);
  if (error != std::errc() || rest != text->data() + text->size() || !(out >= 0))
    return refusedError(
        fmt::format("recipe of the plan: {}, expected a number of at least 0 but got '{}'", key, *text));
  return Status::ok();
}

Result<LearningRate> LearningRate::parse(std::span<const std::string> recipe, std::uint64_t steps) {
  LearningRate rate;
  std::string_view shape = find(recipe, "schedule.lr").value_or("constant");
  if (shape == "constant")
    rate.shape = Shape::constant;
  else if (shape == "linear")
    rate.shape = Shape::linear;
  else if (shape == "cosine")
    rate.shape = Shape::cosine;
  else if (shape == "wsd")
    rate.shape = Shape::wsd;
  else
    return refusedError(fmt::format(
        "recipe of the plan: schedule.lr, expected constant, linear, cosine or wsd but got '{}'", shape));
  rate.total = 0;
  SLUICE_RETURN_IF_ERROR(readNumber(recipe, "optimizer.lr", rate.peak));
  SLUICE_RETURN_IF_ERROR(readNumber(recipe, "schedule.min_lr", rate.least));
  SLUICE_RETURN_IF_ERROR(readNumber(recipe, "schedule.warmup_steps", rate.warmup));
  SLUICE_RETURN_IF_ERROR(readNumber(recipe, "schedule.total_steps", rate.total));
  if (rate.total == 0)
    rate.total = steps;
  return rate;
}

double LearningRate::at(std::uint64_t step) const {
  if (step < warmup)
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (shape == Shape::constant)
    return peak;
  double begin = static_cast<double>(warmup), end = static_cast<double>(total);
  if (shape == Shape::wsd)
    begin = std::max(begin, std::floor((1 - wsdDecay) * end));
  double now = static_cast<double>(step);
  if (now < begin)
    return peak;
  // How much of the decay is over.
  double part = end > begin ? std::min((now - begin) / (end - begin), 1.0) : 1.0;
  double left = shape == Shape::cosine ? 0.5 * (1 + std::cos(std::numbers::pi * part))
                : shape == Shape::wsd  ? 1 - std::sqrt(part)
                                       : 1 - part;
  return least + left * (peak - least);
}

} // namespace sluice
