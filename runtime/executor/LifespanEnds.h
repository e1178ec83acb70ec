//===- LifespanEnds.h - the bytes whose lifespan ends at each instruction ------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_LIFESPANENDS_H
#define SLUICE_RUNTIME_EXECUTOR_LIFESPANENDS_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// Bytes [begin, end) of an arena.
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
};

/// True for each buffer that holds an input or output of some entry point: the host uses it between runs.
std::vector<bool> portBuffers(const plan::PlanT &plan);

/// The instructions [begin, end) of a section, in issue order within its entry point.
struct SectionRange {
  std::uint32_t begin = 0, end = 0;
};

/// Is the buffer live after an instruction at which it is live, until the next one that is issued? After the last
/// instruction of a repetition that another one follows, only buffers that are live through the section are.
inline bool isLiveAfter(const plan::BufferT &buffer, std::uint32_t instruction, SectionRange section,
                        bool isLastRepetition) {
  if (instruction + 1 == section.end && !isLastRepetition)
    return buffer.begin <= section.begin && section.end <= buffer.end;
  return instruction + 1 < buffer.end;
}

/// A range that is live at an instruction and not after it, in the last repetition of its section or in the others.
struct LifespanEnd {
  ByteRange range;
  bool isInLast = true, isInOthers = true;
};

/// For each instruction of an entry point, in issue order: the ranges of a space whose lifespan it ends. Buffers of
/// ports are left out, and bytes that another buffer takes over in place.
std::vector<std::vector<LifespanEnd>> lifespanEnds(const plan::PlanT &plan, std::uint32_t entry, plan::Space space);

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_LIFESPANENDS_H
