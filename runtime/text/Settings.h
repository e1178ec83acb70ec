//===- Settings.h - the files beside a tokenizer's main file ---------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_SETTINGS_H
#define SLUICE_RUNTIME_TEXT_SETTINGS_H

#include "runtime/text/Tokenizer.h"

namespace sluice::text {

/// Reads tokenizer_config.json, special_tokens_map.json, added_tokens.json and chat_template.jinja of a folder, if they
/// exist. As in transformers, special_tokens_map.json takes precedence for tokens unless tokenizer_config.json has
/// added_tokens_decoder, which replaces it and added_tokens.json. chat_template.jinja takes precedence for the
/// template. Appends the paths to `files` and the contents to `contents`.
Result<TokenizerSettings> readSettings(const std::string &folder, std::vector<std::string> &files,
                                       std::vector<std::string> &contents);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_SETTINGS_H
