//===- Signature.h - the inputs and outputs of a torch.export program ----------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_SIGNATURE_H
#define SLUICE_PASSES_IMPORT_EXPORT_SIGNATURE_H

#include "passes/import/export/Graph.h"

namespace sluice::exported {

/// Reads inputs and outputs of `graph_module`. Writes to inputs and parameters are errors.
Status readSignature(const nlohmann::json &module, Program &program);
/// Checks the conditions on the sizes of inputs that the program was made for; its inputs are known.
Status checkGuards(const nlohmann::json &model, Program &program);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_SIGNATURE_H
