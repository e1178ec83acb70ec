//===- Access.h - instructions as reads and writes of byte ranges --------------------------===//
//
// The accesses of each instruction for the simulation, computed once for all repetitions.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_ACCESS_H
#define SLUICE_RUNTIME_PLAN_CHECK_ACCESS_H

#include "runtime/plan/check/Check.h"
#include "runtime/plan/check/Windows.h"

#include <map>
#include <span>
#include <tuple>

namespace sluice::check {

/// The padding of a range: an id of (axes, chunk : total), `clean` for bytes that are all data or zeros, `garbage` if
/// all is padding.
using Padding = std::int32_t;
inline constexpr Padding clean = -1;
inline constexpr Padding garbage = -2;

struct Access {
  std::uint32_t buffer = 0;
  plan::Space space = plan::Space::device;
  /// Absolute bytes of the view's hull in repetition 0.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t repetitionStride = 0;
  /// Bytes after `end` to which the other repetitions of the section move the view.
  std::uint64_t reach = 0;
  bool isWrite = false;
  /// Reads: bytes from `begin` that must hold a value (a reduction may carry padding that nothing wrote).
  std::uint64_t neededBytes = 0;
  /// Reads: the padding that the view excludes. Writes: the padding of the written range.
  Padding padding = clean;
  /// Collectives, and copies of all elements: they transfer padding without using it.
  bool carriesPadding = false;
  /// Writes of collectives and copies: index of the read whose padding they take over; -1: none.
  std::int32_t paddingFrom = -1;
  /// Index in Actions::windows of a strided view; -1: dense.
  std::int32_t windows = -1;
  /// Writes: bytes from `begin` to the padding, if the source has padding.
  std::uint64_t dataBytes = ~std::uint64_t(0);
};

/// One instruction of an entry point.
struct Action {
  const plan::InstructionT *instruction = nullptr;
  std::uint32_t issue = 0;
  plan::Operation kind = plan::Operation::NONE;
  bool gathers = false;
  std::uint32_t event = 0;
  /// Waits: for the previous run.
  bool carried = false;
  std::uint32_t firstAccess = 0;
  std::uint32_t accesses = 0;
};

/// All instructions of one entry point, in order of sections. Reads of an instruction are before its writes.
struct Actions {
  std::vector<Action> actions;
  std::vector<Access> accesses;
  /// Of strided views, in repetition 0, relative to the first byte of the view; nullopt: not listed (windowsOf).
  std::vector<std::optional<std::vector<Window>>> windows;

  std::span<const Access> of(const Action &action) const {
    return {accesses.data() + action.firstAccess, action.accesses};
  }
};

/// Returns the same id for equal padding: equal axes and chunk : total in lowest terms; `clean` if there is no padding.
class PaddingIds {
public:
  explicit PaddingIds(const plan::PlanT &plan) : plan(plan) {}
  Padding of(const std::vector<std::uint32_t> &axes, std::int64_t chunk, std::int64_t total);
  /// The padding of a view: `clean` if it has no valid extents.
  Padding of(const plan::ViewT &view);

private:
  const plan::PlanT &plan;
  std::map<std::tuple<std::vector<std::uint32_t>, std::int64_t, std::int64_t>, Padding> ids;
};

Actions resolveActions(const plan::PlanT &plan, const plan::EntryT &entry, PaddingIds &paddings);

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_ACCESS_H
