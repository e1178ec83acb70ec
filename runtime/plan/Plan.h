//===- Plan.h - the plan in memory, and functions of it --------------------------===//
//
// The plan's structures are generated from plan.fbs (sluice::plan::PlanT and its members). These are the functions that
// every reader needs: size of a group, coordinate of a rank, predicates of instructions. They assume a plan that the
// checker has accepted, unless they say otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_PLAN_H
#define SLUICE_RUNTIME_PLAN_PLAN_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"
#include "runtime/plan/plan_generated.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Readers accept only this major version.
inline constexpr std::uint32_t planMajor = 3;
inline constexpr std::uint32_t planMinor = 1;

inline DType baseType(plan::DType dtype) { return static_cast<DType>(dtype); }

/// Number of ranks of the mesh.
std::uint64_t meshSize(const plan::PlanT &plan);

/// Number of ranks in a group along `axes`.
std::uint64_t groupSize(const plan::PlanT &plan, std::span<const std::uint32_t> axes);

/// The size of each axis, as the functions of runtime/base/ShardMath.h take them.
std::vector<std::uint32_t> meshSizes(const plan::PlanT &plan);

/// Position of `rank` among those that differ from it only along `axes`, row-major over them in the order given.
std::uint32_t coordinateAlong(const plan::PlanT &plan, std::uint32_t rank, std::span<const std::uint32_t> axes);

/// World ranks of the group of `rank` along `axes`, in the order of coordinateAlong.
std::vector<int> groupMembers(const plan::PlanT &plan, std::uint32_t rank, std::span<const std::uint32_t> axes);

/// The axis of a sub-axis: "shard" for "shard.1"; the axis itself otherwise.
std::string_view axisBase(std::string_view name);

/// Names of axes joined by '*', as "replicate*shard"; sub-axes are named as their axis; '?' for an axis that does not
/// exist.
std::string axesName(const plan::PlanT &plan, std::span<const std::uint32_t> axes);

/// Number of elements of a shape; nullopt where a dim is negative, or the product overflows 63 bits, as indices do.
std::optional<std::uint64_t> elementCount(std::span<const std::int64_t> shape);

/// The extents of the part that a rank computes with: those of the parameter, unless ranks divide operations.
std::vector<std::int64_t> partShape(const plan::ParameterT &parameter);

/// True for a parameter that is sharded by elements.
bool isFlat(const plan::ParameterT &parameter);

/// The shape that is divided into shards: that of the parameter or of its part, or one dim of all elements if it is
/// sharded flat.
std::vector<std::int64_t> cutShape(const plan::ParameterT &parameter);

/// The dim of cutShape along which chunks are taken; -1: replicated.
int cutDim(const plan::ParameterT &parameter);

/// cutShape as one rank holds it, padding included.
std::vector<std::int64_t> shardShape(const plan::ParameterT &parameter);

/// The axes along which ranks have different elements of the parameter: those of its split, then those of its shards.
std::vector<std::uint32_t> shardAxes(const plan::ParameterT &parameter);

/// True where the view has no strides, or strides that are the dense row-major ones.
bool isDense(const plan::ViewT &view);

/// Bytes from the first to one past the last element of a view, padding included: the range after its offset that it
/// may access. nullopt if it overflows or a stride is negative.
std::optional<std::uint64_t> viewBytes(const plan::ViewT &view);
/// Bytes of the elements of a view, each counted once.
std::uint64_t viewElementBytes(const plan::ViewT &view);
/// Bytes of the full tensors of a collective.
std::uint64_t collectiveBytes(const plan::CollectiveT &collective);

/// True for an instruction that is issued in repetition `repetition` of `repeat`.
bool isIssued(const plan::InstructionT &instruction, std::uint32_t repetition, std::uint32_t repeat);

/// Index of the entry point with this name, or -1.
int findEntry(const plan::PlanT &plan, std::string_view name);
/// The index of an entry point; an input error that lists those of the plan.
Result<std::uint32_t> entryIndex(const plan::PlanT &plan, const std::string &name);

/// Instructions of an entry point, all sections one after another, not expanded.
std::uint32_t instructionCount(const plan::EntryT &entry);

/// Calls `visit(instruction, i, sectionIndex)` for each instruction of the entry point in issue order.
template <typename Visit> void forEachInstruction(const plan::EntryT &entry, Visit &&visit) {
  std::uint32_t i = 0;
  for (std::uint32_t s = 0; s < entry.sections.size(); ++s)
    for (const auto &instruction : entry.sections[s]->instructions)
      visit(*instruction, i++, s);
}

/// The instruction with index `issue` of an entry point, sections one after another; null past the end.
const plan::InstructionT *instructionAt(const plan::EntryT &entry, std::uint32_t issue);

/// Calls `visit(view, isWrite)` for the views that an instruction reads, then for those that it writes.
template <typename Visit> void forEachView(const plan::InstructionT &instruction, Visit &&visit) {
  if (const plan::LaunchT *launch = instruction.operation.AsLaunch()) {
    for (const auto &view : launch->inputs)
      visit(*view, false);
    for (const auto &view : launch->outputs)
      visit(*view, true);
  } else if (const plan::CollectiveT *collective = instruction.operation.AsCollective()) {
    for (const auto &segment : collective->segments)
      visit(*segment->source, false);
    for (const auto &segment : collective->segments)
      visit(*segment->destination, true);
  } else if (const plan::CopyT *copy = instruction.operation.AsCopy()) {
    visit(*copy->source, false);
    visit(*copy->destination, true);
  } else if (const plan::FillT *fill = instruction.operation.AsFill()) {
    visit(*fill->destination, true);
  }
}

/// One instruction as issued in a step, repetitions expanded.
struct IssuedInstruction {
  const plan::InstructionT *instruction = nullptr;
  /// Index in the entry point, sections one after another, not expanded.
  std::uint32_t index = 0;
  std::uint32_t section = 0;
  std::uint32_t repetition = 0;
  /// Position in the expanded issue order of the step.
  std::uint64_t position = 0;
};

/// Calls `visit(const IssuedInstruction &)` for the instructions that a step of the entry point issues, in order.
template <typename Visit> void forEachIssued(const plan::EntryT &entry, Visit &&visit) {
  std::uint64_t position = 0;
  std::uint32_t first = 0;
  for (std::uint32_t s = 0; s < entry.sections.size(); ++s) {
    const plan::SectionT &section = *entry.sections[s];
    for (std::uint32_t r = 0; r < section.repeat; ++r)
      for (std::uint32_t k = 0; k < section.instructions.size(); ++k)
        if (isIssued(*section.instructions[k], r, section.repeat))
          visit(IssuedInstruction{section.instructions[k].get(), first + k, s, r, position++});
    first += std::uint32_t(section.instructions.size());
  }
}

/// The micro-batch of a repetition of a section: the repetition if the section repeats for micro-batches; the first
/// before that section, the last after it.
std::uint32_t microbatchOf(const plan::EntryT &entry, std::uint32_t section, std::uint32_t repetition);

/// The arena of a space; null if the plan has no such arena.
const plan::ArenaT *arenaOf(const plan::PlanT &plan, plan::Space space);

/// "f32[4x64]".
std::string typeText(plan::DType dtype, std::span<const std::int64_t> shape);

/// "launch matmul", "all_gather", "record", ...
std::string operationName(const plan::PlanT &plan, const plan::InstructionT &instruction);

/// The 64 hexadecimal digits of the digest that the plan carries.
std::string digestText(const plan::PlanT &plan);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_PLAN_H
