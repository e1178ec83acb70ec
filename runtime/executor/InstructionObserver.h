//===- InstructionObserver.h - access to a rank's memory between instructions -------===//
//
// For debugging: an executor with an observer issues one instruction at a time and waits for it, so that at each border
// between instructions nothing runs and the live bytes are those of the plan's lifespans. Only for plans of the CPU.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_INSTRUCTIONOBSERVER_H
#define SLUICE_RUNTIME_EXECUTOR_INSTRUCTIONOBSERVER_H

#include "runtime/base/Status.h"
#include "runtime/executor/LifespanEnds.h"

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// The memory of one rank. It outlives the observer.
struct RankMemory {
  /// By plan::Space; empty for a space without an arena.
  std::array<std::span<std::byte>, 2> arenas;
  /// By stream.
  std::vector<std::span<std::byte>> workspaces;
};

/// An instruction of a repetition of its section.
struct ObservedInstruction {
  std::uint32_t entry = 0;
  /// In issue order within the entry point.
  std::uint32_t index = 0;
  SectionRange section;
  std::uint32_t repetition = 0;
  bool isIssued = true;
  bool isLastRepetition = true;
};

/// Called on the rank's thread. A failure ends the run as a failure of the instruction does.
class InstructionObserver {
public:
  virtual ~InstructionObserver() = default;
  virtual Status beforeEntry(std::uint32_t entry) { return {}; }
  /// Called for each instruction of each repetition in issue order, issued or not.
  virtual Status afterInstruction(const ObservedInstruction &instruction) = 0;
};

using ObserverFactory =
    std::function<std::unique_ptr<InstructionObserver>(const plan::PlanT &plan, int rank, RankMemory memory)>;

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_INSTRUCTIONOBSERVER_H
