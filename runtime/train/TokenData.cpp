//===- TokenData.cpp - the tokens of several files as sequences --------------------===//
#include "runtime/train/TokenData.h"

#include <algorithm>
#include <fmt/format.h>
#include <glob.h>

namespace sluice {

/// Number of tokens that open() checks in one read.
static constexpr std::uint64_t checkedAtOnce = 1 << 16;

static bool isGlob(const std::string &text) { return text.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> expandGlobs(const std::vector<std::string> &sources) {
  std::vector<std::string> paths;
  for (const std::string &source : sources) {
    glob_t found{};
    if (isGlob(source) && ::glob(source.c_str(), 0, nullptr, &found) == 0)
      paths.insert(paths.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    else
      paths.push_back(source);
    ::globfree(&found);
  }
  return paths;
}

Result<TokenData> TokenData::open(const std::vector<std::string> &sources, const TokenShape &shape, DataFormat format) {
  TokenData data;
  data.shape = shape;
  data.row.resize(shape.sequence + 1);
  std::vector<std::string> paths = expandGlobs(sources);
  std::uint64_t total = 0;
  for (const std::string &path : paths) {
    SLUICE_ASSIGN_OR_RETURN(TokenFile file, TokenFile::open(path, format, shape.vocabulary));
    data.raw.resize(std::max<std::size_t>(data.raw.size(), std::max(checkedAtOnce, shape.sequence + 1) * file.width));
    SLUICE_RETURN_IF_ERROR(data.checkVocabulary(file));
    const std::uint64_t before = total;
    total += file.count;
    data.files.push_back({std::move(file), before});
  }
  data.sequenceCount = total == 0 || shape.sequence == 0 ? 0 : (total - 1) / shape.sequence;
  if (data.sequenceCount < std::max<std::uint64_t>(shape.rows, 1)) {
    std::string names = paths.empty() ? "" : fmt::format("'{}'", paths[0]);
    if (paths.size() > 1)
      names += fmt::format(" and {} more", paths.size() - 1);
    return inputError(fmt::format("data {} are too short, expected at least {} x {} + 1 tokens but got {}", names,
                                  shape.rows, shape.sequence, total));
  }
  return data;
}

std::string TokenData::formats() const {
  std::string text;
  for (auto at = files.begin(); at != files.end(); ++at) {
    const auto isSame = [&](const Source &other) { return other.file.format == at->file.format; };
    if (std::none_of(files.begin(), at, isSame))
      text += fmt::format("{}{}", text.empty() ? "" : ", ", dataFormatName(at->file.format));
  }
  return text;
}

Status TokenData::checkVocabulary(const TokenFile &file) {
  // A token of this width may always be less than the bound.
  bool unbounded = shape.vocabulary == 0;
  if (file.width < 4 && (unbounded || shape.vocabulary >= std::uint64_t(1) << (8 * file.width)))
    return Status::ok();
  std::vector<std::int32_t> buffer(static_cast<std::size_t>(std::min(file.count, checkedAtOnce)));
  for (std::uint64_t at = 0; at < file.count; at += checkedAtOnce) {
    std::uint64_t count = std::min(checkedAtOnce, file.count - at);
    SLUICE_RETURN_IF_ERROR(
        file.read(at, std::span(buffer).first(static_cast<std::size_t>(count)), shape.vocabulary, raw));
  }
  return Status::ok();
}

Status TokenData::read(std::uint64_t sequence, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) {
  std::uint64_t length = shape.sequence;
  if (tokens.size() != length || targets.size() != length || sequence >= sequenceCount)
    return internalError(fmt::format("sequence {} of {} read with rows of {}", sequence, sequenceCount, tokens.size()));
  std::uint64_t first = sequence * length, have = 0;
  for (const auto &[file, before] : files) {
    std::uint64_t at = first + have;
    if (have > length || at < before || at >= before + file.count)
      continue;
    std::uint64_t count = std::min(length + 1 - have, before + file.count - at);
    SLUICE_RETURN_IF_ERROR(file.read(at - before, std::span(row).subspan(have, count), shape.vocabulary, raw));
    have += count;
  }
  std::copy_n(row.begin(), length, tokens.begin());
  std::copy_n(row.begin() + 1, length, targets.begin());
  return Status::ok();
}

} // namespace sluice
