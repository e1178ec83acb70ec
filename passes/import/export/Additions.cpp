//===- Additions.cpp - what sluice.torch.export adds to an archive -------------------------===//

#include "passes/import/export/Additions.h"

#include "passes/import/export/Members.h"
#include "runtime/base/JsonDepth.h"

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::exported;

static constexpr const char *entryName = "sluice.json";

/// Strings of an array; no value for anything else.
static std::optional<std::vector<std::string>> stringsOf(const nlohmann::json &list) {
  std::vector<std::string> strings;
  for (const nlohmann::json &each : list) {
    const std::optional<llvm::StringRef> text = asString(&each);
    if (!text)
      return std::nullopt;
    strings.push_back(text->str());
  }
  return list.is_array() ? std::optional(std::move(strings)) : std::nullopt;
}

/// False for a member of another type; a missing one is empty.
static bool readMembers(const nlohmann::json &json, Additions &additions) {
  if (const nlohmann::json *ties = getMember(&json, "ties")) {
    if (!ties->is_array())
      return false;
    for (const nlohmann::json &names : *ties) {
      std::optional<std::vector<std::string>> group = stringsOf(names);
      if (!group)
        return false;
      additions.ties.push_back(std::move(*group));
    }
  }
  if (const nlohmann::json *paths = getMember(&json, "checkpoints")) {
    std::optional<std::vector<std::string>> list = stringsOf(*paths);
    if (!list)
      return false;
    additions.checkpoints = std::move(*list);
  }
  if (const nlohmann::json *detached = getMember(&json, "detached")) {
    if (!detached->is_boolean())
      return false;
    additions.isDetached = detached->get<bool>();
  }
  if (const nlohmann::json *batch = getMember(&json, "batch")) {
    additions.batch = asInteger(batch);
    return additions.batch && *additions.batch >= 1;
  }
  return true;
}

Result<Additions> exported::readAdditions(const Pt2Archive &archive) {
  Additions additions;
  SLUICE_ASSIGN_OR_RETURN(const std::optional<std::string> text, archive.extra(entryName));
  if (!text)
    return additions;
  const auto failed = [&](const std::string &why) {
    return inputError(concat(archive.path(), ": extra/", entryName, ": ", why));
  };
  if (nestsTooDeep(*text))
    return failed(concat("nests more than ", deepestJson, " objects and arrays"));
  const auto json = parseJson<nlohmann::json>(*text);
  if (!json.is_object())
    return failed("expected a JSON object");
  if (const std::int64_t version = getInteger(&json, "version").value_or(0); version != 1)
    return failed(concat("version ", version, ", expected 1"))
        .withNote("another version of sluice.torch.export wrote the archive: export it again");
  if (!readMembers(json, additions))
    return failed("a member of another type than sluice.torch.export writes");
  return additions;
}
