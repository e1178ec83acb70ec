//===- Mutation.h - places and edits of a plan that is changed ------------------------===//
//
// The functions that the families of mutants share: draw a place, insert, remove or move an instruction with the
// lifespans of all buffers, find a buffer of the same type. A change may make the plan wrong in any way.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_MUTANTS_MUTATE_MUTATION_H
#define SLUICE_TEST_MUTANTS_MUTATE_MUTATION_H

#include "test/mutants/mutate/Mutant.h"

#include <memory>
#include <random>
#include <utility>

namespace sluice {

/// An instruction of a section of an entry point.
struct MutantPlace {
  std::uint32_t entry = 0, section = 0, k = 0;
};

class Mutation {
public:
  Mutation(plan::PlanT &plan, std::uint64_t seed) : plan(plan), random(seed) {}

  plan::PlanT &plan;

  //===--- Draw ---===//
  /// A number below `count`, which is not 0.
  std::size_t below(std::size_t count) { return std::size_t(random() % count); }
  bool coin() { return below(2) == 0; }
  template <typename T> const T &pick(const std::vector<T> &list) { return list[below(list.size())]; }

  /// The places of entry points that train or evaluate whose instruction is accepted.
  template <typename Accept> std::vector<MutantPlace> places(Accept &&accept) const {
    return find(std::forward<Accept>(accept), false);
  }
  /// The same for entry points that initialize.
  template <typename Accept> std::vector<MutantPlace> initPlaces(Accept &&accept) const {
    return find(std::forward<Accept>(accept), true);
  }
  /// One of places().
  template <typename Accept> std::optional<MutantPlace> place(Accept &&accept) {
    const std::vector<MutantPlace> all = places(std::forward<Accept>(accept));
    return all.empty() ? std::nullopt : std::optional(pick(all));
  }
  /// Edits one of the accepted instructions; false without such an instruction.
  template <typename Accept, typename Edit> bool edit(Accept &&accept, Edit &&edit) {
    const std::optional<MutantPlace> found = place(std::forward<Accept>(accept));
    if (!found)
      return false;
    edit(at(*found));
    return true;
  }

  /// Removes one of the accepted instructions; false without such an instruction.
  template <typename Accept> bool drop(Accept &&accept) {
    const std::optional<MutantPlace> found = place(std::forward<Accept>(accept));
    if (found)
      erase(*found);
    return found.has_value();
  }
  /// Runs one of the accepted instructions twice; false without such an instruction.
  template <typename Accept> bool repeat(Accept &&accept) {
    const std::optional<MutantPlace> found = place(std::forward<Accept>(accept));
    if (found)
      insert(*found, std::make_unique<plan::InstructionT>(at(*found)));
    return found.has_value();
  }
  /// One of the accepted attributes of the launches at these places; null without such an attribute.
  template <typename Accept> plan::AttributeT *attribute(const std::vector<MutantPlace> &places, Accept &&accept) {
    std::vector<plan::AttributeT *> found;
    for (const MutantPlace &place : places)
      for (const auto &attribute : launch(place)->attributes)
        if (accept(*attribute))
          found.push_back(attribute.get());
    return found.empty() ? nullptr : pick(found);
  }

  //===--- Instructions ---===//
  using Instructions = std::vector<std::unique_ptr<plan::InstructionT>>;
  Instructions &list(const MutantPlace &place) const {
    return plan.entries[place.entry]->sections[place.section]->instructions;
  }
  plan::InstructionT &at(const MutantPlace &place) const { return *list(place)[place.k]; }
  /// Index in the entry point, in issue order.
  std::uint32_t issue(const MutantPlace &place) const;

  void erase(const MutantPlace &place);
  /// Before the instruction at `place`, or at the end of the section.
  void insert(const MutantPlace &place, std::unique_ptr<plan::InstructionT> instruction);
  /// Moves it to position `k` of its section. Lifespans are extended to all uses.
  void move(const MutantPlace &place, std::uint32_t k);
  /// Extends each lifespan of an entry point's buffers to their first and last use, so that only the change itself is
  /// wrong.
  void extendLifespans(std::uint32_t entry);

