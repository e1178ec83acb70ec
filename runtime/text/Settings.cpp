//===- Settings.cpp - the files beside a tokenizer's main file -------------------------------===//
#include "runtime/text/Settings.h"
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/text/AddedTokens.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

namespace sluice::text {

/// A token is a text, or an object with its content.
static std::optional<AddedToken> readToken(Fields &fields, const nlohmann::json &value, std::string_view name) {
  AddedToken token;
  if (value.is_string()) {
    token.content = *value.get_ptr<const std::string *>();
  } else if (value.is_object() && value.contains("content")) {
    Fields item(value, fields.placeOf(name));
    token = readAddedToken(item, /*isSpecialByDefault=*/true);
    if (!item.status().isOk())
      fields.refuse(fmt::format("'{}', expected a token", name));
  } else {
    fields.refuse(fmt::format("'{}', expected a token", name));
    return std::nullopt;
  }
  token.field = name;
  return token;
}

/// The position of a member among those that name tokens: transformers adds the tokens in this order.
static std::ptrdiff_t orderOf(const std::string &name) {
  static constexpr std::array<std::string_view, 7> roles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                            "pad_token", "cls_token", "mask_token"};
  const bool isList = name == "additional_special_tokens" || name == "extra_special_tokens";
  return (std::ranges::find(roles, name) - roles.begin()) + (isList ? 1 : 0);
}

/// The tokens with a role replace those of an earlier file. `text` has the order of the members.
static void readNamedTokens(Fields &fields, const nlohmann::json &json, const std::string &text,
                            TokenizerSettings &settings) {
  const auto add = [&](const nlohmann::json &value, const std::string &name) {
    std::optional<AddedToken> token = readToken(fields, value, name);
    if (!token)
      return;
    if (name == "bos_token" || name == "eos_token")
      (name == "bos_token" ? settings.bosToken : settings.eosToken) = token->content;
    settings.namedTokens.push_back(std::move(*token));
  };
  const Json members = parseJson<Json>(text);
  for (const auto &[name, ordered] : members.items()) {
    const nlohmann::json &value = json[name];
    const bool isList = orderOf(name) > orderOf("x_token");
    const bool isToken = name == "bos_token" || name == "eos_token" ||
                         (name.ends_with("_token") && (value.is_string() || value.is_object()));
    if (value.is_null() || !(isList || isToken))
      continue;
    std::erase_if(settings.namedTokens, [&](const AddedToken &other) { return other.field == name; });
    if (isList && value.is_structured())
      for (const auto &item : value)
        add(item, name);
    else
      add(value, name);
  }
  std::ranges::stable_sort(settings.namedTokens, {}, [](const AddedToken &token) { return orderOf(token.field); });
}

/// The id of a member of added_tokens_decoder or added_tokens.json.
static void setId(Fields &fields, AddedToken &token, std::int64_t id) {
  if (id < 0 || id >= INT32_MAX)
    fields.refuse(fmt::format("id of the token '{}', expected a token id", token.content));
  token.id = static_cast<std::int32_t>(id);
}

static void readAddedTokensDecoder(Fields &fields, TokenizerSettings &settings) {
  for (const auto &[key, value] : fields.object("added_tokens_decoder").items()) {
    std::optional<AddedToken> token = readToken(fields, value, "added_tokens_decoder");
    if (!token)
      return;
    std::int64_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    setId(fields, *token, error == std::errc() && end == key.data() + key.size() ? id : -1);
    settings.addedTokens.push_back(std::move(*token));
  }
  std::ranges::sort(settings.addedTokens, {}, &AddedToken::id);
}

/// Tokens and their ids, as older versions of transformers wrote them.
static void readAddedTokensFile(Fields &fields, const nlohmann::json &json, TokenizerSettings &settings) {
  for (const auto &[content, value] : json.items()) {
    AddedToken token;
    token.content = content;
    token.field = "added_tokens.json";
    token.isSpecial =
        std::ranges::find(settings.namedTokens, content, &AddedToken::content) != settings.namedTokens.end();
    token.isNormalized = !token.isSpecial;
    setId(fields, token, value.is_number_integer() ? *value.get_ptr<const std::int64_t *>() : -1);
    settings.addedTokens.push_back(std::move(token));
  }
  std::ranges::sort(settings.addedTokens, {}, &AddedToken::id);
}

