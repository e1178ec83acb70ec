//===- Message.h - how the tools word what went wrong ----------------------------===//
//
// The library prints nothing: these give the text, and a tool's main prints it and exits with the status's code.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_MESSAGE_H
#define SLUICE_RUNTIME_BASE_MESSAGE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// "error: <message>" and a line "note: <note>" for each note; the first word in red where `colour`.
std::string messageText(const Status &status, bool colour = false);

/// What is wrong with a command line, of CLI11's sentence: worded as all errors are; names keep their capitals.
Status usageError(std::string sentence);

/// What `--version` prints: the tool's name and the version of Sluice.
std::string versionText(std::string_view tool);

/// Why a text is no whole number from `least` on, as CLI11's checks answer: empty where it is one. Its own conversion
/// takes "-5" for a very large number.
std::string whyNoWholeNumber(std::string_view text, std::uint64_t least);

/// Likewise why a text is no path: an option of an unset variable of a shell is not one that was left out.
std::string whyNoPath(const std::string &text);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_MESSAGE_H