  //===--- Views and buffers ---===//
  static std::vector<plan::ViewT *> reads(plan::InstructionT &instruction) { return views(instruction, false); }
  static std::vector<plan::ViewT *> writes(plan::InstructionT &instruction) { return views(instruction, true); }
  /// Buffers of the same type that the instruction at `place` may use: persistent ones and those of the entry point;
  /// live ones alone if there are any.
  std::vector<std::uint32_t> alikeBuffers(const MutantPlace &place, std::uint32_t buffer) const;
  bool isPersistent(const plan::ViewT &view) const { return plan.buffers[view.buffer]->entry == -1; }

  plan::CollectiveT *collective(const MutantPlace &place) const { return at(place).operation.AsCollective(); }
  plan::LaunchT *launch(const MutantPlace &place) const { return at(place).operation.AsLaunch(); }
  std::string_view kernel(const plan::InstructionT &instruction) const;
  bool isKernel(const plan::InstructionT &instruction, std::string_view name) const {
    return kernel(instruction) == name;
  }
  /// A launch that updates parameters.
  bool isUpdate(const plan::InstructionT &instruction) const;

private:
  template <typename Accept> std::vector<MutantPlace> find(Accept &&accept, bool initializes) const {
    std::vector<MutantPlace> found;
    for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
      for (std::uint32_t s = 0; s < plan.entries[e]->sections.size(); ++s)
        for (std::uint32_t k = 0; k < plan.entries[e]->sections[s]->instructions.size(); ++k)
          if (const MutantPlace place{e, s, k};
              (at(place).phase == plan::Phase::init) == initializes && accept(std::as_const(at(place))))
            found.push_back(place);
    return found;
  }
  static std::vector<plan::ViewT *> views(plan::InstructionT &instruction, bool written);

  std::mt19937_64 random;
};

// Predicates of instructions.
inline bool isWait(const plan::InstructionT &instruction) {
  return instruction.operation.type == plan::Operation::Wait;
}
inline bool isRecord(const plan::InstructionT &instruction) {
  return instruction.operation.type == plan::Operation::Record;
}
inline bool isRelease(const plan::InstructionT &instruction) {
  return instruction.operation.type == plan::Operation::Release;
}
inline bool isLaunch(const plan::InstructionT &instruction) {
  return instruction.operation.type == plan::Operation::Launch;
}
inline bool isCollective(const plan::InstructionT &instruction) {
  return instruction.operation.type == plan::Operation::Collective;
}
inline bool isCollective(const plan::InstructionT &instruction, plan::CollectiveKind kind) {
  return isCollective(instruction) && instruction.operation.AsCollective()->kind == kind;
}
inline bool isCopy(const plan::InstructionT &instruction) {
  return instruction.operation.type == plan::Operation::Copy;
}
inline bool hasInputs(const plan::InstructionT &instruction, std::size_t least) {
  return isLaunch(instruction) && instruction.operation.AsLaunch()->inputs.size() >= least;
}
/// It accesses memory.
inline bool isWork(const plan::InstructionT &instruction) {
  return isLaunch(instruction) || isCollective(instruction) || isCopy(instruction) ||
         instruction.operation.type == plan::Operation::Fill;
}
/// A collective that adds.
inline bool isReduction(const plan::InstructionT &instruction) {
  return isCollective(instruction) && instruction.operation.AsCollective()->op != plan::ReduceOp::none;
}
inline bool sameType(const plan::ViewT &a, const plan::ViewT &b) { return a.dtype == b.dtype && a.shape == b.shape; }

std::vector<MutantKind> orderKinds();
std::vector<MutantKind> memoryKinds();
std::vector<MutantKind> reductionKinds();
std::vector<MutantKind> accumulationKinds();
std::vector<MutantKind> operandKinds();
std::vector<MutantKind> viewKinds();
std::vector<MutantKind> initializationKinds();
std::vector<MutantKind> programKinds();
std::vector<MutantKind> updateKinds();
std::vector<MutantKind> stateKinds();
std::vector<MutantKind> declarationKinds();

} // namespace sluice

#endif // SLUICE_TEST_MUTANTS_MUTATE_MUTATION_H
