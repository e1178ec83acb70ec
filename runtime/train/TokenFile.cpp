//===- TokenFile.cpp - the token ids of one file -----------------------------------===//
#include "runtime/train/TokenFile.h"
#include "runtime/train/Npy.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <vector>

namespace sluice {

/// llm.c's header: 256 int32, of which the first three are magic, version and number of tokens.
static constexpr std::uint64_t headerBytes = 256 * 4;

/// Number of tokens that writeTokenFile() converts at once.
static constexpr std::size_t convertedAtOnce = 1 << 16;

static Result<TokenFile> openLlmc(InputFile file) {
  const std::string path = file.path();
  std::int32_t head[3] = {};
  if (file.size() >= sizeof head)
    SLUICE_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(head))));
  if (!isTokenFileMagic(head[0]))
    return inputError(fmt::format("'{}' is not a token file of llm.c: its first 4 bytes are neither 20240520 nor "
                                  "20240801",
                                  path));
  const bool isWide = head[0] == 20240801;
  const std::int32_t version = isWide ? 7 : 1;
  const std::uint64_t width = isWide ? 4 : 2;
  if (head[1] != version)
    return inputError(fmt::format("'{}': version of the token file, expected {} but got {}", path, version, head[1]));
  if (file.size() < headerBytes)
    return inputError(
        fmt::format("'{}': header of the token file, expected {} bytes but got {}", path, headerBytes, file.size()));
  const std::uint64_t count = static_cast<std::uint32_t>(head[2]);
  if (file.size() - headerBytes != count * width)
    return inputError(fmt::format("'{}': size of the token file, expected {} bytes for the {} tokens of its header "
                                  "but got {}",
                                  path, headerBytes + count * width, count, file.size()));
  return TokenFile{std::move(file), DataFormat::llmc, headerBytes, width, false, count};
}

Status writeTokenFile(const std::string &path, std::span<const std::int32_t> ids) {
  const bool isNarrow = std::ranges::all_of(ids, [](std::int32_t id) { return id <= UINT16_MAX; });
  const std::int32_t header[headerBytes / 4] = {isNarrow ? 20240520 : 20240801, isNarrow ? 1 : 7,
                                                static_cast<std::int32_t>(ids.size())};
  SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  SLUICE_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(header))));
  std::vector<std::uint16_t> narrow;
  for (std::size_t at = 0; isNarrow && at < ids.size(); at += convertedAtOnce) {
    const auto part = ids.subspan(at, std::min(convertedAtOnce, ids.size() - at));
    narrow.assign(part.begin(), part.end());
    SLUICE_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(narrow))));
  }
  if (!isNarrow)
    SLUICE_RETURN_IF_ERROR(file.write(std::as_bytes(ids)));
  return file.commit();
}

static Result<TokenFile> openIds(InputFile file, DataFormat format, std::uint64_t width) {
  if (file.size() % width != 0)
    return inputError(fmt::format("'{}': size of a file of {} token ids, expected a multiple of {} bytes but got {}",
                                  file.path(), dataFormatName(format), width, file.size()));
  const std::uint64_t count = file.size() / width;
  return TokenFile{std::move(file), format, 0, width, false, count};
}

Result<TokenFile> TokenFile::open(const std::string &path, DataFormat format, std::uint64_t vocabulary) {
  SLUICE_ASSIGN_OR_RETURN(InputFile file, InputFile::open(path));
  if (file.size() == 0)
    return inputError(fmt::format("'{}' is empty, expected a token file or text", path));
  if (format == DataFormat::automatic) {
    SLUICE_ASSIGN_OR_RETURN(format, detectDataFormat(file, vocabulary));
  }
  switch (format) {
  case DataFormat::llmc:
    return openLlmc(std::move(file));
  case DataFormat::npy: {
    SLUICE_ASSIGN_OR_RETURN(const NpyArray array, readNpyHeader(file));
    return TokenFile{std::move(file), format, array.begin, array.width, array.isSigned, array.count};
  }
  case DataFormat::u16:
    return openIds(std::move(file), format, 2);
  case DataFormat::u32:
    return openIds(std::move(file), format, 4);
  case DataFormat::text:
    if (vocabulary == 0 || vocabulary > byteValues)
      return bytesAreNoTokens(path, format, vocabulary);
    return openIds(std::move(file), format, 1);
  case DataFormat::bytes:
    return openIds(std::move(file), format, 1);
  case DataFormat::messages:
  case DataFormat::sharegpt:
  case DataFormat::alpaca:
    return inputError(fmt::format("'{}' has conversations or other JSON, which is not read without a tokenizer", path))
        .withNote("pass --tokenizer, or --data-format text to read the JSON as text");
  case DataFormat::automatic:
  case DataFormat::safetensors:
    break;
  }
  return internalError(fmt::format("'{}' opened as a token file of the format {}", path, dataFormatName(format)));
}

Status TokenFile::read(std::uint64_t first, std::span<std::int32_t> out, std::uint64_t vocabulary,
                       std::span<std::byte> bytes) const {
  bytes = bytes.first(out.size() * width);
  SLUICE_RETURN_IF_ERROR(file.readAt(begin + first * width, bytes));
  // Tokens are int32 even if the vocabulary has no bound.
  const std::int64_t limit = vocabulary != 0 ? static_cast<std::int64_t>(vocabulary) : std::int64_t(INT32_MAX) + 1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int64_t token = 0;
    std::memcpy(&token, bytes.data() + i * width, width);
    if (isSigned && width == 4)
      token = static_cast<std::int32_t>(token);
    if (token < 0 || token >= limit)
      return inputError(fmt::format("'{}': token {} of the file is outside the vocabulary, expected 0 to {} but got {}",
                                    file.path(), first + i, limit - 1, token));
    out[i] = static_cast<std::int32_t>(token);
  }
  return Status::ok();
}

} // namespace sluice
