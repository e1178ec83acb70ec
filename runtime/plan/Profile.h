//===- Profile.h - live bytes over a step, computed from the plan --------------------------===//
//
// For memory reports: the live bytes of a space at each instruction of an entry point, by class and by unit, and their
// peak, computed from lifespans.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_PROFILE_H
#define SLUICE_RUNTIME_PLAN_PROFILE_H

#include "runtime/plan/Plan.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

inline constexpr std::size_t bufferClassCount = std::size_t(plan::BufferClass::MAX) + 1;
using BytesByClass = std::array<std::uint64_t, bufferClassCount>;

/// Live bytes of one space over one entry point, including bytes that are reserved for the next run. Where an
/// instruction replaces a buffer in place, its bytes count once.
struct EntryProfile {
  /// For each instruction.
  std::vector<std::uint64_t> live;
  /// Instruction with most live bytes (the first of equals) and how many.
  std::uint32_t peakAt = 0;
  std::uint64_t peakBytes = 0;
};
EntryProfile profileEntry(const plan::PlanT &plan, std::uint32_t entry, plan::Space space);

/// The same by class, for each instruction.
std::vector<BytesByClass> profileByClass(const plan::PlanT &plan, std::uint32_t entry, plan::Space space);

/// Live bytes of a space.
struct LiveBytes {
  std::uint64_t bytes = 0;
  BytesByClass byClass{};
  /// By index in Plan.units; the last element: bytes of no unit.
  std::vector<std::uint64_t> byUnit;
};

/// The index in Plan.units of each buffer: the unit of the parameter for its shard and states, of a gathered buffer,
/// else that of the first instruction that writes the buffer. The number of units for buffers of no unit.
std::vector<std::uint32_t> unitsOfBuffers(const plan::PlanT &plan);

/// Live bytes at an instruction of an entry point, and the workspace of the space.
LiveBytes liveAt(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t instruction, plan::Space space);

/// Buffers that are live at an instruction, largest first, then by id.
std::vector<std::uint32_t> liveBuffers(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t instruction,
                                       plan::Space space);

struct PeakPlace {
  std::uint32_t entry = 0;
  std::uint32_t instruction = 0;
  /// Live bytes and workspace.
  std::uint64_t bytes = 0;
};
/// The instruction with the most live bytes of a space, in one entry point and over all of them.
PeakPlace findPeak(const plan::PlanT &plan, std::uint32_t entry, plan::Space space);
PeakPlace findPeak(const plan::PlanT &plan, plan::Space space);

struct MemoryPoint {
  /// "start", "after_forward", "after_loss", "after_backward", "after_update", "end".
  std::string name;
  LiveBytes live;
};
/// Live bytes between instructions at the borders of phases, of one run that nothing follows; phases that an entry
/// point does not have are left out.
std::vector<MemoryPoint> memoryPoints(const plan::PlanT &plan, std::uint32_t entry, plan::Space space);

/// One letter a column: the phase at the middle of the column. At least one phase.
std::string phaseRow(std::span<const plan::Phase> phases, std::size_t columns);

/// Floating-point operations of one rank in a run of an entry point, without those of recomputation.
std::uint64_t entryFlops(const plan::EntryT &entry);

/// The type with which most of them compute: that of the first inputs of launches, by FLOPs.
DType flopsType(const plan::EntryT &entry);

/// Bytes that one rank requests: all arenas and workspaces.
std::uint64_t rankBytes(const plan::PlanT &plan);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_PROFILE_H
