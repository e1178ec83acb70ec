//===- BufferUses.cpp - the accesses of each buffer, and windows of buffers ---------------===//
#include "passes/schedule/BufferUses.h"

#include "dialect/plan/Accesses.h"

using namespace mlir;

namespace sluice::plan_ir {

BufferUses usesOf(EntryOp entry) {
  BufferUses uses;
  forEachInstruction(entry, [&](Operation *op, int64_t position, SectionOp) {
    for (const Access &access : accessesOf(op))
      uses[access.view.getBuffer().getAttr()].push_back({op, position, access.view, access.writes});
  });
  return uses;
}

bool windowIsFree(llvm::ArrayRef<BufferUse> uses, ViewAttr window, ViewAttr target, int64_t from, int64_t to) {
  return llvm::all_of(uses, [&](const BufferUse &use) {
    return use.position < from || use.position >= to || windowsDisjoint(use.view, window) ||
           windowsDisjoint(use.view, target);
  });
}

ViewAttr reshaped(ViewAttr window, llvm::ArrayRef<int64_t> shape) {
  llvm::ArrayRef<int64_t> old = window.getShape();
  if (old == shape)
    return window;
  if (old.empty() || window.getValid())
    return {};
  const llvm::SmallVector<int64_t> strides = window.getOrComputeStrides();
  llvm::SmallVector<int64_t> result(shape.size());
  // Innermost first: dims of the window without a gap between them are split by the shape.
  std::size_t left = shape.size();
  int64_t stride = strides.back(), elements = 1;
  for (std::size_t dim = old.size(); dim-- > 0;) {
    elements *= old[dim];
    if (dim > 0 && (old[dim - 1] == 1 || strides[dim - 1] == elements * stride))
      continue;
    int64_t covered = 1;
    while (left > 0 && (covered < elements || shape[left - 1] == 1)) {
      result[--left] = covered * stride;
      covered *= shape[left];
    }
    if (covered != elements)
      return {};
    if (dim > 0)
      stride = strides[dim - 1];
    elements = 1;
  }
  if (left > 0)
    return {};
  return ViewAttr::get(window.getContext(), window.getBuffer(), window.getElementType(), shape, window.getOffset(),
                       result, window.getStep(), {});
}

bool isSameRange(ViewAttr a, ViewAttr b) {
  return a == b || (a.getStrides().empty() && b.getStrides().empty() && a.getOffset() == b.getOffset() &&
                    a.getElementType() == b.getElementType() && !a.getStep() && !b.getStep() && !a.getValid() &&
                    !b.getValid() && a.elements() == b.elements());
}

} // namespace sluice::plan_ir
