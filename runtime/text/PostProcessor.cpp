//===- PostProcessor.cpp - the special tokens that tokenizer.json adds to a text ---------===//
#include "runtime/text/PostProcessor.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice::text {

static bool isTokenId(const nlohmann::json &json) {
  return json.is_number_integer() && json.get<std::int64_t>() >= 0 && json.get<std::int64_t>() <= INT32_MAX;
}

/// The ids of a special token of a template.
static Result<std::vector<TokenId>> idsOf(Fields &tokens, const std::string &name) {
  Fields token = tokens.child(name);
  std::vector<TokenId> ids;
  for (const nlohmann::json &id : token.array("ids")) {
    if (!isTokenId(id))
      token.refuse("'ids', expected token ids");
    else
      ids.push_back(id.get<TokenId>());
  }
  SLUICE_RETURN_IF_ERROR(tokens.status());
  SLUICE_RETURN_IF_ERROR(token.status());
  return ids;
}

std::uint64_t Surroundings::size() const {
  std::uint64_t size = 0;
  for (const std::vector<TokenId> *ids : {&before, &after})
    for (const TokenId id : *ids)
      size = std::max(size, static_cast<std::uint64_t>(id) + 1);
  return size;
}

static Result<Surroundings> readTemplate(Fields &fields) {
  Fields tokens = fields.child("special_tokens");
  const nlohmann::json &items = fields.array("single");
  SLUICE_RETURN_IF_ERROR(fields.status());
  Surroundings around;
  bool afterText = false;
  for (std::size_t i = 0; const nlohmann::json &json : items) {
    Fields item(json, fmt::format("{}[{}]", fields.placeOf("single"), i++));
    if (item.find("Sequence")) {
      if (afterText)
        item.refuse("the text is in the template twice");
      SLUICE_RETURN_IF_ERROR(item.status());
      afterText = true;
      continue;
    }
    Fields special = item.child("SpecialToken");
    const std::string name = special.text("id");
    SLUICE_RETURN_IF_ERROR(item.status());
    SLUICE_RETURN_IF_ERROR(special.status());
    SLUICE_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, idsOf(tokens, name));
    std::vector<TokenId> &list = afterText ? around.after : around.before;
    list.insert(list.end(), ids.begin(), ids.end());
  }
  return around;
}

/// The id of ["TOKEN", ID].
static TokenId readPair(Fields &fields, std::string_view name) {
  const nlohmann::json &pair = fields.array(name);
  if (pair.size() == 2 && isTokenId(pair[1]))
    return pair[1].get<TokenId>();
  fields.refuse(fmt::format("'{}', expected a token and its id", name));
  return 0;
}

Result<Surroundings> readPostProcessor(const nlohmann::json &json, const std::string &where) {
  Fields fields(json, where);
  const std::string type = fields.type();
  SLUICE_RETURN_IF_ERROR(fields.status());
  // ByteLevel changes only the offsets of tokens in the text.
  if (type == "ByteLevel")
    return Surroundings();
  if (type == "TemplateProcessing")
    return readTemplate(fields);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    Surroundings around{{readPair(fields, "cls")}, {readPair(fields, "sep")}};
    SLUICE_RETURN_IF_ERROR(fields.status());
    return around;
  }
  if (type == "Sequence") {
    const nlohmann::json &list = fields.array("processors");
    SLUICE_RETURN_IF_ERROR(fields.status());
    Surroundings around;
    for (std::size_t i = 0; const nlohmann::json &item : list) {
      SLUICE_ASSIGN_OR_RETURN(const Surroundings part,
                              readPostProcessor(item, fmt::format("{}[{}]", fields.placeOf("processors"), i++)));
      around.before.insert(around.before.begin(), part.before.begin(), part.before.end());
      around.after.insert(around.after.end(), part.after.begin(), part.after.end());
    }
    return around;
  }
  return unsupportedType(where, "post-processor", type,
                         "Sequence, ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing");
}

} // namespace sluice::text
