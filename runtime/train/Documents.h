//===- Documents.h - data as documents of any length --------------------------------===//
//
// Token files, which are divided at the tokens that begin or end a document; texts, each of which is one document
// unless such a token is given; conversations. The target of a token is the next one of its document, or none: -100.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_DOCUMENTS_H
#define SLUICE_RUNTIME_TRAIN_DOCUMENTS_H

#include "runtime/train/DataFormat.h"

#include <memory>

namespace sluice {

/// The target that a loss does not count.
inline constexpr std::int32_t ignoredTarget = -100;

/// The documents of one file.
class DocumentFile {
public:
  virtual ~DocumentFile() = default;
  /// Tokens of each document.
  virtual const std::vector<std::uint64_t> &lengths() const = 0;
  virtual std::string_view format() const = 0;
  /// Tokens and targets of a document from token `first` on; both spans have one size and end within the document.
  virtual Status read(std::uint64_t document, std::uint64_t first, std::span<std::int32_t> tokens,
                      std::span<std::int32_t> targets) = 0;
};

/// Opens a file for packing: `path` is that of the user, and `files` has its tokenized form, if it is a text. A token
/// file needs the token that divides it, unless it is the tokenized form of a text. `vocabulary`: exclusive upper bound
/// of a token; 0: unbounded. Errors: no token that divides it, a file of rows (safetensors), those of the file.
Result<std::unique_ptr<DocumentFile>> openDocuments(const std::string &path, const DataFiles &files,
                                                    std::uint64_t vocabulary);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_DOCUMENTS_H
