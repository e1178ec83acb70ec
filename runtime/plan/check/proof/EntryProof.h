//===- EntryProof.h - follows one entry point -----------------------------------------------===//
//
// EntryProof.cpp: repetitions, what holds before and after the entry point. Launches.cpp: launches and copies.
// Collectives.cpp: collectives.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_ENTRYPROOF_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_ENTRYPROOF_H

#include "runtime/kernel/catalogue/Record.h"
#include "runtime/plan/check/proof/Contents.h"
#include "runtime/plan/check/proof/KernelRules.h"
#include "runtime/plan/check/proof/Proof.h"

#include <set>
#include <unordered_map>

namespace sluice::check::proof {

/// Why a tensor does not hold an expected value.
struct Mismatch {
  int property = 9;
  std::string text;
  /// The checker does not know what the tensor holds.
  bool isUnknown = false;
  /// The reason is a missing rule: the tensor may be right.
  bool lacksRule = false;

  /// Of a tensor of which nothing is known.
  static Mismatch unknown(const Reason &reason) { return {9, reason.text, true, reason.lacksRule}; }
  Reason reason() const { return {text, lacksRule}; }
};

/// A tensor that holds a value of the program, or a shard of it, or terms of one of them.
struct Match {
  Reading reading;
  /// By dim of the value; empty if the tensor has other dims: a part by elements.
  std::vector<DimSharding> dims;
  /// The tensor has padding, all of which is zeros.
  bool hasZeros = false;
  /// The dims of the view whose valid extent is stated, as bits.
  std::uint64_t validDims = 0;
};

class EntryProof {
public:
  EntryProof(const plan::PlanT &plan, Numbering &numbering, std::uint32_t e);
  Result run();

private:
  // EntryProof.cpp
  void addInputs();
  Verdict follow();
  Verdict step(const plan::InstructionT &instruction, std::uint32_t i);
  Verdict checkPersistent();
  Verdict checkOutputs();
  /// The mean of a rank's losses over its micro-batches: an output that the program does not have.
  bool isRankLoss(const plan::ViewT &view);
  void beginVariables();
  RootId rootOf(const plan::VariableT &variable);
  /// What the variable holds at the begin of a repetition.
  Reading readingOf(const plan::VariableT &variable, RootId root) const;
  Verdict checkVariables();
  /// The mean of the data ranks' values of this repetition.
  bool isMeanOfRanks(const plan::ViewT &view, std::uint32_t value, Mismatch &mismatch);
  /// The repetitions that may issue other instructions than their neighbours.
  static std::set<std::uint32_t> specialRepetitions(const plan::SectionT &section);
  /// The contents, in which the repetitions until `to` follow `from` as `from` followed the one before it.
  bool advance(const std::vector<std::vector<Fact>> &before, std::uint32_t from, std::uint32_t to);
  /// The part of a parameter with which a rank computes, and the rank's shard of that part.
  struct ParameterShard {
    Shard part, shard;
  };
  /// nullopt: not affine.
  const std::optional<ParameterShard> &shardOfParameter(const plan::ParameterT &parameter);
  /// What a rank's shard of a parameter or a state of it holds; nullopt: no affine part of it.
  std::optional<Reading> shardReading(const plan::ParameterT &parameter, RootId root);
  plan::ViewT fullView(std::uint32_t buffer) const;

  /// A tensor is unknown at the end; `isOpen`: the program computes its value by an op without a rule.
  void addUnknown(const std::string &what, const Reason &reason, bool isOpen);

  // Initialization.cpp
  /// The random numbers of a launch that draws with the seed.
  void draw(const plan::LaunchT &launch);
  /// Each parameter and state has the values of its declared initializer.
  Verdict checkInitialValues();
  Verdict checkInitialValue(std::uint32_t buffer, const std::string &what, const plan::InitializerT *initializer,
                            const plan::ParameterT *parameter);

