//===- DataFormat.h - the formats of data files ------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_DATAFORMAT_H
#define SLUICE_RUNTIME_TRAIN_DATAFORMAT_H

#include "runtime/base/File.h"
#include "runtime/train/Packing.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class DataFormat {
  /// Each file has the format that detectDataFormat() finds.
  automatic,
  /// One token per byte.
  bytes,
  /// Token ids of 16 or 32 bits without a header (nanoGPT's train.bin).
  u16,
  u32,
  /// llm.c's .bin.
  llmc,
  /// numpy's .npy, one-dimensional.
  npy,
  /// A tensor for each input of the model.
  safetensors,
  /// Text. Without a tokenizer each byte is a token.
  text,
  /// Conversations in JSON, which a tokenizer turns into rows (Conversations.h): with `messages`, those of ShareGPT
  /// with
  /// `conversations`, those of Alpaca with `instruction` and `output`.
  messages,
  sharegpt,
  alpaca,
};

/// How conversations are read.
struct ConversationOptions {
  /// Conversations that cannot be used are left out and named.
  bool skipsInvalid = false;
  /// Members of rows and messages that are not read.
  std::vector<std::string> ignoredFields;
};

/// The token that divides token ids into documents.
struct DocumentDelimiter {
  std::int32_t token = 0;
  /// It is the first token of a document; otherwise the last one.
  bool begins = false;
};

/// How documents are put into rows (PackedData).
struct PackingOptions {
  /// Each row has one document; otherwise as many as fit.
  bool isSeparate = false;
  /// Of rows of one document: only documents of more than this number of tokens, and the tokens of the longest rows; 0:
  /// of these rows.
  std::uint64_t over = 0, longest = 0;
  LongDocuments longDocuments = LongDocuments::split;
  /// Of all files but conversations; nullopt: a text is one document, and a file of token ids has `end`.
  std::optional<DocumentDelimiter> delimiter = {};
  /// The tokenizer's end-of-text token; nullopt: unknown.
  std::optional<std::int32_t> end = {};
  /// Key of the order in which documents are packed.
  std::uint64_t seed = 0;
};

/// How the files of data are read.
struct DataFiles {
  /// Of all files.
  DataFormat format = DataFormat::automatic;
  /// The files that are read for texts, by the path of the text (TextCache.h).
  std::map<std::string, std::string> tokenized;
  ConversationOptions conversations = {};
  /// nullopt: rows are cut from the data, or are those of the files.
  std::optional<PackingOptions> packing = {};
};

/// "auto", "bytes", "u16", "u32", "llmc", "npy", "safetensors", "text", "messages", "sharegpt", "alpaca", in the order
/// of the enum.
const std::vector<std::string> &dataFormatNames();
std::string_view dataFormatName(DataFormat format);
std::optional<DataFormat> dataFormatOf(std::string_view name);

/// True if the file is a safetensors file by its name.
bool hasSafetensorsName(const std::string &path);

/// True for a format of conversations.
inline bool isConversations(DataFormat format) { return format >= DataFormat::messages; }

/// The format of a file by its name and its first bytes: safetensors, llmc, npy, messages or text; bytes if it is none
/// of these and the vocabulary has at most 256 entries. `messages` is any JSON by its name, and any file that begins
/// with an object of conversations. Errors that name --data-format: a container such as a zip archive, a file that may
/// be bytes or token ids without a header, and any other file for a larger vocabulary. `vocabulary`: exclusive upper
/// bound of a token; 0: unbounded.
Result<DataFormat> detectDataFormat(const InputFile &file, std::uint64_t vocabulary);

/// The error for a file whose bytes are not the tokens of this vocabulary, which has more than 256 entries or no bound.
Status bytesAreNoTokens(const std::string &path, DataFormat format, std::uint64_t vocabulary);

/// The largest vocabulary for which a file is read as bytes unless --data-format says so.
inline constexpr std::uint64_t byteValues = 256;

/// True for the first number of an llm.c header.
bool isTokenFileMagic(std::int32_t number);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_DATAFORMAT_H
