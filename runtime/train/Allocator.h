//===- Allocator.h - how the C library's allocator treats what a library takes ----===//
//
// oneDNN packs the operands of each f32 product in blocks that it takes for the call and frees at its end. Given back to
// the system they come as fresh pages each time, 30,000 a step of a small model; kept, they are free. glibc keeps them
// without loss only where no thread caches small freed blocks: what an aligned block leaves at its two ends stays in such
// a cache, pins the heap there, and the heap grows beside it by several times the largest block. The cache can be
// switched off by the environment alone, before the program starts.
//
// All three change the process, which is its main's to decide: the runtime calls none of them.
//===--------------------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_ALLOCATOR_H
#define SLUICE_RUNTIME_TRAIN_ALLOCATOR_H

namespace sluice {

/// Runs this program anew, with these arguments, by an allocator without caches of threads. Returns where it is so
/// already or cannot be: another C library, an allocator's setting of the user's, a program started by its loader. The
/// first thing that a main does: nothing that was opened, caught or started before is there afterwards.
void restartWithoutThreadCaches(char **arguments);

/// Has freed blocks of 128 KiB and more go back to the system at once, so that the process does not grow with the order
/// in which they come. Before the plan is read.
void returnFreedMemory();

/// Has freed blocks of up to 32 MiB stay with their heap for the next one. Does nothing where threads have caches. When
/// all that steps need for good is allocated: what comes between blocks that are kept would part them.
void keepFreedMemory();

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_ALLOCATOR_H
