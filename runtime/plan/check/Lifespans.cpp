//===- Lifespans.cpp - P2 by declared lifespans -------------------------------------------===//
//
// Sweeps over the issue order of each entry point with the set of live buffers sorted by offset: live buffers share no
// byte, except when an instruction replaces its operand in place; the live bytes never exceed the declared peak. Also:
// every access is within the lifespan of its buffer, and the operands of one instruction overlap only in place.
// Simulate.cpp checks lifespans against all streams.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include <algorithm>
#include <map>

namespace sluice::check {
namespace {

struct Operands {
  std::vector<const plan::ViewT *> reads;
  std::vector<const plan::ViewT *> writes;
};

Operands operandsOf(const plan::InstructionT &instruction) {
  Operands operands;
  forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
    (isWrite ? operands.writes : operands.reads).push_back(&view);
  });
  return operands;
}

std::uint64_t absolute(const plan::PlanT &plan, const plan::ViewT &view) {
  return plan.buffers[view.buffer]->offset + view.offset;
}

/// The same elements at the same offset: a kernel may replace one by the other.
bool samePlace(const plan::PlanT &plan, const plan::ViewT &a, const plan::ViewT &b) {
  return absolute(plan, a) == absolute(plan, b) && *viewBytes(a) == *viewBytes(b) &&
         a.repetition_stride == b.repetition_stride && isDense(a) == isDense(b) &&
         (isDense(a) || (a.shape == b.shape && a.strides == b.strides));
}

Verdict checkOperands(const plan::PlanT &plan, std::uint32_t e, std::uint32_t i, std::uint32_t repeat,
                      const plan::InstructionT &instruction) {
  const Operands operands = operandsOf(instruction);
  auto within = [&](const plan::ViewT &view) {
    const plan::BufferT &buffer = *plan.buffers[view.buffer];
    return buffer.entry == -1 || (buffer.begin <= i && i < buffer.end);
  };
  for (const auto *views : {&operands.reads, &operands.writes})
    for (const plan::ViewT *view : *views)
      if (!within(*view)) {
        const plan::BufferT &buffer = *plan.buffers[view->buffer];
        return refuse(2, concat(place(plan, e, i), " uses buffer '", buffer.name, "' outside its lifespan [",
                                buffer.begin, ", ", buffer.end, ")"));
      }
  const auto endOf = [&](const plan::ViewT &view) {
    return absolute(plan, view) + *viewBytes(view) + view.repetition_stride * (repeat - 1);
  };
  const bool gathers = instruction.operation.AsCollective() &&
                       instruction.operation.AsCollective()->kind == plan::CollectiveKind::all_gather;
  for (std::size_t w = 0; w < operands.writes.size(); ++w) {
    const plan::ViewT &write = *operands.writes[w];
    const plan::Space space = plan.buffers[write.buffer]->space;
    auto overlaps = [&](const plan::ViewT &other) {
      if (plan.buffers[other.buffer]->space != space)
        return false;
      // Views that move by different distances may meet in a later repetition.
      if (write.repetition_stride != other.repetition_stride)
        return absolute(plan, write) < endOf(other) && absolute(plan, other) < endOf(write);
      return !viewsDisjoint(write, absolute(plan, write), other, absolute(plan, other));
    };
    auto overlap = [&](const plan::ViewT &other, const char *role) {
      const std::uint64_t begin = std::max(absolute(plan, write), absolute(plan, other));
      const std::uint64_t end =
          std::min(absolute(plan, write) + *viewBytes(write), absolute(plan, other) + *viewBytes(other));
      return refuse(2,
                    place(plan, e, i) + " writes buffer '" + plan.buffers[write.buffer]->name +
                        "' over bytes of buffer '" + plan.buffers[other.buffer]->name + "', " + role +
                        " of the same instruction",
                    {byteRange(space, begin, end)});
    };
    for (const plan::ViewT *read : operands.reads)
      if (overlaps(*read) && (gathers || !samePlace(plan, write, *read)))
        return overlap(*read, "an input");
    for (std::size_t v = 0; v < w; ++v)
      if (overlaps(*operands.writes[v]))
        return overlap(*operands.writes[v], "an output");
  }
  return {};
}

/// True where the instruction replaces buffer `old`, in its last use, by `next`, in its first, in place.
bool replaces(const plan::PlanT &plan, const plan::InstructionT &instruction, std::uint32_t old, std::uint32_t next) {
  const Operands operands = operandsOf(instruction);
  bool found = false;
  for (const plan::ViewT *write : operands.writes)
    for (const plan::ViewT *read : operands.reads)
      found = found || (write->buffer == next && read->buffer == old && samePlace(plan, *write, *read));
  return found;
}

class Sweep {
public:
  Sweep(const plan::PlanT &plan, std::uint32_t entry, const plan::ArenaT &arena)
      : plan(plan), entry(entry), arena(arena) {}

