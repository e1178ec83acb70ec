//===- CheckpointFuzz.cpp - reads any bytes as the JSON files of a training checkpoint -----===//
//
// The index is read unchanged, and with the digest that it has.
//
//===----------------------------------------------------------------------------------===//
#include "Fuzz.h"

#include "runtime/base/DigestStream.h"
#include "runtime/base/Json.h"
#include "runtime/checkpoint/Index.h"
#include "runtime/checkpoint/TrainingState.h"

#include <nlohmann/json.hpp>

using namespace sluice;

namespace {

void openIndex(std::string_view text) {
  Result<CheckpointIndex> index = parseIndex("fuzz", text);
  if (!index.isOk())
    return fuzz::claimReported(index.status());
  const std::string written = formatIndex(*index);
  Result<CheckpointIndex> again = parseIndex("again", written);
  fuzz::claim(again.isOk(), "the written index cannot be read: " + again.status().message());
  fuzz::claim(formatIndex(*again) == written, "the written index is read differently");
}

/// Sets the digest in the text to the digest of the text.
std::string seal(std::string text) {
  const auto json = parseJson<nlohmann::json>(text);
  const auto metadata = json.find("metadata");
  if (metadata == json.end() || !metadata->is_object() || !metadata->contains("digest"))
    return text;
  const auto *digest = metadata->find("digest")->get_ptr<const std::string *>();
  const std::size_t at = digest && digest->size() == DigestStream::digits ? text.find(*digest) : std::string::npos;
  if (at == std::string::npos)
    return text;
  text.replace(at, DigestStream::digits, DigestStream::digits, '0');
  return text.replace(at, DigestStream::digits, digestOf(text));
}

void openState(std::string_view text) {
  const Result<TrainingState> state = parseState("fuzz", text);
  if (!state.isOk())
    return fuzz::claimReported(state.status());
  const std::string written = formatState(*state);
  const Result<TrainingState> again = parseState("again", written);
  fuzz::claim(again.isOk() && formatState(*again) == written, "the written state is read differently");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string text(fuzz::textOf(data, size));
  openIndex(text);
  // A state has no digest of itself.
  if (const std::string sealed = seal(text); sealed != text)
    openIndex(sealed);
  else
    openState(text);
  return 0;
}
