//===- Collectives.cpp - P5: collectives agree over their group -------------------------===//
//
// A plan is one program for all ranks, so the sequence of collectives of a group is the same on all its ranks if no
// instruction depends on the rank. Predicates depend only on the repetition; groups are along axes of the mesh, so they
// partition the ranks. It remains to check that kind, counts, dtype and reduction of each call do not depend on the
// rank and are consistent.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

namespace sluice::check {
namespace {

struct Call {
  const plan::PlanT &plan;
  std::uint32_t entry;
  std::uint32_t issue;
  const plan::CollectiveT &collective;

  Verdict bad(const std::string &message) const { return refuse(5, place(plan, entry, issue) + ", " + message); }
};

Verdict checkGroup(const Call &call) {
  std::vector<bool> seen(call.plan.mesh.size());
  if (call.collective.axes.empty())
    return call.bad("expected a group along at least one axis");
  for (std::uint32_t axis : call.collective.axes) {
    if (axis >= seen.size())
      return call.bad("axis " + std::to_string(axis) + " does not exist, so its groups do not partition the ranks");
    if (seen[axis])
      return call.bad("axis '" + call.plan.mesh[axis]->name +
                      "' is named twice, so its groups do not partition the ranks");
    seen[axis] = true;
  }
  return {};
}

Verdict checkReduction(const Call &call) {
  const bool reduces = call.collective.kind == plan::CollectiveKind::reduce_scatter ||
                       call.collective.kind == plan::CollectiveKind::all_reduce;
  if (reduces != (call.collective.op != plan::ReduceOp::none))
    return call.bad("cannot have reduction '" + std::string(plan::EnumNameReduceOp(call.collective.op)) + "'");
  return {};
}

Verdict checkSegment(const Call &call, std::size_t index) {
  const plan::SegmentT &segment = *call.collective.segments[index];
  const std::string name = "segment " + std::to_string(index) + ", ";
  for (const plan::ViewT *view : {segment.source.get(), segment.destination.get()}) {
    if (view->dtype != call.collective.dtype)
      return call.bad(name + "expected dtype " + plan::EnumNameDType(call.collective.dtype) + " but got " +
                      plan::EnumNameDType(view->dtype));
    if (!view->valid.empty())
      return call.bad(name + "its count depends on the rank, expected a view without valid extents");
    if (!isDense(*view))
      return call.bad(name + "expected a dense view");
  }
  const std::uint64_t source = *elementCount(segment.source->shape);
  const std::uint64_t destination = *elementCount(segment.destination->shape);
  const std::uint64_t group = groupSize(call.plan, call.collective.axes);
  const bool gathers = call.collective.kind == plan::CollectiveKind::all_gather;
  const bool scatters = call.collective.kind == plan::CollectiveKind::reduce_scatter;
  const bool exchanges = call.collective.kind == plan::CollectiveKind::all_to_all;
  const unsigned __int128 left = (unsigned __int128)(source) * (gathers ? group : 1);
  const unsigned __int128 right = (unsigned __int128)(destination) * (scatters ? group : 1);
  if (left == right && (!exchanges || source % group == 0))
    return {};
  return call.bad(name + "expected counts of a " + plan::EnumNameCollectiveKind(call.collective.kind) + " over " +
                  std::to_string(group) + " ranks but got " + std::to_string(source) + " elements in and " +
                  std::to_string(destination) + " out");
}

} // namespace

Verdict collectivesAgree(const plan::PlanT &plan, Findings &findings) {
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    Verdict verdict;
    forEachInstruction(*plan.entries[e], [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
      const plan::CollectiveT *collective = instruction.operation.AsCollective();
      if (!collective || verdict)
        return;
      const Call call{plan, e, i, *collective};
      verdict = checkGroup(call);
      if (!verdict)
        verdict = checkReduction(call);
      for (std::size_t s = 0; s < collective->segments.size() && !verdict; ++s)
        verdict = checkSegment(call, s);
      ++findings[5].facts;
    });
    if (verdict)
      return verdict;
  }
  return {};
}

} // namespace sluice::check
