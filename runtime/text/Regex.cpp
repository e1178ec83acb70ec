//===- Regex.cpp - the regular expressions of tokenizer.json, by PCRE2 -----------------===//
#include "runtime/text/Regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

namespace sluice::text {

struct Regex::Code {
  pcre2_code *pattern = nullptr;
  pcre2_match_context *context = nullptr;
  pcre2_jit_stack *stack = nullptr;

  ~Code() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_code_free(pattern);
  }
};

void Regex::Deleter::operator()(Code *code) const { delete code; }

static std::string libraryText(int error) {
  char message[256] = "";
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR *>(message), sizeof message);
  return message;
}

Result<Regex> Regex::compile(std::string_view pattern, const std::string &where) {
  Result<std::string> translated = translatePattern(pattern);
  if (!translated.isOk())
    return inputError(fmt::format("{}: {}", where, translated.status().message()));
  int error = 0;
  std::size_t offset = 0;
  Regex regex;
  regex.code.reset(new Code);
  Code &code = *regex.code;
  code.pattern = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()), translated->size(),
                               PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr);
  if (!code.pattern)
    return inputError(fmt::format("{}: regular expression '{}': {}", where, pattern, libraryText(error)));
  // Without JIT on this processor the matches are the same.
  (void)pcre2_jit_compile(code.pattern, PCRE2_JIT_COMPLETE);
  code.context = pcre2_match_context_create(nullptr);
  code.stack = pcre2_jit_stack_create(32 << 10, 16 << 20, nullptr);
  pcre2_jit_stack_assign(code.context, nullptr, code.stack);
  return regex;
}

Status Regex::match(std::string_view text, std::vector<Range> &matches) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(pcre2_match_data_create(1, nullptr),
                                                                                 &pcre2_match_data_free);
  const auto *bytes = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (std::size_t at = 0; at <= text.size();) {
    const int count = pcre2_match(code->pattern, bytes, text.size(), at, PCRE2_NO_UTF_CHECK, data.get(), code->context);
    if (count == PCRE2_ERROR_NOMATCH)
      break;
    if (count < 0)
      return inputError(
          fmt::format("the tokenizer's regular expression fails at byte {} of the text: {}", at, libraryText(count)));
    const std::size_t *found = pcre2_get_ovector_pointer(data.get());
    matches.push_back({found[0], found[1]});
    at = found[1];
    // After an empty match the next search begins at the next character.
    if (found[0] == found[1])
      do
        ++at;
      while (at < text.size() && (text[at] & 0xC0) == 0x80);
  }
  return Status::ok();
}

} // namespace sluice::text
