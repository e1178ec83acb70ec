//===- Simulate.cpp - P2, P3, P4, P8, P11, P12 by following a step twice --------------------===//
//
// Issues the instructions of an entry point in order, twice, and tracks which work is done before which (StreamOrder.h)
// and, for every byte, its last writer, the buffer of that write, and the readers since then. The host accesses only
// ports, where it waits for their users. A Witness (Witness.h) reports the counterexample.
//
// Repetitions of a section are simulated for a sample. For races, a view that moves with the repetition accesses the
// range of all its repetitions in each of them, so that all repetitions between the sampled ones are like these. Of
// such a view, a read needs all of the range, and a write gives a value only to its own slice, until the last
// repetition completes the range.
//
// With carried waits three steps are simulated: a step may overlap with the previous one, and follows the one before
// that. A run that follows a run of a different entry point starts after all of it, so each entry point is
// simulated after itself only.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/ByteMap.h"

#include "runtime/base/Text.h"
#include "runtime/plan/check/Witness.h"

#include <algorithm>

namespace sluice::check {
namespace {

/// P4: the state of a part of a gathered unit.
struct Gathered {
  enum class State : std::uint8_t { empty, held, released } state = State::empty;
  Instance filledBy = before;
  Instance releasedBy = before;
};

class Simulation {
public:
  Simulation(const plan::PlanT &plan, std::uint32_t entry, PaddingIds &paddings)
      : plan(plan), e(entry), entry(*plan.entries[entry]), actions(resolveActions(plan, this->entry, paddings)),
        order(plan.streams.size()), witness(plan, entry, actions, order), gathered(plan.buffers.size()) {
    for (plan::Space space : {plan::Space::device, plan::Space::host}) {
      const plan::ArenaT *arena = arenaOf(plan, space);
      spaces.emplace_back(arena ? arena->bytes : 0);
    }
    for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
      if (plan.buffers[b]->entry == -1)
        hold(b, plan.buffers[b]->offset, plan.buffers[b]->offset + plan.buffers[b]->bytes);
  }

  Verdict run() {
    SLUICE_CHECK(checkPortLifespans());
    const bool carries = std::any_of(actions.actions.begin(), actions.actions.end(),
                                     [](const Action &action) { return action.carried; });
    for (step = 0; step < (carries ? 3u : 2u); ++step) {
      order.beginStep(step, entry.events);
      writeInputs();
      std::uint32_t first = 0;
      for (const auto &section : entry.sections) {
        sectionBegin = first;
        sectionEnd = first + std::uint32_t(section->instructions.size());
        for (std::uint32_t r : sampleRepetitions(*section))
          for (std::uint32_t i = sectionBegin; i < sectionEnd; ++i)
            if (isIssued(*actions.actions[i].instruction, r, section->repeat))
              SLUICE_CHECK(issue(actions.actions[i], r));
        first = sectionEnd;
      }
      SLUICE_CHECK(checkEnd());
    }
    return {};
  }

private:
  //===--- The step ---===//

  Verdict issue(const Action &action, std::uint32_t repetition) {
    now = order.issue(action.issue, action.instruction->stream, repetition);
    switch (action.kind) {
    case plan::Operation::Record:
      order.record(action.event);
      return {};
    case plan::Operation::Wait:
      return wait(action);
    case plan::Operation::Release:
      return release(action);
    default:
      break;
    }
    carried.clear();
    for (const Access &access : actions.of(action))
      SLUICE_CHECK(access.isWrite ? write(action, access) : read(action, access));
    return {};
  }

  Verdict wait(const Action &action) {
    if (action.carried && step == 0)
      return {};
    const auto wrong = [&](const char *why) {
      return witness.refuse(11, concat("waits for event ", action.event, why), witness.recordsOf(action.event));
    };
    if (action.carried && !order.recordOf(action.event).empty())
      return wrong(" of the previous step, but this step recorded it again before");
    const StreamOrder::Clock &record =
        action.carried ? order.recordOfStepBefore(action.event) : order.recordOf(action.event);
    if (record.empty())
      return wrong(action.carried ? " of the previous step, which no step records"
                                  : ", which has no earlier record in the step");
    order.wait(record);
    return {};
  }

