//===- LocalTime.cpp - a local time as a text ------------------------------------------------===//
#include "tools/train/LocalTime.h"

#include <ctime>

namespace sluice {

static constexpr const char *format = "%Y-%m-%dT%H:%M:%S";

std::string localTimeText() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32] = {};
  std::strftime(text, sizeof text, format, &local);
  return text;
}

std::optional<std::int64_t> secondsOf(const std::string &text) {
  std::tm local{};
  local.tm_isdst = -1;
  const char *end = ::strptime(text.c_str(), format, &local);
  if (!end || *end != 0)
    return std::nullopt;
  return std::mktime(&local);
}

} // namespace sluice