  // Matching.cpp
  /// The reading, with the repetition of slices of a port.
  std::optional<Reading> read(const plan::ViewT &view, bool padding = true);
  /// The sharding that the valid extents of a view state, by dim.
  std::vector<DimSharding> validShardings(const plan::ViewT &view) const;
  /// The shape of the unsharded tensor by the valid extents of a view, and the part of it that the view is; nullopt if
  /// it is no shard.
  std::pair<Shape, std::optional<Shard>> validShard(const plan::ViewT &view) const;
  /// True if the valid extents of the view leave out padding only.
  bool excludesOnlyPadding(const Reading &reading, const plan::ViewT &view) const;
  /// The ends past which the reading has padding on some rank.
  std::vector<std::int64_t> paddedEnds(const Reading &reading) const;
  /// True if the valid extents of the view leave out the padding past this end.
  bool leavesOut(const plan::ViewT &view, const Reading &reading, std::int64_t end) const;
  /// The elements that a valid extent of the view leaves out; nullopt if they are none of a bound.
  std::optional<Bound> boundOf(const plan::ValidT &valid, const Reading &reading, const plan::ViewT &view) const;
  /// The valid extents of a view are those of its shards; a kernel also takes the index of its elements from them.
  bool validAgrees(const plan::ViewT &view, std::span<const DimSharding> dims, const Shape &shape) const;
  void write(const plan::ViewT &view, Reading reading);
  /// Indices of the root in place of those of a part where digits describe them, and no bounds that exclude nothing.
  void simplify(Reading &reading) const;
  /// Indices of the part that the reading has, in place of those of the root. False if it is a part of a part.
  bool usePart(Reading &reading);
  /// A uniform value that some view has in a shard: the valid extents state it.
  void shardUniform(Reading &reading, const plan::ViewT &view);
  /// A value of the program, or a shard of it. Terms of a sum are no match without `allowsTerms`.
  std::optional<Match> match(const plan::ViewT &view, std::uint32_t value, Mismatch &mismatch,
                             bool allowsTerms = false);
  std::optional<Match> matchReading(Reading reading, std::uint32_t value, Mismatch &mismatch, bool allowsTerms) const;
  bool means(const Reading &reading, const Value &expected, Mismatch &mismatch) const;
  bool meansRoot(const Meaning &meaning, const Value &expected, Mismatch &mismatch) const;
  bool isTotal(const Meaning &meaning, double coefficient, bool overRepetitions, Mismatch &mismatch) const;
  /// The program's value of the meaning, as a multiple of a root: totals are recognized; root 0: none.
  Multiple multipleOf(const Meaning &meaning) const;
  std::string describe(const Meaning &meaning) const;

  // Concatenations.cpp
  /// Relates the view's bytes to a concatenation whose operands they hold; with `wanted`, those of a window of its
  /// buffer to this one. True if there is one.
  bool recognizeConcatenation(const plan::ViewT &view, RootId wanted = 0);
  /// The same for one concatenation, and so many elements from the first one of the window.
  bool holdsConcatenation(plan::ViewT window, std::int64_t elements, std::uint32_t concatenation);
  std::optional<Match> matchConcatenation(const plan::ViewT &view, std::uint32_t value, Mismatch &mismatch);

  // Accumulations.cpp
  Verdict accumulate(const plan::LaunchT &launch, std::uint32_t i);
  /// Adds `term`, the next repetition, to a sum; `before` is the sum of those before it, nullopt if nothing is known.
  Verdict addRepetition(const plan::ViewT &sum, Reading term, std::optional<Reading> before, std::uint32_t i);
  /// A launch that adds the results of the next repetition to sums in place; nullopt if the launch adds to none.
  std::optional<Verdict> accumulateResults(const plan::LaunchT &launch, std::uint32_t i);
  /// The sum of two values of the same ranks and micro-batches; nullopt if the value `id` is another one.
  std::optional<Reading> sumOf(const Reading &a, const Reading &b, std::uint32_t id);

  // CombinedLaunches.cpp
  /// The parts of a combined launch, in order; none if the launch has no parts.
  std::vector<plan::LaunchT> partsOf(const plan::LaunchT &launch) const;
  /// The index of a kernel in `kernels`.
  std::uint32_t indexOf(KernelId id) const {
    return static_cast<std::uint32_t>(plan.kernels.size()) + static_cast<std::uint32_t>(id);
  }

  // Launches.cpp
  Verdict launch(const plan::LaunchT &launch, std::uint32_t i);
  const std::string &kernelOf(const plan::LaunchT &launch) const { return kernels[launch.kernel]; }
  /// The destination holds the source times the factor.
  void passThrough(const plan::ViewT &source, const plan::ViewT &destination, double factor);
  Verdict sumPowers(const plan::LaunchT &launch, std::uint32_t i);
  /// True if the launch adds values, or sums over the same ranks and micro-batches, that the program adds elsewhere.
  bool addSums(const plan::LaunchT &launch);
  /// A sum of sums of powers, or the maximum of largest powers; nullopt if the launch computes neither.
  std::optional<Verdict> addPowers(const plan::LaunchT &launch, bool isMaximum, std::uint32_t i);
  /// The elements of the root that all ranks together hold; nullopt if they do not hold each of them once.
  std::optional<Indexing> elementsOfAll(const Reading &reading) const;
  /// The axes that divide the elements, ascending.
  std::vector<std::uint32_t> axesOf(const Meaning &meaning) const;
  Verdict update(const plan::LaunchT &launch, std::uint32_t i);
  /// True if the launch computes the op of its result's id or another one of the program; else why not the first one.
  bool computeOp(const plan::LaunchT &launch, std::uint32_t i, std::optional<Mismatch> &mismatch);
  Verdict compute(const plan::LaunchT &launch, std::uint32_t i);

