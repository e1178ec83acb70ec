//===- InputOptions.h - inputs and sizes as texts ------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_INPUTOPTIONS_H
#define SLUICE_PASSES_IMPORT_EXPORT_INPUTOPTIONS_H

#include "passes/import/export/Import.h"

namespace sluice::exported {

/// Adds inputs, "NAME=tokens:VOCABULARY", and dynamic sizes, "SYMBOL=SIZE", to the options. A usage error names the
/// option.
Status readInputOptions(const std::vector<std::string> &inputs, const std::vector<std::string> &symbols,
                        ExportOptions &options);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_INPUTOPTIONS_H
