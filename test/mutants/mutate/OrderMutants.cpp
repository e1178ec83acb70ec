//===- OrderMutants.cpp - waits, records, releases and the order of issues ------------===//
#include "test/mutants/mutate/Mutation.h"

#include <algorithm>

namespace sluice {

namespace {

bool waitForOtherEvent(Mutation &m) {
  const auto place = m.place(isWait);
  if (!place || m.plan.entries[place->entry]->events < 2)
    return false;
  m.at(*place).operation.AsWait()->event = std::uint32_t(m.below(m.plan.entries[place->entry]->events));
  return true;
}

/// Moves an accepted instruction to a different stream.
template <typename Accept> bool otherStream(Mutation &m, Accept accept) {
  return m.edit(accept, [&](plan::InstructionT &instruction) {
    instruction.stream = std::uint32_t(m.below(m.plan.streams.size()));
  });
}

/// The next instruction of the same stream that works, in the direction `step`; without one, the position of the
/// instruction itself.
std::uint32_t nextWork(Mutation &m, const MutantPlace &place, int step) {
  const auto &list = m.list(place);
  for (std::int64_t k = std::int64_t(place.k) + step; k >= 0 && k < std::int64_t(list.size()); k += step)
    if (list[std::size_t(k)]->stream == m.at(place).stream && isWork(*list[std::size_t(k)]))
      return std::uint32_t(k);
  return place.k;
}

/// Moves an accepted instruction past the next work of its stream.
template <typename Accept> bool pastWork(Mutation &m, Accept accept, int step) {
  const auto place = m.place(accept);
  if (!place)
    return false;
  const std::uint32_t to = nextWork(m, *place, step);
  m.move(*place, to);
  return to != place->k;
}

bool flipCarried(Mutation &m) {
  return m.edit(isWait, [](plan::InstructionT &wait) { wait.operation.AsWait()->carried ^= true; });
}

/// Exchanges two instructions of one stream that work; `near`: neighbours.
bool swapOnStream(Mutation &m, bool near) {
  const auto first = m.place(isWork);
  if (!first)
    return false;
  std::vector<std::uint32_t> others;
  const auto &list = m.list(*first);
  for (std::uint32_t k = first->k + 1; k < list.size() && !(near && !others.empty()); ++k)
    if (isWork(*list[k]) && list[k]->stream == m.at(*first).stream)
      others.push_back(k);
  if (others.empty())
    return false;
  std::swap(m.list(*first)[first->k], m.list(*first)[m.pick(others)]);
  m.extendLifespans(first->entry);
  return true;
}

bool changeWhen(Mutation &m) {
  const auto place = m.place([](const auto &i) { return i.when != plan::When::all; });
  if (!place)
    return false;
  m.at(*place).when = plan::When(m.below(5));
  m.at(*place).repetitions.clear();
  return true;
}

bool mergeEvents(Mutation &m) {
  const auto place = m.place(isRecord);
  if (!place || m.plan.entries[place->entry]->events < 2)
    return false;
  const std::uint32_t from = m.at(*place).operation.AsRecord()->event,
                      to = std::uint32_t(m.below(m.plan.entries[place->entry]->events));
  for (const auto &section : m.plan.entries[place->entry]->sections)
    for (const auto &instruction : section->instructions) {
      if (auto *record = instruction->operation.AsRecord(); record && record->event == from)
        record->event = to;
      if (auto *wait = instruction->operation.AsWait(); wait && wait->event == from)
        wait->event = to;
    }
  return true;
}

bool releaseEarly(Mutation &m) {
  const auto place = m.place(isRelease);
  if (!place)
    return false;
  const auto &released = m.at(*place).operation.AsRelease()->buffers;
  for (std::uint32_t k = place->k; k-- > 0;) {
    bool uses = false;
    forEachView(*m.list(*place)[k], [&](const plan::ViewT &view, bool) {
      uses = uses || std::find(released.begin(), released.end(), view.buffer) != released.end();
    });
    if (uses) {
      m.move(*place, k);
      return true;
    }
  }
  return false;
}

bool releaseBeforeGather(Mutation &m) {
  const auto place = m.place(isRelease);
  if (!place)
    return false;
  const auto &released = m.at(*place).operation.AsRelease()->buffers;
  for (std::uint32_t k = 0; k < place->k; ++k)
    if (const auto *collective = m.list(*place)[k]->operation.AsCollective())
      for (const auto &segment : collective->segments)
        if (std::find(released.begin(), released.end(), segment->destination->buffer) != released.end()) {
          m.move(*place, k);
          return true;
        }
  return false;
}

bool releaseOtherBuffer(Mutation &m) {
  const auto place = m.place(isRelease);
  if (!place || m.at(*place).operation.AsRelease()->buffers.empty())
    return false;
  auto &buffers = m.at(*place).operation.AsRelease()->buffers;
  std::vector<std::uint32_t> gathered;
  for (std::uint32_t b = 0; b < m.plan.buffers.size(); ++b)
    if (m.plan.buffers[b]->entry == std::int32_t(place->entry) && m.plan.buffers[b]->unit >= 0)
      gathered.push_back(b);
  buffers[m.below(buffers.size())] = m.pick(gathered);
  return true;
}

bool waitCycle(Mutation &m) {
  const auto place = m.place(isRecord);
  if (!place)
    return false;
  auto wait = std::make_unique<plan::InstructionT>(m.at(*place));
  wait->operation.Set(plan::WaitT());
  wait->operation.AsWait()->event = m.at(*place).operation.AsRecord()->event;
  m.insert(*place, std::move(wait));
  return true;
}

bool gatherBeforeWait(Mutation &m) {
  const auto place = m.place([](const auto &i) { return isCollective(i, plan::CollectiveKind::all_gather); });
  if (!place)
    return false;
  std::uint32_t to = place->k;
  while (to > 0 && (m.list(*place)[to - 1]->stream != m.at(*place).stream || isWait(*m.list(*place)[to - 1])))
    --to;
  m.move(*place, to);
  return to != place->k;
}

bool instructionInOtherSection(Mutation &m) {
  const auto place = m.place(isWork);
  const std::size_t sections = place ? m.plan.entries[place->entry]->sections.size() : 0;
  if (sections < 2)
    return false;
  MutantPlace to = *place;
  to.section = std::uint32_t((place->section + 1 + m.below(sections - 1)) % sections);
  to.k = to.section < place->section ? std::uint32_t(m.list(to).size()) : 0;
  auto moved = std::make_unique<plan::InstructionT>(m.at(*place));
  m.erase(*place);
  m.insert(to, std::move(moved));
  return true;
}

} // namespace

std::vector<MutantKind> orderKinds() {
  return {
      {"drop-wait", "a wait is left out", {2, 3, 4, 6, 12}, [](Mutation &m) { return m.drop(isWait); }},
      {"drop-carried-wait",
       "a wait for the previous step is left out",
       {3, 4, 12},
       [](Mutation &m) { return m.drop([](const auto &i) { return isWait(i) && i.operation.AsWait()->carried; }); }},
      {"drop-record", "a record is left out", {3, 4, 6, 11, 12}, [](Mutation &m) { return m.drop(isRecord); }},
      {"wait-for-other-event", "a wait is for a different event", {2, 3, 4, 6, 11, 12}, waitForOtherEvent},
      {"wait-on-other-stream",
       "a wait is on a different stream",
       {2, 3, 4, 6, 12},
       [](Mutation &m) { return otherStream(m, isWait); }},
      {"record-on-other-stream",
       "a record is on a different stream",
       {2, 3, 4, 6, 11, 12},
       [](Mutation &m) { return otherStream(m, isRecord); }},
      {"wait-after-use",
       "a wait is moved after the next work of its stream",
       {2, 3, 4, 6, 12},
       [](Mutation &m) { return pastWork(m, isWait, 1); }},
      {"record-before-work",
       "a record is moved before the previous work of its stream",
       {2, 3, 4, 6, 12},
       [](Mutation &m) { return pastWork(m, isRecord, -1); }},
      {"change-carried",
       "a wait for this step is for the previous one, or the reverse",
       {2, 3, 4, 6, 11, 12},
       flipCarried},
      {"swap-near",
       "two consecutive instructions of a stream are exchanged",
       {2, 3, 4, 7, 8, 9, 10, 12},
       [](Mutation &m) { return swapOnStream(m, true); }},
      {"swap-far",
       "two instructions of a stream are exchanged",
       {2, 3, 4, 7, 8, 9, 10, 12},
       [](Mutation &m) { return swapOnStream(m, false); }},
      {"launch-on-other-stream",
       "a launch is on a different stream",
       {1, 2, 3, 4, 12},
       [](Mutation &m) { return otherStream(m, isLaunch); }},
      {"collective-on-other-stream",
       "a collective is on a different stream",
       {1, 2, 3, 4, 5, 12},
       [](Mutation &m) { return otherStream(m, [](const auto &i) { return isCollective(i); }); }},
      {"gather-before-wait", "an all_gather is moved before the waits before it", {2, 3, 4, 6, 12}, gatherBeforeWait},
      {"change-when",
       "an instruction is issued in different repetitions",
       {2, 3, 4, 6, 7, 8, 9, 10, 11, 12},
       changeWhen},
      {"merge-events", "two events are one", {2, 3, 4, 6, 11, 12}, mergeEvents},
      {"release-early", "a unit is released before its last use", {2, 4}, releaseEarly},
      {"release-before-gather", "a unit is released before it is gathered", {2, 4}, releaseBeforeGather},
      {"drop-release", "a unit is not released", {4, 12}, [](Mutation &m) { return m.drop(isRelease); }},
      {"release-twice", "a unit is released twice", {4}, [](Mutation &m) { return m.repeat(isRelease); }},
      {"release-other-buffer", "a release names a different gathered buffer", {4, 12}, releaseOtherBuffer},
      {"wait-cycle", "a stream waits for an event that it records afterwards", {6, 11}, waitCycle},
      {"other-section",
       "an instruction is moved to a different section",
       {1, 2, 3, 4, 7, 8, 9, 10, 12},
       instructionInOtherSection},
  };
}

} // namespace sluice