  Verdict release(const Action &action) {
    for (std::uint32_t b : action.instruction->operation.AsRelease()->buffers) {
      const plan::BufferT &buffer = *plan.buffers[b];
      Gathered &state = gathered[b];
      if (!isGathered(b))
        return witness.refuse(4, "releases buffer '" + buffer.name + "', which is part of no gathered unit");
      if (state.state != Gathered::State::held)
        return witness.refuse(4, "releases buffer '" + buffer.name + "', which is not gathered", history(state));
      Verdict verdict = space(b).visit(
          buffer.offset, buffer.offset + buffer.bytes, [&](std::uint64_t begin, const Run &run) -> Verdict {
            if (run.buffer != int(b))
              return {};
            if (!order.happened(run.writer))
              return witness.unordered(4, "releases buffer '" + buffer.name + "' while it is gathered", run.writer, b,
                                       begin, run.end);
            for (Instance reader : run.readers)
              if (!order.happened(reader))
                return witness.unordered(4, "releases buffer '" + buffer.name + "' while it is read", reader, b, begin,
                                         run.end);
            return {};
          });
      if (verdict)
        return verdict;
      state.state = Gathered::State::released;
      state.releasedBy = now;
    }
    return {};
  }

  Verdict read(const Action &action, const Access &access) {
    const std::uint64_t begin = access.begin, end = access.end + access.reach;
    const plan::BufferT &buffer = *plan.buffers[access.buffer];
    const bool tracked = isGathered(access.buffer);
    if (tracked && begin != end && gathered[access.buffer].state != Gathered::State::held)
      return witness.refuse(4,
                            "reads buffer '" + buffer.name + "' " +
                                (gathered[access.buffer].state == Gathered::State::released
                                     ? "after its release"
                                     : "before any gather of it"),
                            history(gathered[access.buffer]));
    Padding padding = clean;
    Verdict verdict = space(access.buffer).visit(begin, end, [&](std::uint64_t from, Run &run) -> Verdict {
      const bool needed = from < begin + access.neededBytes + access.reach;
      if (!order.happened(run.writer))
        return witness.unordered(
            tracked && run.buffer == int(access.buffer) ? 4 : race(run.writer, run.buffer, access.buffer),
            "reads buffer '" + buffer.name + "'", run.writer, access.buffer, from, run.end);
      if (needed && isRead(access, from, run.end))
        SLUICE_CHECK(checkWritten(access, run, from));
      if (!access.carriesPadding && run.buffer == int(access.buffer) && run.padding != clean &&
          run.padding != access.padding)
        return witness.refuse(8,
                              "reads padding of buffer '" + buffer.name + "', expected a view with " +
                                  (run.padding == garbage ? "the true extent" : "the valid extent of its writer"),
                              {"written by " + witness.describe(run.writer), byteRange(access.space, from, run.end)});
      if (run.padding != clean)
        padding = run.padding;
      addReader(run);
      return {};
    });
    carried.push_back(padding);
    return verdict;
  }

  /// P2: the bytes were written through this buffer.
  Verdict checkWritten(const Access &access, const Run &run, std::uint64_t from) const {
    const plan::BufferT &buffer = *plan.buffers[access.buffer];
    if (run.buffer == -1 || (run.buffer == int(access.buffer) && !holdsValues(access, run, from)))
      return witness.refuse(2, "reads bytes of buffer '" + buffer.name + "' that no instruction has written",
                            {byteRange(access.space, from, run.end)});
    if (run.buffer != int(access.buffer))
      return witness.refuse(2,
                            "reads buffer '" + buffer.name + "', whose bytes were overwritten by buffer '" +
                                plan.buffers[run.buffer]->name + "'",
                            {"written by " + witness.describe(run.writer), byteRange(access.space, from, run.end)});
    if (buffer.entry == -1 || run.writer == before)
      return {};
    const Issued &writer = order[run.writer];
    const bool sameSection = sectionBegin <= writer.issue && writer.issue < sectionEnd;
    if (sameSection && writer.repetition != order[now].repetition &&
        (buffer.begin > sectionBegin || buffer.end < sectionEnd))
      return witness.refuse(2,
                            concat("reads buffer '", buffer.name,
                                   "' of a different repetition, expected a lifespan over ", "the complete section, [",
                                   sectionBegin, ", ", sectionEnd, "), but got [", buffer.begin, ", ", buffer.end, ")"),
                            {"written by " + witness.describe(run.writer), byteRange(access.space, from, run.end)});
    return {};
  }

