//===- ChunkWindows.cpp - windows of the chunks of a tensor -------------------------===//
#include "passes/schedule/ChunkWindows.h"

#include "passes/schedule/BufferAssignment.h"

namespace sluice {

llvm::SmallVector<ChunkWindows, 2> chunkWindows(const StridedLayout &tensor, int64_t dim, int64_t chunk) {
  llvm::SmallVector<int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  const int64_t total = shape[dim], full = total / chunk;
  shape[dim] = chunk;
  const StridedLayout ofRank = denseLayout(shape);
  const int64_t rankStride = ofRank.strides[0] * shape[0];

  llvm::SmallVector<ChunkWindows, 2> windows;
  // The ranks with full chunks, and the rank with the remaining rows.
  const auto add = [&](int64_t firstRank, int64_t ranks, int64_t extent) {
    if (ranks == 0 || extent == 0)
      return;
    ChunkWindows window;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
      if (d == dim) {
        window.tensor.shape.push_back(ranks);
        window.tensor.strides.push_back(chunk * tensor.strides[d]);
        window.chunks.strides.push_back(rankStride);
      }
      window.tensor.shape.push_back(d == dim ? extent : shape[d]);
      window.tensor.strides.push_back(tensor.strides[d]);
      window.chunks.strides.push_back(ofRank.strides[d]);
    }
    window.chunks.shape = window.tensor.shape;
    window.tensor.offset = tensor.offset + firstRank * chunk * tensor.strides[dim];
    window.chunks.offset = firstRank * rankStride;
    windows.push_back(std::move(window));
  };
  add(0, full, chunk);
  add(full, 1, total - full * chunk);
  return windows;
}

} // namespace sluice
