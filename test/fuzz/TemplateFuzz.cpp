//===- TemplateFuzz.cpp - reads any bytes as a chat template, and renders a conversation ---===//
#include "Fuzz.h"

#include "runtime/text/Jinja.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const Json variables = parseJson<Json>(
      R"({"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true, "messages": [
          {"role": "system", "content": "a b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})");
  const Result<text::JinjaNodes> nodes = text::parseJinja(fuzz::textOf(data, size));
  if (!nodes.isOk()) {
    fuzz::claimReported(nodes.status());
    return 0;
  }
  const Result<text::JinjaOutput> output = text::renderJinja(*nodes, variables, /*now=*/0);
  if (!output.isOk()) {
    fuzz::claimReported(output.status());
    return 0;
  }
  for (const text::Range &range : output->generated)
    fuzz::claim(range.begin <= range.end && range.end <= output->text.size(), "a marked part is outside the text");
  const Result<text::JinjaOutput> again = text::renderJinja(*nodes, variables, /*now=*/0);
  fuzz::claim(again.isOk() && again->text == output->text, "the conversation is rendered differently");
  return 0;
}
