//===- Message.h - how the tools word what went wrong ----------------------------===//
//
// The library prints nothing: these give the text, and a tool's main prints it and exits with the status's code.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_MESSAGE_H
#define SLUICE_RUNTIME_BASE_MESSAGE_H

#include "runtime/base/Status.h"

namespace sluice {

/// "error: <message>" and a line "note: <note>" for each note; the first word in red where `colour`.
std::string messageText(const Status &status, bool colour = false);

/// What is wrong with a command line, of a parser's sentence: lower case, no final period; names keep their capitals.
Status usageError(std::string sentence);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_MESSAGE_H