  /// The windows of a strided access in repetition 0; null for a dense one, and where they are not listed.
  const std::vector<Window> *windowsOf(const Access &access) const {
    return access.windows >= 0 && actions.windows[access.windows] ? &*actions.windows[access.windows] : nullptr;
  }
  /// Windows at an absolute offset.
  static Window at(std::uint64_t begin, Window window) {
    window.begin += begin;
    return window;
  }

  /// False for bytes between the elements of a strided view.
  bool isRead(const Access &access, std::uint64_t from, std::uint64_t end) const {
    const std::vector<Window> *windows = windowsOf(access);
    return !windows || access.reach != 0 || std::any_of(windows->begin(), windows->end(), [&](const Window &window) {
      return touches(at(access.begin, window), from, end);
    });
  }
  /// True if the accessed bytes of a run of the same buffer were written.
  bool holdsValues(const Access &access, const Run &run, std::uint64_t from) const {
    if (!run.columns)
      return true;
    const std::vector<Window> *windows = windowsOf(access);
    if (!windows || access.reach != 0)
      return run.columns->hold(from, run.end);
    return std::all_of(windows->begin(), windows->end(), [&](const Window &window) {
      return run.columns->hold(at(access.begin, window), from, run.end);
    });
  }

  Verdict write(const Action &action, const Access &access) {
    if (access.begin == access.end)
      return {};
    const plan::BufferT &buffer = *plan.buffers[access.buffer];
    SLUICE_CHECK(isKept(access));
    if (isGathered(access.buffer)) {
      Gathered &state = gathered[access.buffer];
      if (state.state == Gathered::State::held && action.gathers)
        return witness.refuse(4, "gathers buffer '" + buffer.name + "' again before its release", history(state));
      state = {Gathered::State::held, now, before};
    }
    ByteMap &map = space(access.buffer);
    const auto checkOrder = [&](std::uint64_t from, const Run &run) -> Verdict {
      if (!order.happened(run.writer))
        return witness.unordered(race(run.writer, run.buffer, access.buffer), "writes buffer '" + buffer.name + "'",
                                 run.writer, access.buffer, from, run.end);
      for (Instance reader : run.readers)
        if (!order.happened(reader)) {
          const bool gathering = actions.actions[order[reader].issue].gathers && run.buffer == int(access.buffer) &&
                                 order[reader].step == step;
          return witness.unordered(gathering ? 4 : race(reader, run.buffer, access.buffer),
                                   "writes buffer '" + buffer.name + "'" +
                                       (gathering ? " while its gather is in flight" : ""),
                                   reader, access.buffer, from, run.end);
        }
      return {};
    };
    SLUICE_CHECK(map.visit(access.begin, access.end + access.reach, checkOrder));
    const auto [begin, end] = writtenRange(action, access);
    if (access.windows >= 0) {
      writeWindows(access, begin, end);
      return {};
    }
    auto put = [&](std::uint64_t from, std::uint64_t to, Padding padding) {
      if (from < to)
        set(map.overwrite(from, to), access.buffer, now, padding);
    };
    Padding padding = access.padding;
    if (access.paddingFrom >= 0 && padding == clean)
      padding = carried[access.paddingFrom];
    if (action.gathers && padding != clean) {
      // A range read from a padded shard has its padding after the last row.
      const std::uint64_t data = access.dataBytes == ~std::uint64_t(0) ? begin : begin + access.dataBytes;
      put(begin, data, clean);
      put(data, end, garbage);
    } else {
      put(begin, end, padding);
    }
    return {};
  }

