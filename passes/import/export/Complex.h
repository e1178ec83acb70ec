//===- Complex.h - complex numbers as pairs ----------------------------------------------===//
//
// The model dialect has no complex numbers. Rotary positions are often written with them, so a complex tensor of a
// program is read as one of floats with a last dim of 2 more: real and imaginary part.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_COMPLEX_H
#define SLUICE_PASSES_IMPORT_EXPORT_COMPLEX_H

#include "passes/import/export/Graph.h"

namespace sluice::exported {

/// Changes the arguments of a node that reads or computes complex tensors to those of the pairs. An op that
/// neither moves, multiplies nor converts complex numbers becomes a problem of the node.
void carryComplex(Node &node, const llvm::StringMap<TensorMeta> &tensors);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_COMPLEX_H
