//===- GatheredBuffers.cpp - gathers, reads and releases of gathered buffers ---------------===//
//
// See GatheredBuffers.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/GatheredBuffers.h"

namespace sluice::check {

bool GatheredBuffers::contains(std::uint32_t buffer) const {
  const plan::BufferT &record = *state.plan.buffers[buffer];
  return record.entry != -1 && (record.class_ == plan::BufferClass::gathered || record.unit >= 0);
}

Verdict GatheredBuffers::checkRead(const Access &access) const {
  const Gathered &gathered = buffers[access.buffer];
  if (!contains(access.buffer) || access.begin == access.end + access.reach)
    return {};
  ++state.findings[4].facts;
  if (gathered.phase == Gathered::Phase::held)
    return {};
  return state.witness.refuse(
      4,
      "reads buffer '" + state.bufferOf(access).name + "' " +
          (gathered.phase == Gathered::Phase::released ? "after its release" : "before any gather of it"),
      historyOf(gathered));
}

Verdict GatheredBuffers::write(const Action &action, const Access &access) {
  if (!contains(access.buffer))
    return {};
  ++state.findings[4].facts;
  Gathered &gathered = buffers[access.buffer];
  if (gathered.phase == Gathered::Phase::held && action.gathers)
    return state.witness.refuse(4, "gathers buffer '" + state.bufferOf(access).name + "' again before its release",
                                historyOf(gathered));
  gathered = {Gathered::Phase::held, state.now, before};
  return {};
}

Verdict GatheredBuffers::release(const plan::ReleaseT &release) {
  for (std::uint32_t b : release.buffers) {
    const std::string &name = state.plan.buffers[b]->name;
    ++state.findings[4].facts;
    Gathered &gathered = buffers[b];
    if (!contains(b))
      return state.witness.refuse(4, "releases buffer '" + name + "', which is part of no gathered unit");
    if (gathered.phase != Gathered::Phase::held)
      return state.witness.refuse(4, "releases buffer '" + name + "', which is not gathered", historyOf(gathered));
    SLUICE_CHECK(checkIdle(b));
    gathered.phase = Gathered::Phase::released;
    gathered.releasedBy = state.now;
  }
  return {};
}

Verdict GatheredBuffers::checkIdle(std::uint32_t b) {
  const plan::BufferT &buffer = *state.plan.buffers[b];
  const auto checkRun = [&](std::uint64_t begin, const Run &run) -> Verdict {
    if (run.buffer != int(b))
      return {};
    if (!state.order.happened(run.writer))
      return state.witness.unordered(4, "releases buffer '" + buffer.name + "' while it is gathered", run.writer, b,
                                     begin, run.end);
    for (Instance reader : run.readers)
      if (!state.order.happened(reader))
        return state.witness.unordered(4, "releases buffer '" + buffer.name + "' while it is read", reader, b, begin,
                                       run.end);
    return {};
  };
  return state.spaceOf(b).visit(buffer.offset, buffer.offset + buffer.bytes, checkRun);
}

Verdict GatheredBuffers::checkReleased() const {
  for (std::uint32_t b = 0; b < buffers.size(); ++b)
    if (buffers[b].phase == Gathered::Phase::held)
      return refuse(12,
                    "buffer '" + state.plan.buffers[b]->name + "' is still gathered at the end of '" +
                        state.entry.name + "', expected its release",
                    historyOf(buffers[b]));
  return {};
}

} // namespace sluice::check
