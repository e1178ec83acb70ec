//===- ChunkWindows.h - windows of the chunks of a tensor ---------------------------===//
//
// Collectives transfer chunks, rank by rank. Along dim 0 the chunks are the rows of the tensor. Along
// another dim they are a rearrangement of its elements, and copies convert one into the other: these are their windows.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SCHEDULE_CHUNKWINDOWS_H
#define SLUICE_PASSES_SCHEDULE_CHUNKWINDOWS_H

#include "dialect/rules/Rules.h"

#include "llvm/ADT/SmallVector.h"

namespace sluice {

/// Windows of one shape: of the tensor, and of the buffer of all chunks.
struct ChunkWindows {
  StridedLayout tensor, chunks;
};

/// The windows that cover the tensor. The buffer is dense and has for each rank a chunk of the tensor's shape with
/// extent `chunk` along `dim`; the chunks of the last ranks may be partly or entirely padding.
llvm::SmallVector<ChunkWindows, 2> chunkWindows(const StridedLayout &tensor, int64_t dim, int64_t chunk);

} // namespace sluice

#endif // SLUICE_PASSES_SCHEDULE_CHUNKWINDOWS_H