  /// The bytes between the elements keep their values, and their padding.
  void writeWindows(const Access &access, std::uint64_t begin, std::uint64_t end) {
    ByteMap &map = space(access.buffer);
    const auto change = [&](Run &run) {
      const bool isOwn = run.buffer == int(access.buffer);
      const Padding padding = isOwn && run.padding != clean ? run.padding : access.padding;
      set(run, access.buffer, now, access.padding == clean || access.padding == padding ? padding : garbage);
      run.readers.clear();
      return isOwn;
    };
    const std::vector<Window> *windows = windowsOf(access);
    if (!windows)
      map.visit(begin, end, [&](std::uint64_t, Run &run) {
        if (!change(run))
          run.buffer = -1;
        return false;
      });
    else
      for (Window window : *windows) {
        window = at(begin, window);
        map.visit(window.begin, window.end(), [&](std::uint64_t from, Run &run) {
          const bool isOwn = change(run);
          if (isOwn && (!run.columns || run.columns->period != window.period))
            return false;
          Columns columns = isOwn ? *run.columns : Columns(window.period);
          columns.add(window);
          run.columns = columns.hold(from, run.end) ? nullptr : std::make_shared<const Columns>(std::move(columns));
          return false;
        });
      }
  }

  /// The bytes to which a write gives values. The rest of the range of a view that moves has only the writer.
  std::pair<std::uint64_t, std::uint64_t> writtenRange(const Action &action, const Access &access) {
    if (access.reach == 0)
      return {access.begin, access.end};
    const std::uint64_t bytes = access.end - access.begin;
    const std::uint64_t last = access.reach / access.repetitionStride;
    if (order[now].repetition == last && action.instruction->when == plan::When::all &&
        access.repetitionStride <= bytes && access.windows < 0)
      return {access.begin, access.end + access.reach};
    space(access.buffer).visit(access.begin, access.end + access.reach, [&](std::uint64_t, Run &run) {
      if (run.buffer != int(access.buffer)) {
        run.buffer = -1;
        run.columns.reset();
      }
      run.writer = now;
      run.readers.clear();
      return false;
    });
    const std::uint64_t begin = access.begin + access.repetitionStride * order[now].repetition;
    return {begin, begin + bytes};
  }

  //===--- The previous step ---===//

  /// A running instruction of the previous step does not conflict with a write here if the buffer is reserved from that
  /// instruction on, so that its bytes count at the peak.
  Verdict isKept(const Access &access) {
    const plan::BufferT &buffer = *plan.buffers[access.buffer];
    if (step == 0 || buffer.entry == -1)
      return {};
    for (std::size_t s = 0; s < plan.streams.size(); ++s) {
      // The first instruction of each stream that may not be done and uses the space.
      for (Instance id : order.unknownOfEarlierSteps(s)) {
        const Issued &other = order[id];
        if (other.step + 1 != step || !uses(actions.actions[other.issue], access.space))
          continue;
        if ((buffer.reserved_from != 0 && buffer.reserved_from <= other.issue) ||
            (buffer.begin == 0 && buffer.end == actions.actions.size()))
          break;
        return witness.refuse(12,
                              "writes buffer '" + buffer.name + "' while " + place(plan, e, other.issue) +
                                  " of the previous step may still run, but its bytes are reserved " +
                                  (buffer.reserved_from == 0 ? std::string("only in its step")
                                                             : concat("only from ", buffer.reserved_from, " on")),
                              {witness.missingOrder(s, "it")});
      }
    }
    return {};
  }

  bool uses(const Action &action, plan::Space space) const {
    for (const Access &access : actions.of(action))
      if (access.space == space)
        return true;
    return false;
  }

  //===--- The host and the step's ends ---===//

  Verdict checkPortLifespans() const {
    const std::uint32_t count = std::uint32_t(actions.actions.size());
    for (const auto *ports : {&entry.inputs, &entry.outputs})
      for (const auto &port : *ports) {
        const plan::BufferT &buffer = *plan.buffers[port->view->buffer];
        const bool isInput = ports == &entry.inputs;
        if (buffer.entry != -1 && (isInput ? buffer.begin != 0 : buffer.end != count))
          return refuse(12, concat(std::string(isInput ? "input" : "output"), " '", port->name, "' of '", entry.name,
                                   "', expected its buffer to be live ", (isInput ? "from the start" : "until the end"),
                                   " of the step but its lifespan is [", buffer.begin, ", ", buffer.end, ")"));
      }
    return {};
  }

