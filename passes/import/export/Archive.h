//===- Archive.h - the program and the numbers of a torch.export archive -------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_ARCHIVE_H
#define SLUICE_PASSES_IMPORT_EXPORT_ARCHIVE_H

#include "passes/import/export/Graph.h"
#include "runtime/base/Pt2Archive.h"

namespace sluice::exported {

/// The JSON object of the program.
Result<nlohmann::json> readProgramJson(const Pt2Archive &archive);

/// The error with the file's name before its message.
Status inFile(const std::string &file, const Status &status);

/// The element type of a tensor that can be read, of complex numbers that of their parts; an error if a model has no
/// values of it.
Result<ScalarType> elementTypeOf(const Pt2Tensor &tensor);

/// The elements in row-major order, complex numbers as pairs. Integers and booleans become numbers.
Result<std::vector<double>> readNumbers(const Pt2Archive &archive, const Pt2Tensor &tensor);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_ARCHIVE_H