  Verdict run() {
    std::vector<Stretch> begins, ends;
    const std::uint32_t count = instructionCount(*plan.entries[entry]);
    for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
      const plan::BufferT &buffer = *plan.buffers[b];
      if (buffer.space != arena.space || buffer.bytes == 0)
        continue;
      if (buffer.entry == -1) {
        SLUICE_CHECK(enter(b, 0));
      } else if (buffer.entry == int(entry)) {
        begins.push_back({buffer.reserved_from == 0 ? buffer.begin : 0, buffer.end, b});
        // Reserved at the end of the previous run.
        if (buffer.reserved_from != 0 && std::max(buffer.reserved_from, buffer.end) < count)
          begins.push_back({std::max(buffer.reserved_from, buffer.end), count, b});
      }
    }
    SLUICE_CHECK(checkPeak(0));
    ends = begins;
    std::stable_sort(begins.begin(), begins.end(), [](auto &a, auto &b) { return a.begin < b.begin; });
    std::stable_sort(ends.begin(), ends.end(), [](auto &a, auto &b) { return a.end < b.end; });
    std::size_t left = 0;
    for (std::size_t k = 0; k < begins.size();) {
      const std::uint32_t now = begins[k].begin;
      shared = 0;
      for (; left < ends.size() && ends[left].end <= now; ++left)
        leave(ends[left].buffer);
      for (; k < begins.size() && begins[k].begin == now; ++k)
        SLUICE_CHECK(enter(begins[k].buffer, now));
      SLUICE_CHECK(checkPeak(now));
    }
    return {};
  }

private:
  struct Stretch {
    std::uint32_t begin, end, buffer;
  };
  /// Live buffers by offset. During an in-place replacement both buffers are in the map.
  std::multimap<std::uint64_t, std::uint32_t> live;

  Verdict enter(std::uint32_t b, std::uint32_t now) {
    const plan::BufferT &buffer = *plan.buffers[b];
    const std::uint64_t end = buffer.offset + buffer.bytes;
    // Live buffers are disjoint except for pairs with one offset, so the first miss ends the search, after those of the
    // same offset.
    std::optional<std::uint64_t> missed;
    for (auto at = live.lower_bound(end); at != live.begin();) {
      --at;
      if (missed && at->first != *missed)
        break;
      const plan::BufferT &other = *plan.buffers[at->second];
      const std::uint64_t from = std::max(buffer.offset, other.offset);
      const std::uint64_t to = std::min(end, other.offset + other.bytes);
      if (from >= to) {
        missed = at->first;
        continue;
      }
      const bool inPlace = buffer.entry != -1 && other.entry != -1 && other.offset == buffer.offset &&
                           other.end == now + 1 &&
                           replaces(plan, *instructionAt(*plan.entries[entry], now), at->second, b);
      if (!inPlace)
        return overlap(buffer, other, from, to);
      shared += to - from;
    }
    live.insert({buffer.offset, b});
    bytes += buffer.bytes;
    return {};
  }

  void leave(std::uint32_t b) {
    auto [first, last] = live.equal_range(plan.buffers[b]->offset);
    for (; first != last; ++first)
      if (first->second == b) {
        live.erase(first);
        break;
      }
    bytes -= plan.buffers[b]->bytes;
  }

  Verdict overlap(const plan::BufferT &buffer, const plan::BufferT &other, std::uint64_t from, std::uint64_t to) {
    auto name = [&](const plan::BufferT &which) {
      return "buffer '" + which.name + "' " +
             (which.entry == -1
                  ? std::string("persists")
                  : concat("lives over instructions [", which.begin, ", ", which.end, ") of '",
                           plan.entries[entry]->name, "'",
                           (which.reserved_from == 0 ? std::string()
                                                     : concat(" and reserved from ", which.reserved_from, " on"))));
    };
    return refuse(2, "buffers '" + other.name + "' and '" + buffer.name + "' live at once and share bytes",
                  {name(other), name(buffer), byteRange(arena.space, from, to)});
  }

  Verdict checkPeak(std::uint32_t now) const {
    if (bytes - shared <= arena.peak_live)
      return {};
    return refuse(2, concat("the arena of ", plan::EnumNameSpace(arena.space), " declares a peak of ", arena.peak_live,
                            " live bytes but ", bytes - shared, " are live at ", place(plan, entry, now)));
  }

  const plan::PlanT &plan;
  std::uint32_t entry;
  const plan::ArenaT &arena;
  std::uint64_t bytes = 0;
  /// Bytes that count twice at this instant, because one buffer replaces a different one in place.
  std::uint64_t shared = 0;
};

} // namespace

Verdict lifespansDisjoint(const plan::PlanT &plan) {
  for (const auto &arena : plan.arenas)
    if (arena->peak_live > arena->bytes)
      return refuse(2, concat("the arena of ", plan::EnumNameSpace(arena->space), " declares a peak of ",
                              arena->peak_live, " live bytes but has only ", arena->bytes));
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    std::uint32_t i = 0;
    for (const auto &section : plan.entries[e]->sections)
      for (const auto &instruction : section->instructions)
        SLUICE_CHECK(checkOperands(plan, e, i++, section->repeat, *instruction));
    if (i == 0)
      continue;
    for (const auto &arena : plan.arenas)
      SLUICE_CHECK(Sweep(plan, e, *arena).run());
  }
  return {};
}

} // namespace sluice::check
