//===- AccessOrder.cpp - order of the accesses to each byte --------------------------------===//
//
// See AccessOrder.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/AccessOrder.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <utility>

namespace sluice::check {

AccessOrder::AccessOrder(SimulationState &state) : state(state) {
  for (std::vector<Users> &bySpace : users)
    bySpace.resize(state.plan.streams.size());
}

void AccessOrder::beginStep() {
  for (std::size_t space = 0; space < std::size(users); ++space) {
    usersBefore[space] = std::exchange(users[space], std::vector<Users>(state.plan.streams.size()));
    for (Users &ofStream : usersBefore[space]) {
      ofStream.lowest = ofStream.instances;
      for (std::size_t k = ofStream.lowest.size(); k-- > 1;)
        if (state.order[ofStream.lowest[k]].issue < state.order[ofStream.lowest[k - 1]].issue)
          ofStream.lowest[k - 1] = ofStream.lowest[k];
    }
  }
}

void AccessOrder::beginInstruction(const Action &action) {
  for (const Access &access : state.actions.of(action)) {
    std::vector<Instance> &instances = users[std::size_t(access.space)][action.instruction->stream].instances;
    if (instances.empty() || instances.back() != state.now)
      instances.push_back(state.now);
  }
}

Verdict AccessOrder::checkRead(const Access &access, const Run &run, std::uint64_t from, bool isGathered) const {
  if (run.writer == before)
    return {};
  const int property =
      isGathered && run.buffer == int(access.buffer) ? 4 : raceOf(run.writer, run.buffer, access.buffer);
  if (isOrdered(run.writer, property))
    return {};
  return state.witness.unordered(property, "reads buffer '" + state.bufferOf(access).name + "'", run.writer,
                                 access.buffer, from, run.end);
}

void AccessOrder::addReader(Run &run) const {
  for (Instance &reader : run.readers)
    if (state.order[reader].stream == state.order[state.now].stream) {
      reader = state.now;
      return;
    }
  run.readers.push_back(state.now);
}

Verdict AccessOrder::checkWrite(const Access &access) {
  const std::string &name = state.bufferOf(access).name;
  const auto checkRun = [&](std::uint64_t from, const Run &run) -> Verdict {
    if (run.writer != before)
      if (const int property = raceOf(run.writer, run.buffer, access.buffer); !isOrdered(run.writer, property))
        return state.witness.unordered(property, "writes buffer '" + name + "'", run.writer, access.buffer, from,
                                       run.end);
    for (Instance reader : run.readers) {
      const Issued &other = state.order[reader];
      const bool gathering =
          state.actions.actions[other.issue].gathers && run.buffer == int(access.buffer) && other.step == state.step;
      if (const int property = gathering ? 4 : raceOf(reader, run.buffer, access.buffer); !isOrdered(reader, property))
        return state.witness.unordered(
            property, "writes buffer '" + name + "'" + (gathering ? " while its gather is in flight" : ""), reader,
            access.buffer, from, run.end);
    }
    return {};
  };
  return state.spaceOf(access.buffer).visit(access.begin, access.end + access.reach, checkRun);
}

bool AccessOrder::isOrdered(Instance other, int property) const {
  ++state.findings[property].facts;
  return state.order.happened(other);
}

Verdict AccessOrder::checkReserved(const Access &access) const {
  const plan::BufferT &buffer = state.bufferOf(access);
  if (buffer.entry == -1 || (buffer.begin == 0 && buffer.end == state.actions.actions.size()))
    return {};
  const std::vector<Users> &before = usersBefore[std::size_t(access.space)];
  for (std::size_t s = 0; s < before.size(); ++s) {
    const auto running = std::ranges::upper_bound(before[s].instances, state.order.doneOn(s), {},
                                                  [&](Instance id) { return state.order[id].time; });
    if (running == before[s].instances.end())
      continue;
    const Issued &other = state.order[before[s].lowest[std::size_t(running - before[s].instances.begin())]];
    if (buffer.reserved_from != 0 && buffer.reserved_from <= other.issue)
      continue;
    return state.witness.refuse(12,
                                "writes buffer '" + buffer.name + "' while " + place(state.plan, state.e, other.issue) +
                                    " of the previous step may still run, but its bytes are reserved " +
                                    (buffer.reserved_from == 0 ? std::string("only in its step")
                                                               : concat("only from ", buffer.reserved_from, " on")),
                                {state.witness.missingOrder(s, "it")});
  }
  return {};
}

int AccessOrder::raceOf(Instance other, std::int32_t held, std::uint32_t buffer) const {
  if (state.order[other].step != state.step)
    return 12;
  return held == int(buffer) ? 3 : 2;
}

} // namespace sluice::check
