//===- LossCurve.cpp - the losses of a run as a diagram of text ---------------------===//
#include "runtime/train/LossCurve.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace sluice {

void LossCurve::add(std::uint64_t step, std::uint64_t steps, double loss) {
  if (!std::isfinite(loss))
    return;
  const std::uint64_t shown = std::min<std::uint64_t>(steps, width);
  Column &column = columns[static_cast<std::size_t>((step - 1) * shown / steps)];
  column.sum += loss;
  ++column.count;
  if (first == 0)
    first = step;
  last = step;
}

std::string LossCurve::text() const {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::size_t filled = 0, end = 0;
  for (std::size_t i = 0; i < width; ++i)
    if (const Column &column = columns[i]; column.count != 0) {
      const double mean = column.sum / static_cast<double>(column.count);
      low = std::min(low, mean);
      high = std::max(high, mean);
      ++filled;
      end = i + 1;
    }
  if (filled < 2)
    return "";
  std::array<std::string, height> lines;
  lines.fill(std::string(end, ' '));
  for (std::size_t i = 0; i < end; ++i)
    if (const Column &column = columns[i]; column.count != 0) {
      const double mean = column.sum / static_cast<double>(column.count);
      const double below = high > low ? (high - mean) / (high - low) : 0;
      lines[static_cast<std::size_t>(std::lround(below * (height - 1)))][i] = '*';
    }
  std::string text = "loss\n";
  for (std::size_t line = 0; line < height; ++line) {
    const std::string label = line == 0            ? fmt::format("{:.4g}", high)
                              : line == height - 1 ? fmt::format("{:.4g}", low)
                                                   : std::string();
    const std::string &points = lines[line];
    text += fmt::format("{:>8} |{}\n", label, points.substr(0, points.find_last_not_of(' ') + 1));
  }
  const std::string left = fmt::format("step {}", first), right = fmt::format("{}", last);
  text += fmt::format("{:>8} +{}\n{:>10}{}{:>{}}\n", "", std::string(end, '-'), "", left, right,
                      std::max(end, left.size() + right.size() + 1) - left.size());
  return text;
}

} // namespace sluice
