//===- Symbols.h - the sizes of a dynamic archive --------------------------------------===//
//
// A dynamic size is an expression over symbols, as sympy prints it: "s77", "16*s77", "(s0//2) + 1", "Mod(s0, 8)". The
// user gives each symbol a value; ranges and guards of the archive are checked against it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_SYMBOLS_H
#define SLUICE_PASSES_IMPORT_EXPORT_SYMBOLS_H

#include "runtime/base/Status.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <string>

namespace sluice::exported {

/// Values of symbols and of named results that are integers.
using SymbolValues = std::map<std::string, std::int64_t, std::less<>>;

/// The value of an expression. A symbol without value, and a function that sizes do not have, are errors.
Result<std::int64_t> evaluateSize(llvm::StringRef expression, const SymbolValues &values);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_SYMBOLS_H
