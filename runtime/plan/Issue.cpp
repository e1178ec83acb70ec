//===- Issue.cpp - number and order of issues, from predicates ---------------------===//
//
// See Issue.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Issue.h"

#include <algorithm>
#include <set>

namespace sluice {
namespace {

/// Largest number of instructions that a report lists or reads. Real plans are far smaller: a step of 126 blocks lists
/// some thousand instructions per micro-batch.
constexpr std::uint64_t reportedMost = 1 << 20, followedMost = 1 << 26;

} // namespace

std::uint64_t timesIssued(const plan::InstructionT &instruction, std::uint32_t repeat, std::uint32_t repetitions) {
  const std::uint64_t count = std::min(repeat, repetitions);
  switch (instruction.when) {
  case plan::When::all:
    return count;
  case plan::When::first:
    return count > 0;
  case plan::When::last:
    return count == repeat;
  case plan::When::not_first:
    return count - (count > 0);
  case plan::When::not_last:
    return count - (count == repeat);
  case plan::When::listed: {
    const std::set<std::uint32_t> listed(instruction.repetitions.begin(), instruction.repetitions.end());
    return std::uint64_t(std::distance(listed.begin(), listed.lower_bound(std::uint32_t(count))));
  }
  }
  return 0;
}

std::uint64_t lastPosition(const plan::EntryT &entry, std::uint32_t index) {
  std::uint64_t position = 0;
  for (const auto &section : entry.sections) {
    const auto &instructions = section->instructions;
    if (index >= instructions.size()) {
      for (const auto &instruction : instructions)
        position += timesIssued(*instruction, section->repeat);
      index -= std::uint32_t(instructions.size());
      continue;
    }
    std::uint32_t last = section->repeat - 1;
    while (last > 0 && !isIssued(*instructions[index], last, section->repeat))
      --last;
    for (std::uint32_t k = 0; k < instructions.size(); ++k)
      position += timesIssued(*instructions[k], section->repeat, last) +
                  (k < index && isIssued(*instructions[k], last, section->repeat));
    break;
  }
  return position;
}

Status checkListable(const plan::PlanT &plan, std::string_view what,
                     bool (*isListed)(const plan::PlanT &, const plan::InstructionT &)) {
  std::uint64_t listed = 0, followed = 0;
  for (const auto &entry : plan.entries)
    for (const auto &section : entry->sections) {
      followed += std::uint64_t(section->repeat) * section->instructions.size();
      for (const auto &instruction : section->instructions)
        if (isListed(plan, *instruction))
          listed += timesIssued(*instruction, section->repeat);
    }
  if (listed <= reportedMost && followed <= followedMost)
    return {};
  const bool many = listed > reportedMost;
  return refusedError("report on plan '" + plan.name + "', expected steps of at most " +
                      std::to_string(many ? reportedMost : followedMost) + " " +
                      (many ? std::string(what) : std::string("repeated instructions")) + " but got " +
                      std::to_string(many ? listed : followed))
      .withNote("'sluice-plan print' has each instruction once, however often it is repeated");
}

} // namespace sluice
