//===- PackingText.cpp - packing problems and solutions as text ---------------------===//
#include "passes/solver/PackingText.h"

#include <bit>
#include <charconv>
#include <sstream>

namespace sluice {

std::string packingText(const PackingProblem &problem, const PackingSolution *solution) {
  std::string text = "alignment " + std::to_string(problem.alignment) + "\n";
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const PackingBuffer &buffer = problem.buffers[b];
    text += "buffer " + buffer.name + " " + std::to_string(buffer.bytes) + " " + std::to_string(buffer.begin) + " " +
            std::to_string(buffer.end);
    if (buffer.reservedFrom != 0)
      text += " reserved_from " + std::to_string(buffer.reservedFrom);
    if (solution)
      text += " " + std::to_string(solution->offsets[b]);
    text += "\n";
  }
  if (solution)
    text += "height " + std::to_string(solution->height) + "\n";
  return text;
}

Result<PackingProblem> parsePacking(std::string_view text, PackingSolution *solution) {
  PackingProblem problem;
  PackingSolution read;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto bad = [&](const char *expected) {
      return inputError("line " + std::to_string(number) + " of a packing, expected " + expected + " but got '" + line +
                        "'");
    };
    std::istringstream words{line.substr(0, line.find('#'))};
    std::string kind;
    if (!(words >> kind))
      continue;
    if (kind == "alignment") {
      if (!(words >> problem.alignment) || !std::has_single_bit(problem.alignment))
        return bad("'alignment' and a power of two");
    } else if (kind == "buffer") {
      PackingBuffer buffer;
      if (!(words >> buffer.name >> buffer.bytes >> buffer.begin >> buffer.end))
        return bad("'buffer', its name, bytes, begin and end");
      std::string word;
      if (words >> word && word == "reserved_from") {
        if (!(words >> buffer.reservedFrom))
          return bad("an instant after 'reserved_from'");
        words >> word;
      }
      std::uint64_t offset = 0;
      if (words && std::from_chars(word.data(), word.data() + word.size(), offset).ec == std::errc())
        read.offsets.push_back(offset);
      problem.buffers.push_back(std::move(buffer));
    } else if (kind == "height") {
      if (!(words >> read.height))
        return bad("'height' and a number");
    } else {
      return bad("alignment, buffer or height");
    }
  }
  if (solution)
    *solution = std::move(read);
  return problem;
}

} // namespace sluice
