//===- TextCache.h - text data as token files ------------------------------------------===//
//
// Text is tokenized once. Its ids are kept in a token file (TokenData.h) in a folder of the user, whose name depends on
// the path, size and modification time of the text and on the tokenizer. A second file has the digest of all ids
// (DigestStream.h): a text whose ids were changed is tokenized again. Files are written atomically; of several
// processes on a machine one writes and the others wait.
//
//===----------------------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_TEXTCACHE_H
#define SLUICE_RUNTIME_TRAIN_TEXTCACHE_H

#include "runtime/text/Tokenizer.h"
#include "runtime/train/DataFormat.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// The format of data that a tokenizer reads: a regular file of text or of conversations, by the declared format or by
/// detectDataFormat(). nullopt for other data.
std::optional<DataFormat> textFormat(const std::string &path, DataFormat format);

/// The token files of the texts among these paths, by the path of the text (DataFiles::tokenized). They are in
/// `folder`, which is created. A text is one document: its ids with the special tokens that the tokenizer adds to a
/// text, then EOS, if the tokenizer has one and it is not the last id already. `note` receives a line about each text
/// that was tokenized, and in each run lines about conversations that are left out. For conversations it is a file of
/// rows of `length` tokens, or of documents with DataFiles::packing (ChatData.h), which depends on the times that the
/// chat template reads too. Errors: a text of more than 2 GiB, a text that is not UTF-8, a folder that cannot be
/// written, those of conversations.
Result<std::map<std::string, std::string>> tokenizeTexts(const std::vector<std::string> &paths, const DataFiles &files,
                                                         Tokenizer &tokenizer, std::uint64_t length,
                                                         const std::string &folder,
                                                         const std::function<void(const std::string &)> &note);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_TEXTCACHE_H