  /// The host writes inputs after all instructions that use them, so no access to these bytes is in flight.
  void writeInputs() {
    for (const auto &port : entry.inputs) {
      const auto [begin, end] = bytesOf(*port);
      hold(port->view->buffer, begin, end);
    }
  }
  /// Of all slices, which are neighbours.
  std::pair<std::uint64_t, std::uint64_t> bytesOf(const plan::PortT &port) const {
    const std::uint64_t begin = plan.buffers[port.view->buffer]->offset + port.view->offset;
    return {begin, begin + *viewBytes(*port.view) * (port.per_repetition ? entry.sections[0]->repeat : 1)};
  }

  /// P12: at the end no unit is gathered, and every output is written.
  Verdict checkEnd() {
    for (std::uint32_t b = 0; b < gathered.size(); ++b)
      if (gathered[b].state == Gathered::State::held)
        return refuse(12,
                      "buffer '" + plan.buffers[b]->name + "' is still gathered at the end of '" + entry.name +
                          "', expected its release",
                      history(gathered[b]));
    for (const auto &port : entry.outputs) {
      const std::uint32_t b = port->view->buffer;
      const auto [begin, end] = bytesOf(*port);
      SLUICE_CHECK(space(b).visit(begin, end, [&](std::uint64_t from, const Run &run) -> Verdict {
        if (run.buffer == int(b) && (!run.columns || run.columns->hold(from, run.end)) &&
            (run.writer == before || order[run.writer].step == step))
          return {};
        return refuse(12, "output '" + port->name + "' of '" + entry.name + "' is not there at the end of the step",
                      {byteRange(plan.buffers[b]->space, from, run.end)});
      }));
    }
    return {};
  }

  //===--- State ---===//

  ByteMap &space(std::uint32_t b) { return spaces[std::size_t(plan.buffers[b]->space)]; }
  bool isGathered(std::uint32_t b) const {
    return plan.buffers[b]->entry != -1 &&
           (plan.buffers[b]->class_ == plan::BufferClass::gathered || plan.buffers[b]->unit >= 0);
  }
  static void set(Run &run, std::uint32_t buffer, Instance writer, Padding padding) {
    run.buffer = std::int32_t(buffer);
    run.writer = writer;
    run.padding = padding;
  }
  void hold(std::uint32_t b, std::uint64_t begin, std::uint64_t end) {
    if (begin < end)
      set(space(b).overwrite(begin, end), b, before, clean);
  }
  void addReader(Run &run) const {
    for (Instance &reader : run.readers)
      if (order[reader].stream == order[now].stream) {
        reader = now;
        return;
      }
    run.readers.push_back(now);
  }

  /// The property that two unordered accesses violate: by step, and by whether they access one buffer.
  int race(Instance other, std::int32_t held, std::uint32_t buffer) const {
    if (order[other].step != step)
      return 12;
    return held == int(buffer) ? 3 : 2;
  }
  std::vector<std::string> history(const Gathered &state) const {
    return witness.history(state.filledBy, state.releasedBy);
  }

  const plan::PlanT &plan;
  std::uint32_t e;
  const plan::EntryT &entry;
  Actions actions;
  StreamOrder order;
  Witness witness;
  std::vector<Gathered> gathered;
  std::vector<ByteMap> spaces;
  /// Padding found by each read of the current instruction.
  std::vector<Padding> carried;
  std::uint32_t step = 0;
  Instance now = before;
  std::uint32_t sectionBegin = 0;
  std::uint32_t sectionEnd = 0;
};

} // namespace

Verdict simulate(const plan::PlanT &plan) {
  PaddingIds paddings(plan);
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
    SLUICE_CHECK(Simulation(plan, e, paddings).run());
  return {};
}

} // namespace sluice::check
