//===- ByteValues.cpp - values and padding of bytes ----------------------------------------===//
//
// See ByteValues.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/ByteValues.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace sluice::check {
namespace {

/// A window at an absolute offset.
Window windowAt(std::uint64_t begin, Window window) {
  window.begin += begin;
  return window;
}

/// Those that overlap [from, end); windows of a view are disjoint and in ascending order.
std::span<const Window> windowsWithin(const std::vector<Window> &windows, std::uint64_t begin, std::uint64_t from,
                                      std::uint64_t end) {
  const auto first =
      std::ranges::partition_point(windows, [&](const Window &window) { return begin + window.end() <= from; });
  const auto last =
      std::partition_point(first, windows.end(), [&](const Window &window) { return begin + window.begin < end; });
  return {first, last};
}

/// The range as one run, all written, with no readers.
Run &overwrite(ByteMap &map, std::uint64_t begin, std::uint64_t end) {
  Run &run = map.merge(begin, end);
  run.readers.clear();
  run.columns.reset();
  return run;
}

void setValue(Run &run, std::uint32_t buffer, Instance writer, Padding padding) {
  run.buffer = std::int32_t(buffer);
  run.writer = writer;
  run.padding = padding;
}

} // namespace

void ByteValues::hold(std::uint32_t buffer, std::uint64_t begin, std::uint64_t end) {
  if (begin < end)
    setValue(overwrite(state.spaceOf(buffer), begin, end), buffer, before, clean);
}

Verdict ByteValues::checkRead(const Access &access, const Run &run, std::uint64_t from) {
  const bool needed = from < access.begin + access.neededBytes + access.reach;
  if (needed && isRead(access, from, run.end))
    SLUICE_CHECK(checkWritten(access, run, from));
  if (!access.carriesPadding && run.buffer == int(access.buffer) && run.padding != clean &&
      run.padding != access.padding)
    return state.witness.refuse(
        8,
        "reads padding of buffer '" + state.bufferOf(access).name + "', expected a view with " +
            (run.padding == garbage ? "the true extent" : "the valid extent of its writer"),
        {"written by " + state.witness.describe(run.writer), byteRange(access.space, from, run.end)});
  if (run.padding != clean)
    found.back() = run.padding;
  return {};
}

Verdict ByteValues::checkWritten(const Access &access, const Run &run, std::uint64_t from) const {
  ++state.findings[2].facts;
  const plan::BufferT &buffer = state.bufferOf(access);
  const auto written = [&] {
    return std::vector<std::string>{"written by " + state.witness.describe(run.writer),
                                    byteRange(access.space, from, run.end)};
  };
  if (run.buffer != -1 && run.buffer != int(access.buffer))
    return state.witness.refuse(2,
                                "reads buffer '" + buffer.name + "', whose bytes were overwritten by buffer '" +
                                    state.plan.buffers[run.buffer]->name + "'",
                                written());
  if (run.buffer == -1 || !holdsValues(access, run, from))
    return state.witness.refuse(2, "reads bytes of buffer '" + buffer.name + "' that no instruction has written",
                                {byteRange(access.space, from, run.end)});
  if (buffer.entry == -1 || run.writer == before)
    return {};
  const Issued &writer = state.order[run.writer];
  const bool sameSection = state.sectionBegin <= writer.issue && writer.issue < state.sectionEnd;
  if (sameSection && writer.repetition != state.order[state.now].repetition &&
      (buffer.begin > state.sectionBegin || buffer.end < state.sectionEnd))
    return state.witness.refuse(2,
                                concat("reads buffer '", buffer.name,
                                       "' of a different repetition, expected a lifespan over ",
                                       "the complete section, [", state.sectionBegin, ", ", state.sectionEnd,
                                       "), but got [", buffer.begin, ", ", buffer.end, ")"),
                                written());
  return {};
}

const std::vector<Window> *ByteValues::windowsOf(const Access &access) const {
  return access.windows >= 0 && state.actions.windows[access.windows] ? &*state.actions.windows[access.windows]
                                                                      : nullptr;
}

bool ByteValues::isRead(const Access &access, std::uint64_t from, std::uint64_t end) const {
  const std::vector<Window> *windows = windowsOf(access);
  return !windows || access.reach != 0 ||
         std::ranges::any_of(windowsWithin(*windows, access.begin, from, end),
                             [&](const Window &window) { return touches(windowAt(access.begin, window), from, end); });
}

bool ByteValues::holdsValues(const Access &access, const Run &run, std::uint64_t from) const {
  if (!run.columns)
    return true;
  const std::vector<Window> *windows = windowsOf(access);
  if (!windows || access.reach != 0)
    return run.columns->hold(from, run.end);
  return std::ranges::all_of(windowsWithin(*windows, access.begin, from, run.end), [&](const Window &window) {
    return run.columns->hold(windowAt(access.begin, window), from, run.end);
  });
}

void ByteValues::write(const Action &action, const Access &access) {
  const auto [begin, end] = writtenRange(action, access);
  if (access.windows >= 0) {
    writeWindows(access, begin, end);
    return;
  }
  const auto put = [&](std::uint64_t from, std::uint64_t to, Padding padding) {
    if (from < to)
      setValue(overwrite(state.spaceOf(access.buffer), from, to), access.buffer, state.now, padding);
  };
  Padding padding = access.padding;
  if (access.paddingFrom >= 0 && padding == clean)
    padding = found[access.paddingFrom];
  if (action.gathers && padding != clean) {
    // A range read from a padded shard has its padding after the last row.
    const std::uint64_t data = access.dataBytes == ~std::uint64_t(0) ? begin : begin + access.dataBytes;
    put(begin, data, clean);
    put(data, end, garbage);
  } else {
    put(begin, end, padding);
  }
}

void ByteValues::writeWindows(const Access &access, std::uint64_t begin, std::uint64_t end) {
  ByteMap &map = state.spaceOf(access.buffer);
  const auto change = [&](Run &run) {
    const bool isOwn = run.buffer == int(access.buffer);
    const Padding padding = isOwn && run.padding != clean ? run.padding : access.padding;
    setValue(run, access.buffer, state.now, access.padding == clean || access.padding == padding ? padding : garbage);
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
      window = windowAt(begin, window);
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

std::pair<std::uint64_t, std::uint64_t> ByteValues::writtenRange(const Action &action, const Access &access) {
  if (access.reach == 0)
    return {access.begin, access.end};
  const std::uint64_t bytes = access.end - access.begin;
  const std::uint64_t last = access.reach / access.repetitionStride;
  const std::uint32_t repetition = state.order[state.now].repetition;
  if (repetition == last && action.instruction->when == plan::When::all && access.repetitionStride <= bytes &&
      access.windows < 0)
    return {access.begin, access.end + access.reach};
  state.spaceOf(access.buffer).visit(access.begin, access.end + access.reach, [&](std::uint64_t, Run &run) {
    if (run.buffer != int(access.buffer)) {
      run.buffer = -1;
      run.columns.reset();
    }
    run.writer = state.now;
    run.readers.clear();
    return false;
  });
  const std::uint64_t begin = access.begin + access.repetitionStride * repetition;
  return {begin, begin + bytes};
}

bool ByteValues::isOutput(std::uint32_t buffer, const Run &run, std::uint64_t from) const {
  // The host wrote it, or an instruction, which every step issues again.
  return run.buffer == int(buffer) && (!run.columns || run.columns->hold(from, run.end));
}

} // namespace sluice::check
