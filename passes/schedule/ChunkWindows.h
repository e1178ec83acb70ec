//===- ChunkWindows.h - a tensor and the ranks' chunks of it ------------------------===//
//
// Collectives move whole chunks, one rank's behind the other's. Along dim 0 that is the tensor itself. Along another dim
// the chunks are another arrangement of the same elements, and a copy takes one into the other: these are its windows.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SCHEDULE_CHUNKWINDOWS_H
#define SLUICE_PASSES_SCHEDULE_CHUNKWINDOWS_H

#include "dialect/rules/Rules.h"

#include "llvm/ADT/SmallVector.h"

namespace sluice {

/// Windows of one shape: of the tensor, and of the buffer of all chunks.
struct ChunkWindows {
  StridedLayout whole, chunks;
};

/// The windows that together are all of the tensor. The buffer is dense and holds for each rank a chunk of the tensor's
/// shape with extent `chunk` along `dim`; of the last ranks' chunks a part, or nothing, is the tensor's.
llvm::SmallVector<ChunkWindows, 2> chunkWindows(const StridedLayout &whole, int64_t dim, int64_t chunk);

} // namespace sluice

#endif // SLUICE_PASSES_SCHEDULE_CHUNKWINDOWS_H
