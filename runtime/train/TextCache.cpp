//===- TextCache.cpp - text data as token files ----------------------------------------===//
#include "runtime/train/TextCache.h"
#include "runtime/base/DigestStream.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"
#include "runtime/train/ChatData.h"
#include "runtime/train/TokenFile.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>
#include <sys/file.h>

namespace sluice {

namespace fs = std::filesystem;

/// ICU and sentencepiece count bytes in 32 bits. The ids of such a text fit in the header of a token file.
static constexpr std::uint64_t largestText = std::uint64_t(1) << 31;

/// Of the file with lines about a cached file.
static constexpr const char *notesSuffix = ".notes";

std::optional<DataFormat> textFormat(const std::string &path, DataFormat format) {
  const auto isText = [](DataFormat found) { return found == DataFormat::text || isConversations(found); };
  if (!isFile(path))
    return std::nullopt;
  if (format != DataFormat::automatic)
    return isText(format) ? std::optional(format) : std::nullopt;
  // A file that cannot be read, or of which the format is ambiguous, is an error of the data.
  const Result<InputFile> file = InputFile::open(path);
  const Result<DataFormat> found = file.isOk() ? detectDataFormat(*file, 0) : file.status();
  return found.isOk() && isText(*found) ? std::optional(*found) : std::nullopt;
}

namespace {

/// Held while this process writes to the folder. Two writers would only do the same work twice: without locks on the
/// file system both go on.
class FolderLock {
public:
  explicit FolderLock(const std::string &folder)
      : descriptor(::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    while (descriptor.isOpen() && ::flock(descriptor.get(), LOCK_EX) != 0 && errno == EINTR)
      ;
  }

private:
  Descriptor descriptor;
};

} // namespace

/// The file with the digest of a cached file, which is written after it.
static std::string digestPath(const std::string &file) { return file + ".digest"; }

/// Of every byte: XXH3 is faster than reading the file.
static Result<std::string> digestOfFile(const std::string &path) {
  constexpr std::uint64_t blockBytes = 1 << 20;
  SLUICE_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(path));
  DigestStream digest;
  std::vector<std::byte> block(blockBytes);
  for (std::uint64_t at = 0; at < file.size(); at += blockBytes) {
    const auto bytes = std::span(block).first(std::min(blockBytes, file.size() - at));
    SLUICE_RETURN_IF_ERROR(file.readAt(at, bytes));
    digest.add(bytes);
  }
  return digest.text();
}

/// True if the cached file has the bytes that were written.
static bool isCached(const std::string &file) {
  if (!isFile(file) || !isFile(digestPath(file)))
    return false;
  const Result<std::string> expected = readFile(digestPath(file)), found = digestOfFile(file);
  return expected.isOk() && found.isOk() && *expected == *found;
}

static Status writeDigest(const std::string &file) {
  SLUICE_ASSIGN_OR_RETURN(const std::string digest, digestOfFile(file));
  SLUICE_ASSIGN_OR_RETURN(OutputFile output, OutputFile::create(digestPath(file)));
  SLUICE_RETURN_IF_ERROR(output.write(digest));
  return output.commit();
}

namespace {

/// A text and how it becomes tokens.
struct Source {
  std::string path;
  DataFormat format;
  const ConversationOptions &options;
  Tokenizer &tokenizer;
  /// Of the rows of conversations; 0: these are kept as documents.
  std::uint64_t length;
};

} // namespace

static Result<std::string> cachedName(const Source &source) {
  std::error_code error;
  const fs::path canonical = fs::canonical(source.path, error);
  const auto time = fs::last_write_time(source.path, error).time_since_epoch().count();
  const std::uint64_t bytes = fs::file_size(source.path, error);
  if (error)
    return inputError(fmt::format("cannot read '{}': {}", source.path, error.message()));
  if (bytes > largestText)
    return inputError(fmt::format("'{}': size of the text, expected at most {} bytes but got {}", source.path,
                                  largestText, bytes))
        .withNote("split it into several files, for example with split --line-bytes=1G");
  std::string key =
      fmt::format("sluice text 2\n{}\n{}\n{}\n{}\n", canonical.string(), bytes, time, source.tokenizer.digest);
  if (isConversations(source.format))
    key +=
        fmt::format("{}\n{}\n{}\n{}\n{}\n", source.length, dataFormatName(source.format), source.options.skipsInvalid,
                    fmt::join(source.options.ignoredFields, "\n"), chatTimes(source.tokenizer));
  const Digest digest = sha256({reinterpret_cast<const std::uint8_t *>(key.data()), key.size()});
  return fmt::format("{}-{}.{}", canonical.stem().string(), toHex(digest).substr(0, 16),
                     isConversations(source.format) ? "safetensors" : "bin");
}

