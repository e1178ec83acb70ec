//===- LocalTime.h - a local time as a text --------------------------------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_LOCALTIME_H
#define SLUICE_TOOLS_TRAIN_LOCALTIME_H

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

/// "2026-11-29T12:00:00", now.
std::string localTimeText();

/// The seconds since 1970 of such a text; nullopt for another text.
std::optional<std::int64_t> secondsOf(const std::string &text);

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_LOCALTIME_H
