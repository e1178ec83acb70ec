//===- StreamDecoder.cpp - the text of ids that arrive one at a time -------------------===//
#include "runtime/text/StreamDecoder.h"

namespace sluice {

std::string StreamDecoder::take() {
  const std::string text = tokenizer.decode(ids, /*skipSpecial=*/false);
  std::string added = text.size() > prefix.size() ? text.substr(prefix.size()) : std::string();
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(known));
  known = ids.size();
  prefix = tokenizer.decode(ids, /*skipSpecial=*/false);
  return added;
}

std::string StreamDecoder::add(std::int32_t id) {
  ids.push_back(id);
  const std::string text = tokenizer.decode(ids, /*skipSpecial=*/false);
  if (text.size() <= prefix.size() || text.ends_with("\uFFFD"))
    return "";
  return take();
}

std::string StreamDecoder::finish() { return known == ids.size() ? "" : take(); }

} // namespace sluice
