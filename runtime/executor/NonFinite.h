//===- NonFinite.h - searches a step for the first value that is not finite ----------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_NONFINITE_H
#define SLUICE_RUNTIME_EXECUTOR_NONFINITE_H

#include "runtime/executor/Binding.h"

#include <memory>
#include <optional>
#include <string>

namespace sluice {

/// A value of a step that is not finite.
struct NonFinite {
  /// In issue order, all repetitions counted from 1; 0: before the first instruction. Ranks of one plan count alike.
  std::uint64_t position = 0;
  /// Rank, instruction, phase, micro-batch, source, buffer or parameter, number of such elements, the first of them.
  std::string text;
};

/// Finds the first instruction of a run that writes NaN or an infinity which it did not read. What an instruction
/// copies from a constant, such as the -infinity of an attention mask, is not counted, and neither are running
/// statistics, which a failed step has already changed. Before the first instruction it looks at parameters, optimizer
/// states and inputs of the entry point.
class NonFiniteSearch final : public InstructionObserver {
public:
  /// `plan` outlives the search.
  NonFiniteSearch(const plan::PlanT &plan, int rank, const RankMemory &memory);

  Status beforeEntry(std::uint32_t entry) override;
  Status afterInstruction(const ObservedInstruction &instruction) override;

  /// Of the runs since the search was created; nullopt: all values were finite.
  const std::optional<NonFinite> &found() const { return first; }

private:
  /// Bits: NaN, infinity, -infinity.
  using Kinds = std::uint8_t;
  struct Content {
    Kinds kinds = 0;
    std::uint64_t count = 0, elements = 0;
    /// Of the first element that is not finite.
    std::uint64_t index = 0;
    double value = 0;
  };

  /// `isRead`, by byte from the operand's data: only of elements for which it is true; null: of all.
  static Content contentOf(const Operand &operand, const bool *isRead = nullptr);
  /// The bytes of a buffer at which an element begins that a launch or copy of the entry point reads.
  Result<std::unique_ptr<bool[]>> readBytes(std::uint32_t buffer) const;
  /// Records `what` with a description of its content.
  void record(std::string what, const Operand &operand, const Content &content);
  Status lookAt(const plan::ViewT &view, std::uint32_t repetitions, const std::string &what);
  Status lookAtOutput(const ObservedInstruction &at, const plan::InstructionT &instruction, const plan::ViewT &view,
                      Kinds known);
  std::string describePlace(const ObservedInstruction &at, const plan::InstructionT &instruction) const;

  const plan::PlanT &plan;
  const int rank;
  Binder binder;
  std::vector<const plan::InstructionT *> instructions;
  /// By buffer: what its bytes contain, as far as instructions of this run wrote them.
  std::vector<Kinds> kinds;
  std::vector<bool> isStatistic;
  std::uint64_t position = 0;
  std::optional<NonFinite> first;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_NONFINITE_H
