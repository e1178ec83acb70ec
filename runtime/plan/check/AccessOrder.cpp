//===- AccessOrder.cpp - order of the accesses to each byte --------------------------------===//
//
// See AccessOrder.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/AccessOrder.h"

#include "runtime/base/Text.h"

namespace sluice::check {

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
  if (state.step == 0 || buffer.entry == -1)
    return {};
  for (std::size_t s = 0; s < state.plan.streams.size(); ++s) {
    // The first instruction of each stream that may not be done and uses the space.
    for (Instance id : state.order.unknownOfEarlierSteps(s)) {
      const Issued &other = state.order[id];
      if (other.step + 1 != state.step || !uses(state.actions.actions[other.issue], access.space))
        continue;
      if ((buffer.reserved_from != 0 && buffer.reserved_from <= other.issue) ||
          (buffer.begin == 0 && buffer.end == state.actions.actions.size()))
        break;
      return state.witness.refuse(12,
                                  "writes buffer '" + buffer.name + "' while " +
                                      place(state.plan, state.e, other.issue) +
                                      " of the previous step may still run, but its bytes are reserved " +
                                      (buffer.reserved_from == 0 ? std::string("only in its step")
                                                                 : concat("only from ", buffer.reserved_from, " on")),
                                  {state.witness.missingOrder(s, "it")});
    }
  }
  return {};
}

bool AccessOrder::uses(const Action &action, plan::Space space) const {
  for (const Access &access : state.actions.of(action))
    if (access.space == space)
      return true;
  return false;
}

int AccessOrder::raceOf(Instance other, std::int32_t held, std::uint32_t buffer) const {
  if (state.order[other].step != state.step)
    return 12;
  return held == int(buffer) ? 3 : 2;
}

} // namespace sluice::check
