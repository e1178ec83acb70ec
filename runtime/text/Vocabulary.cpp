//===- Vocabulary.cpp - tokens and their ids ----------------------------------------------===//
#include "runtime/text/Vocabulary.h"

#include <fmt/format.h>

namespace sluice::text {

/// An untrusted file must not exhaust the memory by one large id; the largest vocabularies have about 2^18 tokens.
static constexpr std::int64_t idLimit = 1 << 24;

bool Vocabulary::add(std::string token, std::int64_t id) {
  if (id < 0 || id >= idLimit)
    return false;
  const auto index = static_cast<std::size_t>(id);
  const auto at = ids.insert_or_assign(std::move(token), static_cast<TokenId>(id)).first;
  if (index >= tokens.size())
    tokens.resize(index + 1);
  tokens[index] = &at->first;
  return true;
}

Vocabulary Vocabulary::read(Fields &fields, std::string_view name) {
  Vocabulary vocabulary;
  const nlohmann::json &members = fields.object(name);
  vocabulary.ids.reserve(members.size());
  for (const auto &[token, id] : members.items()) {
    const std::int64_t number = id.is_number_integer() ? *id.get_ptr<const std::int64_t *>() : -1;
    if (!vocabulary.add(token, number)) {
      fields.refuse(fmt::format("id of token '{}', expected an integer from 0 to {}", token, idLimit - 1));
      break;
    }
  }
  return vocabulary;
}

std::optional<TokenId> Vocabulary::find(std::string_view token) const {
  const auto found = ids.find(token);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

const std::string *Vocabulary::token(TokenId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < tokens.size() ? tokens[static_cast<std::size_t>(id)] : nullptr;
}

std::optional<std::vector<TokenId>> Vocabulary::bytesOf(std::string_view text) const {
  std::vector<TokenId> found;
  for (const char c : text) {
    const std::optional<TokenId> id = find(fmt::format("<0x{:02X}>", static_cast<std::uint8_t>(c)));
    if (!id)
      return std::nullopt;
    found.push_back(*id);
  }
  return found;
}

} // namespace sluice::text
