//===- BindSymbols.h - values for the dynamic sizes of an archive -------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_BINDSYMBOLS_H
#define SLUICE_PASSES_IMPORT_EXPORT_BINDSYMBOLS_H

#include "passes/import/export/Symbols.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace sluice::exported {

/// The value of each symbol of the program: those that the user gives, and the one that is the first dim of inputs if
/// he gives the rows of a batch. Symbols without a value, values outside of the range that torch.export recorded, and
/// names of no symbol are errors.
Result<SymbolValues> bindSymbols(const nlohmann::json &model, const SymbolValues &given,
                                 std::optional<std::int64_t> batch);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_BINDSYMBOLS_H
