//===- MemoryMutants.cpp - lifespans, offsets, sizes, aliases and workspaces ----------===//
#include "test/mutants/mutate/Mutation.h"

#include <algorithm>

namespace sluice {

namespace {

template <typename Accept> plan::BufferT *buffer(Mutation &m, Accept accept) {
  std::vector<plan::BufferT *> found;
  for (const auto &buffer : m.plan.buffers)
    if (accept(*buffer))
      found.push_back(buffer.get());
  return found.empty() ? nullptr : m.pick(found);
}

bool isTransient(const plan::BufferT &buffer) { return buffer.entry >= 0 && buffer.bytes > 0; }

bool endEarly(Mutation &m) {
  plan::BufferT *changed = buffer(m, isTransient);
  if (!changed || changed->end <= changed->begin + 1)
    return false;
  changed->end -= 1 + std::uint32_t(m.below(std::min(changed->end - changed->begin - 1, 3u)));
  return true;
}

bool beginLate(Mutation &m) {
  plan::BufferT *changed = buffer(m, isTransient);
  if (!changed || changed->end <= changed->begin + 1)
    return false;
  changed->begin += 1 + std::uint32_t(m.below(std::min(changed->end - changed->begin - 1, 3u)));
  return true;
}

bool reserveLess(Mutation &m) {
  plan::BufferT *changed = buffer(m, [](const plan::BufferT &b) { return b.reserved_from > 0; });
  if (changed)
    changed->reserved_from = m.coin() ? 0 : changed->reserved_from + 1 + std::uint32_t(m.below(4));
  return changed;
}

/// Gives a buffer the offset of another one of its space that is live at the same time.
bool overlapLive(Mutation &m) {
  plan::BufferT *changed = buffer(m, isTransient);
  if (!changed)
    return false;
  plan::BufferT *other = buffer(m, [&](const plan::BufferT &b) {
    return &b != changed && b.space == changed->space && b.bytes > 0 && b.offset != changed->offset &&
           (b.entry == -1 || (b.entry == changed->entry && b.begin < changed->end && changed->begin < b.end)) &&
           b.offset + changed->bytes <= m.plan.arenas[std::size_t(changed->space)]->bytes;
  });
  if (other)
    changed->offset = other->offset;
  return other;
}

/// Moves a buffer by a multiple of the alignment.
bool otherOffset(Mutation &m) {
  plan::BufferT *changed = buffer(m, isTransient);
  if (!changed)
    return false;
  const plan::ArenaT &arena = *m.plan.arenas[std::size_t(changed->space)];
  if (arena.bytes < changed->bytes)
    return false;
  changed->offset = m.below((arena.bytes - changed->bytes) / arena.alignment + 1) * arena.alignment;
  return true;
}

bool misalign(Mutation &m) {
  plan::BufferT *changed = buffer(m, isTransient);
  if (changed)
    changed->offset += changed->offset >= 4 && m.coin() ? std::uint64_t(-4) : 4;
  return changed;
}

bool pastArena(Mutation &m) {
  plan::BufferT *changed = buffer(m, isTransient);
  if (changed)
    changed->offset = (m.plan.arenas[std::size_t(changed->space)]->bytes + 255) / 256 * 256;
  return changed;
}

bool shrinkBuffer(Mutation &m) {
  plan::BufferT *changed = buffer(m, isTransient);
  if (changed)
    changed->bytes -= 1 + m.below(changed->bytes);
  return changed;
}

bool shrinkArena(Mutation &m) {
  plan::ArenaT &arena = *m.pick(std::vector<plan::ArenaT *>{m.plan.arenas[0].get(), m.plan.arenas.back().get()});
  if (arena.bytes == 0)
    return false;
  arena.bytes -= 1 + m.below(std::min<std::size_t>(arena.bytes, 1024));
  return true;
}

bool shrinkPeak(Mutation &m) {
  plan::ArenaT &arena = *m.plan.arenas[0];
  if (arena.peak_live == 0)
    return false;
  arena.peak_live -= 1 + m.below(std::min<std::size_t>(arena.peak_live, 1024));
  return true;
}

bool shrinkPersistent(Mutation &m) {
  plan::ArenaT &arena = *m.plan.arenas[0];
  if (arena.persistent == 0)
    return false;
  arena.persistent -= 1 + m.below(std::min<std::size_t>(arena.persistent, 1024));
  return true;
}

bool shrinkWorkspace(Mutation &m, bool toZero) {
  return m.edit([](const auto &i) { return isLaunch(i) && i.operation.AsLaunch()->workspace > 0; },
                [&](plan::InstructionT &instruction) {
                  std::uint64_t &workspace = instruction.operation.AsLaunch()->workspace;
                  workspace = toZero ? 0 : m.below(workspace);
                });
}

bool shrinkStreamWorkspace(Mutation &m) {
  std::vector<plan::StreamT *> streams;
  for (const auto &stream : m.plan.streams)
    if (stream->workspace > 0)
      streams.push_back(stream.get());
  if (streams.empty())
    return false;
  m.pick(streams)->workspace /= 2;
  return true;
}

/// All reads of a buffer in an entry point, and all writes if `writes`, use another buffer.
void redirect(Mutation &m, std::uint32_t entry, std::uint32_t from, std::uint32_t to, bool writes) {
  const auto use = [&](const std::vector<plan::ViewT *> &views) {
    for (plan::ViewT *view : views)
      if (view->buffer == from)
        view->buffer = to;
  };
  for (const auto &section : m.plan.entries[entry]->sections)
    for (const auto &instruction : section->instructions) {
      use(m.reads(*instruction));
      if (writes)
        use(m.writes(*instruction));
    }
}

/// An output takes the memory of an input of the same type.
bool aliasInput(Mutation &m) {
  const auto place = m.place([](const auto &i) { return isLaunch(i) && !i.operation.AsLaunch()->inputs.empty(); });
  if (!place)
    return false;
  std::vector<std::pair<plan::ViewT *, plan::ViewT *>> pairs;
  for (plan::ViewT *input : m.reads(m.at(*place)))
    for (plan::ViewT *output : m.writes(m.at(*place)))
      if (sameType(*input, *output) && (input->buffer != output->buffer || input->offset != output->offset))
        pairs.push_back({input, output});
  if (pairs.empty())
    return false;
  const auto [input, output] = m.pick(pairs);
  // The readers of the output read the same bytes.
  redirect(m, place->entry, output->buffer, input->buffer, false);
  output->buffer = input->buffer;
  m.extendLifespans(place->entry);
  return true;
}

/// All uses of one buffer use another one of the same type that is live at the same time.
bool shareBuffer(Mutation &m) {
  const auto place = m.place([](const auto &i) { return isLaunch(i) && !i.operation.AsLaunch()->outputs.empty(); });
  if (!place)
    return false;
  const std::uint32_t from = m.pick(m.writes(m.at(*place)))->buffer;
  const std::vector<std::uint32_t> others = m.alikeBuffers(*place, from);
  if (others.empty() || m.plan.buffers[from]->entry == -1)
    return false;
  const std::uint32_t to = m.pick(others);
  redirect(m, place->entry, from, to, true);
  m.extendLifespans(place->entry);
  return true;
}

bool otherSpace(Mutation &m) {
  plan::BufferT *changed = buffer(m, [](const plan::BufferT &) { return true; });
  changed->space = changed->space == plan::Space::host ? plan::Space::device : plan::Space::host;
  return true;
}

bool makePersistent(Mutation &m) {
  plan::BufferT *changed = buffer(m, isTransient);
  if (!changed)
    return false;
  changed->entry = -1;
  changed->begin = changed->end = changed->reserved_from = 0;
  return true;
}

/// A gathered buffer persists, and its gathers are left out: it holds the zeros of the new arena.
bool persistGathered(Mutation &m) {
  plan::BufferT *changed = buffer(m, [](const plan::BufferT &b) { return isTransient(b) && b.unit >= 0; });
  if (!changed)
    return false;
  std::uint32_t id = 0;
  while (m.plan.buffers[id].get() != changed)
    ++id;
  const bool keepsClass = m.coin();
  if (!keepsClass) {
    changed->class_ = plan::BufferClass::state;
    changed->unit = -1;
  }
  // At the end of the persistent bytes; all others move.
  plan::ArenaT &arena = *m.plan.arenas[std::size_t(changed->space)];
  const std::uint64_t bytes = (changed->bytes + arena.alignment - 1) / arena.alignment * arena.alignment;
  for (const auto &other : m.plan.buffers)
    if (other->space == changed->space && other->entry != -1)
      other->offset += bytes;
  changed->offset = arena.persistent;
  changed->entry = -1;
  changed->begin = changed->end = changed->reserved_from = 0;
  arena.persistent += bytes;
  arena.bytes += bytes;
  arena.peak_live += bytes;
  for (const auto &entry : m.plan.entries)
    for (const auto &section : entry->sections)
      for (const auto &instruction : section->instructions) {
        if (auto *collective = instruction->operation.AsCollective(); collective && collective->segments.size() > 1)
          std::erase_if(collective->segments, [&](const auto &segment) { return segment->destination->buffer == id; });
        if (auto *release = instruction->operation.AsRelease())
          std::erase(release->buffers, id);
      }
  if (keepsClass)
    return true;
  auto variable = std::make_unique<plan::VariableT>();
  variable->name = "gathered";
  variable->buffer = id;
  variable->initializer = std::make_unique<plan::InitializerT>();
  m.plan.variables.push_back(std::move(variable));
  return true;
}

bool shiftView(Mutation &m, bool inside) {
  return m.edit(isWork, [&](plan::InstructionT &instruction) {
    std::vector<plan::ViewT *> all = m.reads(instruction);
    for (plan::ViewT *view : m.writes(instruction))
      all.push_back(view);
    plan::ViewT &view = *m.pick(all);
    const std::uint64_t width = dtypeBytes(baseType(view.dtype)), bytes = m.plan.buffers[view.buffer]->bytes;
    const std::uint64_t room = bytes - std::min(bytes, view.offset + viewBytes(view).value_or(0));
    view.offset += inside ? (room >= width ? width : 0) : room + width;
  });
}

bool bufferOfOtherEntry(Mutation &m) {
  const auto place = m.place(isWork);
  if (!place)
    return false;
  plan::ViewT *view =
      m.pick(m.coin() && !m.reads(m.at(*place)).empty() ? m.reads(m.at(*place)) : m.writes(m.at(*place)));
  std::vector<std::uint32_t> others;
  for (std::uint32_t b = 0; b < m.plan.buffers.size(); ++b)
    if (const plan::BufferT &other = *m.plan.buffers[b];
        other.entry != -1 && other.entry != std::int32_t(place->entry) &&
        other.bytes == m.plan.buffers[view->buffer]->bytes && other.space == m.plan.buffers[view->buffer]->space)
      others.push_back(b);
  if (others.empty())
    return false;
  view->buffer = m.pick(others);
  return true;
}

} // namespace

std::vector<MutantKind> memoryKinds() {
  return {
      {"lifespan-ends-early", "a lifespan ends before the last use", {2, 3, 12}, endEarly},
      {"lifespan-begins-late", "a lifespan begins after the first use", {2, 3, 12}, beginLate},
      {"reserve-less", "bytes are not reserved in the previous step", {1, 2, 3, 12}, reserveLess},
      {"overlap-live-buffer",
       "a buffer has the offset of one that is live at the same time",
       {1, 2, 3, 12},
       overlapLive},
      {"other-offset", "a buffer has a random aligned offset", {1, 2, 3, 12}, otherOffset},
      {"misalign", "an offset is not aligned", {1, 2, 3, 12}, misalign},
      {"offset-past-arena", "a buffer is after the end of its arena", {1}, pastArena},
      {"shrink-buffer", "a buffer has fewer bytes than its shape", {1}, shrinkBuffer},
      {"shrink-arena", "an arena has fewer bytes than declared before", {1, 2}, shrinkArena},
      {"shrink-peak", "the declared peak is too small", {2}, shrinkPeak},
      {"shrink-persistent", "the persistent part of an arena is too small", {1, 2}, shrinkPersistent},
      {"workspace-zero", "a launch has no workspace", {1}, [](Mutation &m) { return shrinkWorkspace(m, true); }},
      {"shrink-workspace", "a launch has less workspace", {1}, [](Mutation &m) { return shrinkWorkspace(m, false); }},
      {"shrink-stream-workspace", "a stream has half of its workspace", {1}, shrinkStreamWorkspace},
      {"alias-input", "an output takes the memory of an input", {1, 2, 3, 4, 7, 8, 9, 10, 12}, aliasInput},
      {"share-buffer",
       "two buffers that are live at the same time are one",
       {1, 2, 3, 4, 7, 8, 9, 10, 12},
       shareBuffer},
      {"other-space", "a buffer is in the other memory space", {1, 2}, otherSpace},
      {"make-persistent", "a buffer of an entry point persists", {1, 2, 4, 8}, makePersistent},
      {"persist-gathered", "a gathered buffer persists and is never gathered", {1, 4, 8, 9, 12, 15}, persistGathered},
      {"shift-view",
       "a view begins one element later in its buffer",
       {1, 2, 8, 9, 10},
       [](Mutation &m) { return shiftView(m, true); }},
      {"view-past-buffer", "a view ends after its buffer", {1}, [](Mutation &m) { return shiftView(m, false); }},
      {"buffer-of-other-entry", "an operand is a buffer of a different entry point", {1, 2}, bufferOfOtherEntry},
  };
}

} // namespace sluice