/// A template is a text, or a list of named texts of which "default" and "tool_use" are used.
static void readChatTemplate(Fields &fields, TokenizerSettings &settings) {
  const nlohmann::json *member = fields.find("chat_template");
  if (!member)
    return;
  if (member->is_string()) {
    settings.chatTemplate = *member->get_ptr<const std::string *>();
    return;
  }
  for (const nlohmann::json &item : fields.array("chat_template")) {
    Fields named(item, fields.placeOf("chat_template"));
    const std::string name = named.text("name");
    if (name == "default" || name == "tool_use")
      (name == "default" ? settings.chatTemplate : settings.toolTemplate) = named.text("template");
    if (!named.status().isOk())
      fields.refuse("'chat_template', expected a text, or objects with 'name' and 'template'");
  }
}

static std::optional<bool> readFlag(Fields &fields, std::string_view name) {
  return fields.find(name) ? std::optional(fields.flag(name, false)) : std::nullopt;
}

/// Members of tokenizer_config.json that change ids, in addition to tokens.
static void readAlgorithm(Fields &fields, TokenizerSettings &settings) {
  settings.addBos = readFlag(fields, "add_bos_token");
  settings.addEos = readFlag(fields, "add_eos_token");
  settings.splitsSpecialTokens = fields.flag("split_special_tokens", false);
  settings.addPrefixSpace = readFlag(fields, "add_prefix_space");
  // The class of Llama has no prefix after an added token unless its behavior is declared to be the older one.
  settings.className = fields.text("tokenizer_class", "");
  settings.prefixesEachText =
      fields.flag("legacy", !settings.className.starts_with("Llama") && !settings.className.starts_with("CodeLlama"));
  for (const auto &[name, member] :
       {std::pair("do_lower_case", "lowercase"), std::pair("strip_accents", "strip_accents"),
        std::pair("tokenize_chinese_chars", "handle_chinese_chars")})
    if (const std::optional<bool> flag = readFlag(fields, name))
      settings.normalizerFlags.emplace_back(member, *flag);
  if (const nlohmann::json *options = fields.find("sp_model_kwargs"); options && !options->empty())
    fields.refuse("'sp_model_kwargs' is not supported, because ids would be random");
}

static Status readConfig(const std::string &name, const std::string &text, const std::string &path,
                         TokenizerSettings &settings) {
  const auto json = parseJson<nlohmann::json>(text);
  if (json.is_discarded())
    return inputError(fmt::format("'{}' is not JSON", path));
  Fields fields(json, fmt::format("'{}'", path));
  SLUICE_RETURN_IF_ERROR(fields.status());
  if (name == "added_tokens.json") {
    readAddedTokensFile(fields, json, settings);
    return fields.status();
  }
  readNamedTokens(fields, json, text, settings);
  if (name == "tokenizer_config.json") {
    readAlgorithm(fields, settings);
    if (fields.find("added_tokens_decoder"))
      readAddedTokensDecoder(fields, settings);
    readChatTemplate(fields, settings);
  }
  return fields.status();
}

Result<TokenizerSettings> readSettings(const std::string &folder, std::vector<std::string> &files,
                                       std::vector<std::string> &contents) {
  TokenizerSettings settings;
  for (const std::string name :
       {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"}) {
    const std::string path = folder + "/" + name;
    // As transformers: added_tokens_decoder replaces the older files.
    const bool isReplaced =
        !settings.addedTokens.empty() && (name == "special_tokens_map.json" || name == "added_tokens.json");
    if (isReplaced || !isFile(path))
      continue;
    SLUICE_ASSIGN_OR_RETURN(std::string text, readFile(path));
    if (path.ends_with(".jinja")) {
      settings.chatTemplate = text;
      settings.toolTemplate.clear();
    } else {
      SLUICE_RETURN_IF_ERROR(readConfig(name, text, path, settings));
    }
    files.push_back(path);
    contents.push_back(std::move(text));
  }
  return settings;
}

} // namespace sluice::text
