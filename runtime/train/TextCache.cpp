//===- TextCache.cpp - text data as token files ----------------------------------------===//
#include "runtime/train/TextCache.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"
#include "runtime/train/ChatData.h"
#include "runtime/train/TokenFile.h"

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <sys/file.h>

namespace sluice {

namespace fs = std::filesystem;

/// ICU and sentencepiece count bytes in 32 bits. The ids of such a text fit in the header of a token file.
static constexpr std::uint64_t largestText = std::uint64_t(1) << 31;

bool isTextSource(const std::string &path, DataFormat format) {
  if (!isFile(path) || format != DataFormat::automatic)
    return isFile(path) && format == DataFormat::text;
  // A file that cannot be read, or of which the format is ambiguous, is an error of the data.
  const Result<InputFile> file = InputFile::open(path);
  const Result<DataFormat> found = file.isOk() ? detectDataFormat(*file, 0) : file.status();
  return found.isOk() && *found == DataFormat::text;
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

static bool isChat(const std::string &path) { return path.ends_with(".jsonl"); }

static Result<std::string> cachedName(const std::string &path, const Tokenizer &tokenizer, std::uint64_t length) {
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  const auto time = fs::last_write_time(path, error).time_since_epoch().count();
  const std::uint64_t bytes = fs::file_size(path, error);
  if (error)
    return inputError(fmt::format("cannot read '{}': {}", path, error.message()));
  if (bytes > largestText)
    return inputError(
               fmt::format("'{}': size of the text, expected at most {} bytes but got {}", path, largestText, bytes))
        .withNote("split it into several files, for example with split --line-bytes=1G");
  const std::string key = fmt::format("sluice text 2\n{}\n{}\n{}\n{}\n{}\n", canonical.string(), bytes, time,
                                      tokenizer.digest, isChat(path) ? length : 0);
  const Digest digest = sha256({reinterpret_cast<const std::uint8_t *>(key.data()), key.size()});
  return fmt::format("{}-{}.{}", canonical.stem().string(), toHex(digest).substr(0, 16),
                     isChat(path) ? "safetensors" : "bin");
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

/// Writes the cached file of a text; the note about it.
static Result<std::string> tokenizeFile(const std::string &path, const std::string &cached, Tokenizer &tokenizer,
                                        std::uint64_t length) {
  if (isChat(path)) {
    SLUICE_ASSIGN_OR_RETURN(const ChatRows rows, readChat(path, tokenizer, length));
    SLUICE_RETURN_IF_ERROR(writeChatRows(cached, rows, length));
    return fmt::format(
        "'{}' has {} conversations of at most {} tokens, and {} without an answer in these, which are left "
        "out; they are kept in '{}'",
        path, rows.count, length, rows.dropped, cached);
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::int32_t> ids, tokenizeDocument(path, tokenizer));
  SLUICE_RETURN_IF_ERROR(writeTokenFile(cached, ids));
  return fmt::format("'{}' has {} tokens, which are kept in '{}'", path, ids.size(), cached);
}

Result<std::map<std::string, std::string>> tokenizeTexts(const std::vector<std::string> &paths, DataFormat format,
                                                         Tokenizer &tokenizer, std::uint64_t length,
                                                         const std::string &folder,
                                                         const std::function<void(const std::string &)> &note) {
  std::map<std::string, std::string> files;
  for (const std::string &path : paths) {
    if (!isTextSource(path, format))
      continue;
    SLUICE_ASSIGN_OR_RETURN(const std::string name, cachedName(path, tokenizer, length));
    const std::string &file = files[path] = folder + "/" + name;
    if (isFile(file))
      continue;
    if (Status writable = checkWritableFolder(folder); !writable.isOk())
      return std::move(writable).withNote("set XDG_CACHE_HOME to a folder that can be written, for tokenized text");
    const FolderLock lock(folder);
    if (isFile(file))
      continue;
    SLUICE_ASSIGN_OR_RETURN(const std::string written, tokenizeFile(path, file, tokenizer, length));
    note(written);
  }
  return files;
}

} // namespace sluice
