//===- StopTokens.cpp - the tokens that end a text, from a model's configuration ------===//
#include "runtime/train/StopTokens.h"
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/train/ModelFiles.h"

#include <nlohmann/json.hpp>

namespace sluice {

static Result<std::vector<std::int64_t>> readFrom(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path));
  const Json json = parseJson<Json>(text);
  if (!json.is_object())
    return inputError("'" + path + "', expected a JSON object");
  std::vector<std::int64_t> tokens;
  const auto found = json.find("eos_token_id");
  if (found == json.end() || found->is_null())
    return tokens;
  const Json list = found->is_array() ? *found : Json::array({*found});
  for (const Json &token : list) {
    const auto *id = token.get_ptr<const Json::number_integer_t *>();
    if (!id)
      return inputError("'" + path + "': eos_token_id, expected an integer or an array of integers");
    tokens.push_back(*id);
  }
  return tokens;
}

Result<std::vector<std::int64_t>> readStopTokens(const std::string &init) {
  for (const char *name : {"generation_config.json", "config.json"})
    if (const std::string path = findBeside(init, name); !path.empty())
      return readFrom(path);
  return std::vector<std::int64_t>();
}

} // namespace sluice
