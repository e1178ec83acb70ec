//===- Symbols.h - the sizes of a dynamic archive --------------------------------------===//
//
// A dynamic size is an expression over symbols, as sympy prints it: "16*s77", "(s0//2) + 1", or, in later versions of
// torch, "Mul(Integer(16), Symbol('s77', positive=True, integer=True))". A guard is a condition on the sizes of inputs
// that the program was made for: "L['x'].size()[0] == L['y'].size()[0]".
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_SYMBOLS_H
#define SLUICE_PASSES_IMPORT_EXPORT_SYMBOLS_H

#include "runtime/base/Status.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sluice::exported {

/// Values of symbols and of named results that are integers.
using SymbolValues = std::map<std::string, std::int64_t, std::less<>>;

/// Rows of a micro-batch, and tokens of a row, where they are dynamic; nullopt: not given.
struct RowSizes {
  std::optional<std::int64_t> batch, sequence;
};

/// The value of an expression. A symbol without value, and a function that sizes do not have, are errors.
Result<std::int64_t> evaluateSize(llvm::StringRef expression, const SymbolValues &values);

/// The symbol that an expression is, if it is no more than that; else empty.
std::string symbolOf(llvm::StringRef expression);

/// Whether a guard holds for these sizes of inputs; an error if it is of another form.
Result<bool> evaluateGuard(llvm::StringRef guard, const llvm::StringMap<llvm::SmallVector<std::int64_t>> &sizes);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_SYMBOLS_H
