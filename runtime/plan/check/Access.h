//===- Access.h - instructions as reads and writes of byte ranges --------------------------===//
//
// What the simulation needs of each instruction, computed once however often it is repeated.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_ACCESS_H
#define SLUICE_RUNTIME_PLAN_CHECK_ACCESS_H

#include "runtime/plan/check/Check.h"

#include <map>
#include <span>
#include <tuple>

namespace sluice::check {

/// How the padding of a range is known: an id of (axes, chunk : total), `clean` for bytes that are all data or zeros,
/// `garbage` for padding alone.
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
  bool isWrite = false;
  /// Reads: bytes from `begin` that must hold a value (a reduction may carry padding that nothing wrote).
  std::uint64_t neededBytes = 0;
  /// Reads: the padding that the view leaves out. Writes: what the written range then has.
  Padding padding = clean;
  /// Collectives: padding does not matter to the one who carries it.
  bool carriesPadding = false;
  /// Writes of collectives: index of the read whose padding they take over; -1: none.
  std::int32_t paddingFrom = -1;
  /// Writes: bytes from `begin` behind which the range is padding, where the source has padding.
  std::uint64_t dataBytes = ~std::uint64_t(0);
};

/// One instruction of an entry point.
struct Action {
  const plan::InstructionT *instruction = nullptr;
  std::uint32_t issue = 0;
  plan::Operation kind = plan::Operation::NONE;
  bool gathers = false;
  std::uint32_t event = 0;
  /// Waits: for the run before.
  bool carried = false;
  std::uint32_t firstAccess = 0;
  std::uint32_t accesses = 0;
};

/// All instructions of one entry point, sections one after another. Reads of an instruction stand before its writes.
struct Actions {
  std::vector<Action> actions;
  std::vector<Access> accesses;

  std::span<const Access> of(const Action &action) const {
    return {accesses.data() + action.firstAccess, action.accesses};
  }
};

/// Gives the same id to equal padding: of axes and of chunk : total in lowest terms; `clean` where the ranks' chunks are
/// the total, so that there is none.
class PaddingIds {
public:
  explicit PaddingIds(const plan::PlanT &plan) : plan(plan) {}
  Padding of(const std::vector<std::uint32_t> &axes, std::int64_t chunk, std::int64_t total);
  /// Of a view: `clean` where it has no valid extents.
  Padding of(const plan::ViewT &view);

private:
  const plan::PlanT &plan;
  std::map<std::tuple<std::vector<std::uint32_t>, std::int64_t, std::int64_t>, Padding> ids;
};

Actions resolveActions(const plan::PlanT &plan, const plan::EntryT &entry, PaddingIds &paddings);

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_ACCESS_H
