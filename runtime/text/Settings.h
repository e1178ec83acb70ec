//===- Settings.h - the files beside a tokenizer's main file ---------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_SETTINGS_H
#define SLUICE_RUNTIME_TEXT_SETTINGS_H

#include "runtime/text/Tokenizer.h"

namespace sluice::text {

/// Reads tokenizer_config.json, special_tokens_map.json and chat_template.jinja of a folder, if they exist. The first
/// takes precedence for tokens, the last for the template. Appends their paths to `files` and their contents to
/// `contents`.
Result<TokenizerSettings> readSettings(const std::string &folder, std::vector<std::string> &files,
                                       std::vector<std::string> &contents);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_SETTINGS_H
