//===- ChunkWindows.cpp - windows of the chunks of a tensor -------------------------===//
#include "passes/schedule/ChunkWindows.h"

#include "passes/schedule/BufferAssignment.h"

namespace sluice {

llvm::SmallVector<ChunkWindows, 2> chunkWindows(const StridedLayout &whole, int64_t dim, int64_t chunk) {
  llvm::SmallVector<int64_t> shape(whole.shape.begin(), whole.shape.end());
  const int64_t total = shape[dim], full = total / chunk;
  shape[dim] = chunk;
  const StridedLayout ofRank = denseLayout(shape);
  const int64_t rankStride = ofRank.strides[0] * shape[0];

  llvm::SmallVector<ChunkWindows, 2> windows;
  // The ranks whose chunks are full, and the one that has what is left.
  const auto add = [&](int64_t firstRank, int64_t ranks, int64_t extent) {
    if (ranks == 0 || extent == 0)
      return;
    ChunkWindows window;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
      if (d == dim) {
        window.whole.shape.push_back(ranks);
        window.whole.strides.push_back(chunk * whole.strides[d]);
        window.chunks.strides.push_back(rankStride);
      }
      window.whole.shape.push_back(d == dim ? extent : shape[d]);
      window.whole.strides.push_back(whole.strides[d]);
      window.chunks.strides.push_back(ofRank.strides[d]);
    }
    window.chunks.shape = window.whole.shape;
    window.whole.offset = whole.offset + firstRank * chunk * whole.strides[dim];
    window.chunks.offset = firstRank * rankStride;
    windows.push_back(std::move(window));
  };
  add(0, full, chunk);
  add(full, 1, total - full * chunk);
  return windows;
}

} // namespace sluice
