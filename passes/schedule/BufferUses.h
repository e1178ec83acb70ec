//===- BufferUses.h - the accesses of each buffer, and windows of buffers -----------------===//
#ifndef SLUICE_PASSES_SCHEDULE_BUFFERUSES_H
#define SLUICE_PASSES_SCHEDULE_BUFFERUSES_H

#include "dialect/plan/Plan.h"

namespace sluice::plan_ir {

/// An access of a buffer.
struct BufferUse {
  mlir::Operation *op;
  /// In issue order.
  int64_t position;
  ViewAttr view;
  bool writes;
};
/// By the symbol of the buffer, in issue order.
using BufferUses = llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<BufferUse>>;

BufferUses usesOf(EntryOp entry);

/// True if no access of the window's buffer between the two positions touches the window, given in two shapes.
bool windowIsFree(llvm::ArrayRef<BufferUse> uses, ViewAttr window, ViewAttr target, int64_t from, int64_t to);

/// The window with another shape of as many elements, read in the same order; null if no strides exist for it.
ViewAttr reshaped(ViewAttr window, llvm::ArrayRef<int64_t> shape);

/// True if both are the same elements from the same byte on, in order, whatever their dims.
bool isSameRange(ViewAttr a, ViewAttr b);

} // namespace sluice::plan_ir

#endif // SLUICE_PASSES_SCHEDULE_BUFFERUSES_H