static Result<std::vector<std::int32_t>> tokenizeDocument(const std::string &path, Tokenizer &tokenizer) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path));
  std::vector<std::int32_t> ids;
  if (Status status = tokenizer.encode(text, /*special=*/true, ids); !status.isOk()) {
    Status named = inputError(fmt::format("'{}': {}", path, status.message()));
    for (const std::string &note : status.notes())
      named.addNote(note);
    return named;
  }
  if (tokenizer.eos && (ids.empty() || ids.back() != *tokenizer.eos))
    ids.push_back(*tokenizer.eos);
  return ids;
}

/// The lines about conversations that are left out.
static std::string leftOut(const Source &source, const ChatDocuments &chat) {
  constexpr std::size_t shown = 10;
  std::string text;
  if (chat.dropped != 0)
    text +=
        fmt::format("'{}' has {} conversations without an answer{}, which are left out\n", source.path, chat.dropped,
                    source.length != 0 ? fmt::format(" in their first {} tokens", source.length) : "");
  if (!chat.invalid.empty())
    text += fmt::format("'{}' has {} invalid conversations of {}, which are left out\n", source.path,
                        chat.invalid.size(), chat.invalid.size() + chat.ends.size() + chat.dropped);
  for (std::size_t i = 0; i < std::min(shown, chat.invalid.size()); ++i)
    text += fmt::format("left out: {}\n", chat.invalid[i]);
  if (chat.invalid.size() > shown)
    text += fmt::format("left out: {} more\n", chat.invalid.size() - shown);
  return text;
}

/// Writes the file of notes, if conversations are left out, and then the cached file. The result is the note for the
/// user.
static Result<std::string> tokenizeFile(const Source &source, const std::string &cached) {
  if (isConversations(source.format)) {
    SLUICE_ASSIGN_OR_RETURN(const ChatDocuments chat,
                            readChat(source.path, source.format, source.tokenizer, source.length, source.options));
    if (const std::string text = leftOut(source, chat); !text.empty()) {
      SLUICE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(cached + notesSuffix));
      SLUICE_RETURN_IF_ERROR(file.write(text));
      SLUICE_RETURN_IF_ERROR(file.commit());
    }
    if (source.length == 0) {
      SLUICE_RETURN_IF_ERROR(writeChatDocuments(cached, chat));
      return fmt::format("'{}' has {} conversations of {} tokens, which are kept in '{}'", source.path,
                         chat.ends.size(), chat.tokens.size(), cached);
    }
    SLUICE_RETURN_IF_ERROR(writeChatRows(cached, chat, source.length, source.tokenizer.eos.value_or(0)));
    return fmt::format("'{}' has {} conversations, which are kept as rows of {} tokens in '{}'", source.path,
                       chat.ends.size(), source.length, cached);
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::int32_t> ids, tokenizeDocument(source.path, source.tokenizer));
  SLUICE_RETURN_IF_ERROR(writeTokenFile(cached, ids));
  return fmt::format("'{}' has {} tokens, which are kept in '{}'", source.path, ids.size(), cached);
}

/// Tokenizes a text unless its cached file exists.
static Status completeCache(const Source &source, const std::string &folder, const std::string &cached,
                            const std::function<void(const std::string &)> &note) {
  if (isCached(cached))
    return Status::ok();
  if (Status writable = checkWritableFolder(folder); !writable.isOk())
    return std::move(writable).withNote("set XDG_CACHE_HOME to a folder that can be written, for tokenized text");
  const FolderLock lock(folder);
  if (isCached(cached))
    return Status::ok();
  SLUICE_ASSIGN_OR_RETURN(const std::string written, tokenizeFile(source, cached));
  SLUICE_RETURN_IF_ERROR(writeDigest(cached));
  note(written);
  return Status::ok();
}

Result<std::map<std::string, std::string>> tokenizeTexts(const std::vector<std::string> &paths, const DataFiles &given,
                                                         Tokenizer &tokenizer, std::uint64_t length,
                                                         const std::string &folder,
                                                         const std::function<void(const std::string &)> &note) {
  std::map<std::string, std::string> files;
  for (const std::string &path : paths) {
    const std::optional<DataFormat> format = textFormat(path, given.format);
    if (!format)
      continue;
    const Source source{path, *format, given.conversations, tokenizer, given.packing ? 0 : length};
    SLUICE_ASSIGN_OR_RETURN(const std::string name, cachedName(source));
    const std::string &cached = files[path] = fmt::format("{}/{}", folder, name);
    SLUICE_RETURN_IF_ERROR(completeCache(source, folder, cached, note));
    if (!isFile(cached + notesSuffix))
      continue;
    SLUICE_ASSIGN_OR_RETURN(const std::string notes, readFile(cached + notesSuffix));
    std::istringstream lines(notes);
    for (std::string line; std::getline(lines, line);)
      note(line);
  }
  return files;
}

} // namespace sluice
