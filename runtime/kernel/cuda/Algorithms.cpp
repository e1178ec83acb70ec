//===- Algorithms.cpp - measured choices of cuBLASLt's algorithms, kept in a file ------------------------------===//
#include "runtime/kernel/cuda/Algorithms.h"

#include "runtime/base/File.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace sluice::cuda {
namespace {

constexpr std::string_view firstLine = "sluice algorithms 1";
constexpr int wordCount = 8;

/// Parses all of a word as a number.
bool parse(const std::string &word, std::uint64_t &value, int base) {
  const char *const end = word.data() + word.size();
  return !word.empty() && std::from_chars(word.data(), end, value, base) == std::from_chars_result{end, std::errc()};
}

} // namespace

Status Algorithms::open(const AlgorithmsKey &requested) {
  std::lock_guard lock(mutex);
  if (isOpen) {
    if (requested == key)
      return {};
    return refusedError("devices of one run with measured algorithms, expected " + key.device + " but got " +
                        requested.device);
  }
  key = requested;
  std::error_code failure;
  if (!isRoot || !std::filesystem::exists(path, failure)) {
    isOpen = true;
    measuring = isRoot;
    return {};
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path, StatusCode::input, largestTextFile));
  SLUICE_RETURN_IF_ERROR(read(text));
  isOpen = true;
  return {};
}

Status Algorithms::read(const std::string &text) {
  std::istringstream lines(text);
  std::string line;
  int number = 0;
  const auto bad = [&](const std::string &expected) {
    return refusedError("algorithms '" + path + "' line " + std::to_string(number) + ", expected " + expected +
                        " but got '" + line.substr(0, 80) + "'");
  };
  const auto next = [&] {
    ++number;
    line.clear();
    return static_cast<bool>(std::getline(lines, line));
  };
  if (!next() || line != firstLine)
    return bad("'" + std::string(firstLine) + "'");
  const std::pair<std::string, const std::string *> head[] = {
      {"plan", &key.plan}, {"device", &key.device}, {"library", &key.library}};
  for (const auto &[name, expected] : head) {
    if (!next() || !line.starts_with(name + " "))
      return bad("'" + name + " ...'");
    const std::string kept = line.substr(name.size() + 1);
    if (kept != *expected && unused.empty())
      unused = "algorithms '" + path + "' are not used: expected " + name + " " + *expected + " but got " + kept;
  }
  while (next() && line.starts_with("product ")) {
    std::istringstream words(line.substr(8));
    std::string product, word;
    AlgorithmChoice choice;
    bool good = static_cast<bool>(words >> product >> word) && parse(word, choice.workspace, 10);
    for (int w = 0; w < wordCount; ++w)
      good = good && words >> word && parse(word, choice.algorithm.data[w], 16);
    if (!good || words >> word || !choices.emplace(product, choice).second)
      return bad("'product PROBLEM WORKSPACE' and " + std::to_string(wordCount) + " words, once a problem");
  }
  if (line != "end " + std::to_string(choices.size()))
    return bad("'end " + std::to_string(choices.size()) + "'");
  if (next())
    return bad("the end of the file");
  // Choices for a different plan, device or library are not used.
  if (!unused.empty())
    choices.clear();
  return {};
}

Result<std::optional<AlgorithmChoice>> Algorithms::choose(const std::string &product,
                                                          const std::function<Result<AlgorithmChoice>()> &measure) {
  std::lock_guard lock(mutex);
  if (isOpen && !isRoot)
    SLUICE_RETURN_IF_ERROR(receive());
  if (!isOpen || !unused.empty())
    return std::optional<AlgorithmChoice>();
  if (const auto known = choices.find(product); known != choices.end())
    return std::optional<AlgorithmChoice>(known->second);
  if (!isRoot)
    return std::optional<AlgorithmChoice>();
  if (!measuring)
    return refusedError("algorithms '" + path + "', expected product " + product + " but it is not there");
  SLUICE_ASSIGN_OR_RETURN(const AlgorithmChoice measured, measure());
  choices.emplace(product, measured);
  return std::optional<AlgorithmChoice>(measured);
}

/// The choices of rank 0, at the first call.
Status Algorithms::receive() {
  if (received)
    return {};
  received = true;
  std::string text;
  SLUICE_RETURN_IF_ERROR(share(text));
  return read(text);
}

std::string Algorithms::print() const {
  std::ostringstream text;
  text << firstLine << "\nplan " << key.plan << "\ndevice " << key.device << "\nlibrary " << key.library << "\n";
  for (const auto &[product, choice] : choices) {
    text << "product " << product << " " << std::dec << choice.workspace << std::hex;
    for (const std::uint64_t word : choice.algorithm.data)
      text << " " << word;
    text << "\n";
  }
  text << "end " << std::dec << choices.size() << "\n";
  return text.str();
}

Status Algorithms::finish() {
  std::lock_guard lock(mutex);
  if (!isRoot)
    return receive();
  const std::string text = print();
  if (share) {
    std::string sent = text;
    SLUICE_RETURN_IF_ERROR(share(sent));
  }
  if (!measuring)
    return {};
  const std::string partial = path + ".part";
  {
    std::ofstream file(partial, std::ios::binary | std::ios::trunc);
    file << text << std::flush;
    if (!file)
      return inputError("cannot write '" + partial + "'");
  }
  std::error_code failure;
  std::filesystem::rename(partial, path, failure);
  return failure ? inputError("cannot write '" + path + "': " + failure.message()) : Status::ok();
}

std::string Algorithms::whyUnused() const {
  std::lock_guard lock(mutex);
  return unused;
}

} // namespace sluice::cuda
