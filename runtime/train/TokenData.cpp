//===- TokenData.cpp - token files and byte files --------------------------------===//
#include "runtime/train/TokenData.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <glob.h>

namespace sluice {

/// llm.c's header: 256 int32, of which the first three are magic, version and number of tokens.
static constexpr std::uint64_t headerBytes = 256 * 4;

struct TokenFormat {
  std::int32_t magic;
  std::int32_t version;
  std::uint64_t width;
};
static constexpr TokenFormat formats[] = {{20240520, 1, 2}, {20240801, 7, 4}};

/// A file without a header is read as bytes if the vocabulary has at most this size.
static constexpr std::uint64_t byteValues = 256;

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

Result<TokenData::Source> TokenData::openSource(const std::string &path, std::uint64_t vocabulary) {
  SLUICE_ASSIGN_OR_RETURN(InputFile file, InputFile::open(path));
  if (file.size() == 0)
    return inputError(fmt::format("'{}' is empty, expected a token file or text", path));
  std::int32_t head[3] = {};
  if (file.size() >= sizeof head)
    SLUICE_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(head))));
  for (const TokenFormat &format : formats) {
    if (head[0] != format.magic)
      continue;
    if (head[1] != format.version)
      return inputError(
          fmt::format("'{}': version of the token file, expected {} but got {}", path, format.version, head[1]));
    if (file.size() < headerBytes)
      return inputError(
          fmt::format("'{}': header of the token file, expected {} bytes but got {}", path, headerBytes, file.size()));
    std::uint64_t count = static_cast<std::uint32_t>(head[2]);
    std::uint64_t data = file.size() - headerBytes;
    if (data != count * format.width)
      return inputError(fmt::format("'{}': size of the token file, expected {} bytes for the {} tokens of its header "
                                    "but got {}",
                                    path, headerBytes + count * format.width, count, file.size()));
    return Source{std::move(file), headerBytes, format.width, count, 0};
  }
  if (vocabulary == 0 || vocabulary > byteValues)
    return inputError(
               fmt::format(
                   "'{}' is neither a token file nor a safetensors file, and its bytes cannot be the tokens of {}",
                   path,
                   vocabulary ? fmt::format("a vocabulary of {}", vocabulary)
                              : "a model without the size of its vocabulary"))
        .withNote(
            "write the token ids to a token file; --data-format and --tokenizer are not implemented in this version");
  std::uint64_t count = file.size();
  return Source{std::move(file), 0, 1, count, 0};
}

Result<TokenData> TokenData::open(const std::vector<std::string> &sources, const TokenShape &shape) {
  TokenData data;
  data.shape = shape;
  data.row.resize(shape.sequence + 1);
  data.raw.resize(std::max(checkedAtOnce, shape.sequence + 1) * 4);
  std::vector<std::string> paths = expandGlobs(sources);
  std::uint64_t total = 0;
  for (const std::string &path : paths) {
    SLUICE_ASSIGN_OR_RETURN(Source source, openSource(path, shape.vocabulary));
    source.before = total;
    total += source.count;
    SLUICE_RETURN_IF_ERROR(data.checkVocabulary(source));
    data.files.push_back(std::move(source));
  }
  data.sequenceCount = total == 0 || shape.sequence == 0 ? 0 : (total - 1) / shape.sequence;
  if (data.sequenceCount < std::max<std::uint64_t>(shape.rows, 1)) {
    std::string names = paths.empty() ? "" : fmt::format("'{}'", paths[0]);
    if (paths.size() > 1)
      names += fmt::format(" and {} more", paths.size() - 1);
    return inputError(fmt::format("data {} are shorter than one batch, expected at least {} tokens ({} rows of {} and "
                                  "one more) but got {}",
                                  names, shape.rows * shape.sequence + 1, shape.rows, shape.sequence, total));
  }
  return data;
}

Status TokenData::checkVocabulary(const Source &source) {
  // A token of this width may always be less than the bound.
  bool unbounded = shape.vocabulary == 0;
  if (source.width < 4 && (unbounded || shape.vocabulary >= std::uint64_t(1) << (8 * source.width)))
    return Status::ok();
  std::vector<std::int32_t> buffer(static_cast<std::size_t>(std::min(source.count, checkedAtOnce)));
  for (std::uint64_t at = 0; at < source.count; at += checkedAtOnce) {
    std::uint64_t count = std::min(checkedAtOnce, source.count - at);
    SLUICE_RETURN_IF_ERROR(readTokens(source, at, std::span(buffer).first(static_cast<std::size_t>(count))));
  }
  return Status::ok();
}

Status TokenData::readTokens(const Source &source, std::uint64_t first, std::span<std::int32_t> out) {
  std::span<std::byte> bytes = std::span(raw).first(out.size() * source.width);
  SLUICE_RETURN_IF_ERROR(source.file.readAt(source.begin + first * source.width, bytes));
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint32_t token = 0;
    std::memcpy(&token, bytes.data() + i * source.width, source.width);
    // Tokens are int32 even if the vocabulary has no bound.
    if (token > INT32_MAX || (shape.vocabulary != 0 && token >= shape.vocabulary))
      return inputError(fmt::format("'{}': token {} of the file is outside the vocabulary, expected less than {} but "
                                    "got {}",
                                    source.file.path(), first + i,
                                    shape.vocabulary != 0 ? shape.vocabulary : std::uint64_t(INT32_MAX) + 1, token));
    out[i] = static_cast<std::int32_t>(token);
  }
  return Status::ok();
}

Status TokenData::read(std::uint64_t sequence, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) {
  std::uint64_t length = shape.sequence;
  if (tokens.size() != length || targets.size() != length || sequence >= sequenceCount)
    return internalError(fmt::format("sequence {} of {} read with rows of {}", sequence, sequenceCount, tokens.size()));
  std::uint64_t first = sequence * length, have = 0;
  for (const Source &source : files) {
    std::uint64_t at = first + have;
    if (have > length || at < source.before || at >= source.before + source.count)
      continue;
    std::uint64_t count = std::min(length + 1 - have, source.before + source.count - at);
    SLUICE_RETURN_IF_ERROR(readTokens(source, at - source.before, std::span(row).subspan(have, count)));
    have += count;
  }
  std::copy_n(row.begin(), length, tokens.begin());
  std::copy_n(row.begin() + 1, length, targets.begin());
  return Status::ok();
}

} // namespace sluice
