//===- SavedTensors.h - what PyTorch saves for the backward of an archive's program -------===//
//
// The import replaces several ops of an archive by one, and copies by views. PyTorch runs the ops as they are, so it
// saves tensors that no value of the model is: this module finds them by autograd's rules, and adds their bytes to the
// ops of the model as `model.saved`. Only the account of PyTorch's memory reads them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_SAVEDTENSORS_H
#define SLUICE_PASSES_IMPORT_EXPORT_SAVEDTENSORS_H

#include "passes/import/export/Modules.h"

#include <array>

namespace sluice::exported {

/// A tensor that a node allocates and that a node saves.
struct SavedTensor {
  /// The node that allocates it.
  const Node *node = nullptr;
  /// With f32 compute and with 16-bit compute; 0: not saved, or the memory of another tensor.
  std::array<std::int64_t, 2> bytes = {};
  /// It is no result of the node.
  bool isInternal = false;
};

/// In the order of the program. Assumes of 16-bit compute that parameters and inputs have 16 bits, and that a
/// conversion of a value of 16 bits is to f32, one of f32 back: the archive of an f32 module does not tell.
std::vector<SavedTensor> savedTensors(const Program &program);

/// The location with the address of the node, for addSavedTensors; and without it.
mlir::Location withNode(mlir::Location location, const Node &node);
mlir::Location withoutNode(mlir::Location location);

/// Adds `model.saved` to the ops of the entry point of the program, in whose locations the nodes are. A tensor that a
/// node without an op allocates is added to the next op of its block, or to the last one.
void addSavedTensors(mlir::func::FuncOp entry, const Program &program, const Modules &modules);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_SAVEDTENSORS_H
