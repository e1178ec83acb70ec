//===- Mutation.cpp - places and edits of a plan that is changed ----------------------===//
//
// See Mutation.h.
//
//===----------------------------------------------------------------------===//
#include "test/mutants/mutate/Mutation.h"

#include "runtime/kernel/catalogue/Catalogue.h"

#include <algorithm>

namespace sluice {

std::uint32_t Mutation::issue(const MutantPlace &place) const {
  std::uint32_t before = 0;
  for (std::uint32_t s = 0; s < place.section; ++s)
    before += std::uint32_t(plan.entries[place.entry]->sections[s]->instructions.size());
  return before + place.k;
}

void Mutation::erase(const MutantPlace &place) {
  const std::uint32_t i = issue(place);
  list(place).erase(list(place).begin() + place.k);
  for (const auto &buffer : plan.buffers)
    if (buffer->entry == std::int32_t(place.entry)) {
      buffer->begin -= buffer->begin > i;
      buffer->end -= buffer->end > i;
      buffer->reserved_from -= buffer->reserved_from > i && buffer->reserved_from > 1;
    }
}

void Mutation::insert(const MutantPlace &place, std::unique_ptr<plan::InstructionT> instruction) {
  const std::uint32_t i = issue(place);
  list(place).insert(list(place).begin() + place.k, std::move(instruction));
  for (const auto &buffer : plan.buffers)
    if (buffer->entry == std::int32_t(place.entry)) {
      buffer->begin += buffer->begin >= i && buffer->begin > 0;
      buffer->end += buffer->end > i;
      buffer->reserved_from += buffer->reserved_from >= i && buffer->reserved_from > 0;
    }
  extendLifespans(place.entry);
}

void Mutation::move(const MutantPlace &place, std::uint32_t k) {
  auto &instructions = list(place);
  const auto from = instructions.begin() + place.k, to = instructions.begin() + k;
  if (place.k < k)
    std::rotate(from, from + 1, to + 1);
  else
    std::rotate(to, from, from + 1);
  extendLifespans(place.entry);
}

void Mutation::extendLifespans(std::uint32_t entry) {
  forEachInstruction(*plan.entries[entry], [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
    forEachView(instruction, [&](const plan::ViewT &view, bool) {
      plan::BufferT &buffer = *plan.buffers[view.buffer];
      if (buffer.entry != std::int32_t(entry))
        return;
      buffer.begin = std::min(buffer.begin, i);
      buffer.end = std::max(buffer.end, i + 1);
    });
  });
}

std::vector<plan::ViewT *> Mutation::views(plan::InstructionT &instruction, bool written) {
  std::vector<plan::ViewT *> found;
  forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
    if (isWrite == written)
      found.push_back(const_cast<plan::ViewT *>(&view));
  });
  return found;
}

std::vector<std::uint32_t> Mutation::alikeBuffers(const MutantPlace &place, std::uint32_t buffer) const {
  const plan::BufferT &wanted = *plan.buffers[buffer];
  const std::uint32_t i = issue(place);
  std::vector<std::uint32_t> live, all;
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::BufferT &other = *plan.buffers[b];
    if (b == buffer || other.space != wanted.space || other.dtype != wanted.dtype || other.shape != wanted.shape)
      continue;
    if (other.entry != -1 && other.entry != std::int32_t(place.entry))
      continue;
    all.push_back(b);
    if (other.entry == -1 || (other.begin <= i && i < other.end))
      live.push_back(b);
  }
  return live.empty() ? all : live;
}

std::string_view Mutation::kernel(const plan::InstructionT &instruction) const {
  const plan::LaunchT *launch = instruction.operation.AsLaunch();
  return launch ? std::string_view(plan.kernels[launch->kernel]) : std::string_view();
}

bool Mutation::isUpdate(const plan::InstructionT &instruction) const {
  const KernelRecord *record = isLaunch(instruction) ? findKernelRecord(kernel(instruction)) : nullptr;
  return record && !record->outputs.empty() && record->outputs.begin()->name == "parameter";
}

} // namespace sluice
