//===- Settings.cpp - the files beside a tokenizer's main file -------------------------------===//
#include "runtime/text/Settings.h"
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/text/Fields.h"

#include <fmt/format.h>

namespace sluice::text {

/// A token is a text, or an object with its content.
static void readToken(Fields &fields, std::string_view name, std::optional<std::string> &token) {
  const nlohmann::json *member = fields.find(name);
  if (!member || token)
    return;
  const nlohmann::json *content = member;
  if (member->is_object()) {
    const auto found = member->find("content");
    content = found == member->end() ? nullptr : &*found;
  }
  if (content && content->is_string())
    token = *content->get_ptr<const std::string *>();
  else
    fields.refuse(fmt::format("'{}', expected a token", name));
}

/// A template is a text, or a list of named texts of which "default" is used.
static void readChatTemplate(Fields &fields, std::string &text) {
  const nlohmann::json *member = fields.find("chat_template");
  if (!member)
    return;
  if (member->is_string()) {
    text = *member->get_ptr<const std::string *>();
    return;
  }
  for (const nlohmann::json &item : fields.array("chat_template")) {
    Fields named(item, fields.placeOf("chat_template"));
    if (named.text("name") == "default")
      text = named.text("template");
    if (!named.status().isOk())
      fields.refuse("'chat_template', expected a text, or objects with 'name' and 'template'");
  }
}

static std::optional<bool> readFlag(Fields &fields, std::string_view name) {
  return fields.find(name) ? std::optional(fields.flag(name, false)) : std::nullopt;
}

static Status readConfig(const std::string &text, const std::string &path, TokenizerSettings &settings) {
  const auto json = parseJson<nlohmann::json>(text);
  if (json.is_discarded())
    return inputError(fmt::format("'{}' is not JSON", path));
  Fields fields(json, fmt::format("'{}'", path));
  readToken(fields, "bos_token", settings.bosToken);
  readToken(fields, "eos_token", settings.eosToken);
  if (path.ends_with("/tokenizer_config.json")) {
    settings.addBos = readFlag(fields, "add_bos_token");
    settings.addEos = readFlag(fields, "add_eos_token");
    readChatTemplate(fields, settings.chatTemplate);
  }
  return fields.status();
}

Result<TokenizerSettings> readSettings(const std::string &folder, std::vector<std::string> &files,
                                       std::vector<std::string> &contents) {
  TokenizerSettings settings;
  for (const char *name : {"tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"}) {
    const std::string path = folder + "/" + name;
    if (!isFile(path))
      continue;
    SLUICE_ASSIGN_OR_RETURN(std::string text, readFile(path));
    if (path.ends_with(".jinja"))
      settings.chatTemplate = text;
    else
      SLUICE_RETURN_IF_ERROR(readConfig(text, path, settings));
    files.push_back(path);
    contents.push_back(std::move(text));
  }
  return settings;
}

} // namespace sluice::text
