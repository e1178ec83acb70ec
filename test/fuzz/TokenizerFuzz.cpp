//===- TokenizerFuzz.cpp - reads any bytes as a tokenizer.json, and encodes a text ---------===//
#include "Fuzz.h"

#include "runtime/text/TokenizerJson.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const Result<std::unique_ptr<Tokenizer>> tokenizer = text::readTokenizerJson(fuzz::textOf(data, size), "fuzz", {});
  if (!tokenizer.isOk()) {
    fuzz::claimReported(tokenizer.status());
    return 0;
  }
  for (const std::string_view sample :
       {"", "a", "The caf\xc3\xa9's 12  tokens,\n\tna\xc3\xafve \xf0\x9f\x98\x80 <s>"}) {
    std::vector<std::int32_t> ids, again;
    const Status status = (*tokenizer)->encode(sample, /*special=*/true, ids);
    if (!status.isOk()) {
      fuzz::claimReported(status);
      continue;
    }
    fuzz::claim((*tokenizer)->encode(sample, true, again).isOk() && again == ids, "the text is encoded differently");
    for (const std::int32_t id : ids)
      fuzz::claim(id >= 0 && std::uint64_t(id) < (*tokenizer)->vocabularySize(), "an id is outside the vocabulary");
    (void)(*tokenizer)->decode(ids, /*skipSpecial=*/false);
  }
  return 0;
}
