//===- Allocator.h - the memory that a library takes for one call -----------------------===//
//
// oneDNN packs the operands of each f32 product in blocks that it takes by posix_memalign for the call and frees at its
// end. Returned to the system, they would come as fresh pages each time, 30,000 a step of a small model; in the C library's
// heap, what an aligned block leaves at its two ends stays in a thread's cache and fragments the heap. So the program has a
// posix_memalign and a free of its own, which hold these blocks for the next call and pass everything else to the C
// library (docs/rationale/libraries.md compares this with mimalloc).
//
//===--------------------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_ALLOCATOR_H
#define SLUICE_TOOLS_TRAIN_ALLOCATOR_H

namespace sluice {

/// Returns freed blocks of 128 KiB and more to the system at once, so that the process does not grow with the order in
/// which they are freed. Before the plan is read.
void returnFreedMemory();

/// From now on, holds aligned blocks of 128 KiB and more after they are freed. Once all that steps need for the run is
/// allocated.
void holdFreedBlocks();

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_ALLOCATOR_H
