//===- Message.h - the text of errors and versions ---------------------------------===//
//
// The library prints nothing: these give the text, and a tool's main prints it and exits with the status's code. A name
// in a message may come from a file of somebody else: the text is printable().
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_MESSAGE_H
#define SLUICE_RUNTIME_BASE_MESSAGE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

enum class Severity : std::uint8_t { error, warning };

/// "error: <message>" and a line "note: <note>" for each note; the first word in red, or magenta for a warning, where
/// `colour`.
std::string messageText(const Status &status, bool colour = false, Severity severity = Severity::error);

/// "note: <note>" and the end of the line.
std::string noteText(std::string_view note);

/// The text of `--version`: name of the tool and version of Sluice.
std::string versionText(std::string_view tool);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_MESSAGE_H
