//===- Allocator.h - keeps the memory of oneDNN's products between calls -----------===//
//
// oneDNN packs the operands of each f32 product in blocks that it allocates with posix_memalign for the call and frees
// at its end. Returned to the system, they would be new pages each time, 30,000 per step of a small model; in the C
// library's heap, the remainders at the ends of an aligned block stay in a thread's cache and fragment the heap. So the
// program defines posix_memalign and free, which keep these blocks for the next call and pass everything else to the C
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
