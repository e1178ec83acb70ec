//===- PackingText.cpp - placement problems as text ----------------------------------------===//
#include "passes/solver/PackingText.h"

#include "runtime/base/Text.h"

#include <array>
#include <charconv>
#include <limits>
#include <unordered_map>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 4> columns = {"id", "lower", "upper", "size"};

/// The fields of a line, separated by commas.
std::vector<std::string_view> fieldsOf(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t comma; (comma = line.find(',')) != line.npos; line.remove_prefix(comma + 1))
    fields.push_back(line.substr(0, comma));
  fields.push_back(line);
  return fields;
}

/// Takes the first line off the text, without its end.
std::string_view takeLine(std::string_view &text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

Result<std::uint64_t> integerOf(std::string_view field, std::string_view column, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool isComplete = end == field.data() + field.size();
  if (isComplete && (error == std::errc::result_out_of_range || (error == std::errc() && value > most)))
    return inputError(concat("expected '", column, "' of at most ", most, " but got ", field));
  if (!isComplete || error != std::errc())
    return inputError(concat("expected '", column, "' to be an integer of 0 or more but got '", field, "'"));
  return value;
}

} // namespace

Result<PackingProblem> parsePacking(std::string_view text, const std::string &path) {
  std::size_t number = 1;
  const auto errorAt = [&](const std::string &message) { return inputError(concat(path, ":", number, ": ", message)); };
  const std::string header = join(columns, ",");
  if (const std::string_view found = takeLine(text); found != header)
    return errorAt(concat("expected the header '", header, "' but got '", found.substr(0, 80), "'"));
  PackingProblem problem;
  std::unordered_map<std::string_view, std::size_t> lines;
  std::uint64_t sum = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = takeLine(text);
    if (line.empty())
      continue;
    const std::vector<std::string_view> fields = fieldsOf(line);
    if (fields.size() != columns.size())
      return errorAt(concat("expected ", columns.size(), " fields but got ", fields.size()));
    if (fields[0].empty())
      return errorAt("missing 'id'");
    if (const auto [first, isNew] = lines.emplace(fields[0], number); !isNew)
      return errorAt(concat("id '", fields[0], "' is also in line ", first->second));
    constexpr std::uint64_t lastInstant = std::numeric_limits<std::uint32_t>::max();
    std::array<std::uint64_t, 4> values = {};
    for (std::size_t k = 1; k < columns.size(); ++k) {
      Result<std::uint64_t> value = integerOf(fields[k], columns[k], k == 3 ? maxArenaBytes : lastInstant);
      if (!value.isOk())
        return errorAt(value.status().message());
      values[k] = *value;
    }
    const auto &[id, lower, upper, size] = values;
    if (lower >= upper)
      return errorAt(concat("lifespan [", lower, ", ", upper, ") is empty: 'upper' must be larger than 'lower'"));
    sum += size;
    if (sum > std::numeric_limits<std::uint64_t>::max() / 4)
      return errorAt(concat("the sizes of the buffers up to here have a sum of ", sum, ", which is too large"));
    problem.buffers.push_back({std::string(fields[0]), size, std::uint32_t(lower), std::uint32_t(upper)});
  }
  return problem;
}

std::string packingText(const PackingProblem &problem, const PackingSolution &solution) {
  std::string text = join(columns, ",") + ",offset\n";
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const PackingBuffer &buffer = problem.buffers[b];
    text += concat(buffer.name, ",", buffer.begin, ",", buffer.end, ",", buffer.bytes, ",", solution.offsets[b], "\n");
  }
  return text;
}

} // namespace sluice