  // Implementations.cpp
  /// The ops that the kernel computes from what the operands hold.
  std::span<const std::uint32_t> opsOn(const plan::LaunchT &launch);
  /// One op by one launch, or one of its updates: compares kernel, attributes and operands, and writes the results.
  /// nullopt if the launch implements the op.
  std::optional<Mismatch> implement(const plan::LaunchT &launch, std::uint32_t op,
                                    std::span<const plan::ViewT *const> inputs,
                                    std::span<const plan::ViewT *const> outputs, std::uint32_t i);
  /// A tensor of all dims, or fewer, that holds a part of the value by its elements in row-major order.
  std::optional<Match> matchByElements(const plan::ViewT &view, std::uint32_t value, Mismatch &mismatch);
  /// The results have the sharding of the operands. Nothing if the launch is not by shards that its op allows.
  bool writeResults(std::uint32_t op, std::span<const Match> operands, std::span<const Shape> shapes,
                    std::span<const plan::ViewT *const> inputs, std::span<const plan::ViewT *const> outputs,
                    Mismatch &mismatch);

  // Collectives.cpp
  /// A rank's rows as its shard of those of all data ranks, if the program gathers them.
  void useRowsOfRanks(Meaning &meaning, const plan::CollectiveT &collective) const;
  /// The root of the rank's part of a sum over data ranks, if the program has it; 0: it does not.
  RootId rankPartOf(const Reading &reading, const plan::CollectiveT &collective) const;
  /// Of shards that become the chunks of a tensor: their distance in the root, and false if some are padding alone.
  struct Gathered {
    std::int64_t step = -1;
    bool hasAllChunks = true;
  };
  /// Removes the shards along the axes of a collective.
  Verdict gatherShards(Meaning &meaning, const plan::CollectiveT &collective, std::uint32_t i, std::size_t segment,
                       Gathered &gathered);
  /// Of the chunks of a dense tensor: their distance in the root, and the digits of one.
  using DenseChunk = std::pair<std::int64_t, Digits>;
  /// Makes the chunks shards along the axes of a collective.
  void shardAlong(Meaning &meaning, const plan::CollectiveT &collective, const DenseChunk &chunk) const;
  Verdict collective(const plan::CollectiveT &collective, std::uint32_t i);
  // PaddedChunks.cpp
  /// The chunk of each rank, from a tensor that every rank has.
  void sliceChunk(const plan::LaunchT &launch);
  /// Zeros in place of the padding, which the valid extent of the source leaves out. True if the pad does that.
  bool clearPadding(const plan::LaunchT &launch);
  /// The padding of a result of an op that computes sums by elements, where that of all operands is zeros.
  void keepZeros(const plan::ProgramKindT &kind, std::span<const Match> operands,
                 std::span<const plan::ViewT *const> inputs, Reading &result) const;
  /// Chunks of a tensor for the ranks of a collective, of which the last ones have padding.
  struct Chunks {
    /// What the first chunk holds.
    Reading first;
    /// Of the chunks in the root.
    std::int64_t distance = 0;
    /// Elements from there on are padding (Bound).
    std::int64_t end = 0;
  };
  std::optional<Chunks> readChunks(const plan::ViewT &view, std::int64_t ranks);
  /// A tensor of which a prefix is a rank's part of a root, and the rest padding; as that part.
  std::optional<Reading> readPrefix(const plan::ViewT &view);
  void writeChunk(Chunks chunks, std::span<const std::uint32_t> axes, const plan::ViewT &destination);
  Verdict reduce(Meaning &meaning, const plan::CollectiveT &collective, std::uint32_t i, std::size_t segment);

  /// Nothing is known of the view after the instruction.
  void lose(const plan::ViewT &view, const Reason &reason);
  /// The same, because there is no rule: the plan may be right.
  void leaveOpen(const plan::ViewT &view, const std::string &reason);
  void loseOutputs(const plan::LaunchT &launch, const Reason &reason);
  Verdict refuseAt(std::uint32_t i, int property, const std::string &text) const {
    return refuse(property, place(plan, e, i) + " " + text);
  }
  AxisSet setOf(std::span<const std::uint32_t> axes) const;
  std::string namesOf(AxisSet axes) const;

  const plan::PlanT &plan;
  /// Those of the plan, then those of the catalogue in its order, for the parts of combined launches.
  std::vector<std::string> kernels;
  Numbering &numbering;
  std::uint32_t e;
  const plan::EntryT &entry;
  const NumberedFunction *function = nullptr;
  Contents contents;
  /// Of each parameter and its states, in their order; 0: the program does not read it.
  std::vector<RootId> stateRoots;
  std::unordered_map<const plan::ParameterT *, std::optional<ParameterShard>> parameterShards;
  std::vector<std::uint32_t> sizes;
  AxisSet dataAxes = 0;
  /// Repetitions of the section of micro-batches, and the current one; after the section, the last.
  std::uint32_t repeat = 1, repetition = 0;
  /// The repetition of the current section: the slice of a port that views of this section read.
  std::uint32_t slice = 0;
  /// Why a tensor is not proved, because a rule is missing; why a tensor is not related to the program.
  std::string notProved, unrelated;
  std::uint64_t facts = 0;
};

/// The id of an operand; 0 without one.
inline std::uint32_t idAt(const std::vector<std::uint32_t> &ids, std::size_t index) {
  return index < ids.size() ? ids[index] : 0;
}
/// An attribute of a launch as its kernel reads it.
double numberOf(const plan::LaunchT &launch, std::string_view name, double absent);

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_ENTRYPROOF_H
