//===- BindSymbols.h - values for the dynamic sizes of an archive -------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_BINDSYMBOLS_H
#define SLUICE_PASSES_IMPORT_EXPORT_BINDSYMBOLS_H

#include "passes/import/export/Symbols.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace sluice::exported {

/// The value of each symbol of the program: those that the user gives, and the one that is the first dim of inputs if
/// he gives the rows of a batch, or the second one if he gives the tokens of a row. Symbols without a value, values
/// outside of the range that torch.export recorded, and names of no symbol are errors.
Result<SymbolValues> bindSymbols(const nlohmann::json &model, const SymbolValues &given, const RowSizes &rows);

/// Values that a size can have; `most`: nullopt if it has no bound.
struct SizeRange {
  std::int64_t least = 1;
  std::optional<std::int64_t> most;
};

/// The rows that a micro-batch can have: the range of the dynamic first dim of inputs, with these values of other
/// sizes. nullopt if no first dim is dynamic, or if `given` has its size.
std::optional<SizeRange> rowRangeOf(const nlohmann::json &model, const SymbolValues &given);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_BINDSYMBOLS_H
