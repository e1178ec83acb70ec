//===- Numbering.h - equal values of the unsharded program get one number -------------------===//
//
// A root is a value up to equality over exact reals: ops of equal kind, attributes and operands have equal results, so
// a recomputed op has the root of the first one. Views of a value, casts between float types and multiples by a number
// have the root of their operand, with an indexing and a coefficient. The total of a root is its sum over all data
// ranks and micro-batches: the step's mean and the gradients of the program are multiples of totals.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_NUMBERING_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_NUMBERING_H

#include "runtime/kernel/catalogue/Record.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/check/proof/Sharding.h"
#include "runtime/plan/check/proof/Storage.h"

#include <map>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace sluice::check::proof {

/// Position in Numbering::roots; 0: no value.
using RootId = std::uint32_t;

/// A multiple of a root, as a term of a sum.
using Multiple = std::pair<RootId, double>;

/// Equal up to the rounding of products of factors.
bool areClose(double a, double b);

/// Of the elements `at` of a sum over data ranks each rank has an equal part, which is the root `part`.
struct RankPart {
  Indexing at;
  RootId part = 0;
};

struct Root {
  std::int64_t elements = 0;
  /// Differs between data ranks and micro-batches.
  bool varies = false;
  /// The root whose sum over data ranks and micro-batches this is; 0: not a total.
  RootId totalOf = 0;
  /// The root whose sum over data ranks, in each micro-batch, this is; 0: not such a sum.
  RootId rankTotalOf = 0;
  /// The total of this root, if the program has it.
  RootId total = 0;
  /// The values of all data ranks, in the order of the ranks, if the program gathers them; 0: it does not.
  RootId ofAllRanks = 0;
  /// Parts of the sum of this root over data ranks, in the order of the ranks, of which the program has the rank's.
  std::vector<RankPart> rankParts;
  /// The terms of a sum, sorted; empty: it is none.
  std::vector<Multiple> terms;
  /// The sum of |x|^p over these values, sorted; their order has no meaning.
  std::vector<Multiple> powers;
  double p = 0;
  /// The operands of a concatenation, as ids of the program, and its dim.
  std::vector<std::uint32_t> parts;
  std::size_t dim = 0;
  /// Running statistics of one rank.
  bool isVariable = false;
  /// The first value of the program with this root; 0: none.
  std::uint32_t value = 0;
};

/// A value of the program.
struct Value {
  RootId root = 0;
  double coefficient = 1;
  Indexing at;
  Storage stored{};
};

/// A parameter or a state that the program reads or writes.
using Persistent = std::pair<std::string, std::string>;
struct HashPersistent {
  std::size_t operator()(const Persistent &name) const {
    return std::hash<std::string>()(name.first) * 31 + std::hash<std::string>()(name.second);
  }
};
template <typename T> using PersistentMap = std::unordered_map<Persistent, T, HashPersistent>;

/// A function of the program with its ends.
struct NumberedFunction {
  std::uint32_t firstInput = 0, endInput = 0, firstOutput = 0, endOutput = 0;
  /// What the function writes, by parameter and state: ids of values.
  PersistentMap<std::uint32_t> writes;
};

/// The values of the functions of the program. Reads only the program and the mesh.
class Numbering {
public:
  explicit Numbering(const plan::PlanT &plan);

  /// Why nothing can be proved with this program; empty if it can.
  const std::string &problem() const { return unproved; }
  /// An op whose operands and results do not have the types of the op; empty: no such op.
  const std::string &contradiction() const { return wrong; }
  std::size_t valueCount() const { return values.size(); }
  const Value &value(std::uint32_t id) const { return values[id]; }
  const Root &root(RootId id) const { return roots[id]; }
  const plan::ProgramTypeT &type(std::uint32_t id) const { return *program.types[program.values[id - 1]]; }
  /// The op that defines the value and the number of the result; -1: an input.
  std::pair<std::int64_t, std::uint32_t> definition(std::uint32_t id) const { return definitions[id]; }
  std::span<const std::uint32_t> operandsOf(std::uint32_t op) const {
    return part(program.operands, program.operand_ends, op);
  }
  std::span<const std::uint32_t> resultsOf(std::uint32_t op) const {
    return part(program.results, program.result_ends, op);
  }
  const plan::ProgramKindT &kindOf(std::uint32_t op) const { return *program.kinds[program.op_kinds[op]]; }

  /// The value depends on an op without a rule.
  bool isOpen(std::uint32_t id) const { return open[id]; }

  /// Null for an entry point that is not in the program.
  const NumberedFunction *function(const std::string &name) const;

  /// The root of a parameter, a state of it or a variable (empty state) with so many elements, at the begin of a step.
  RootId persistent(const Persistent &name, std::int64_t elements);
  RootId input(const NumberedFunction &function, const std::string &name) const;
  /// The seed of an entry point that is not in the program.
  RootId seed() { return rootOf("seed", 1); }
  RootId constant(double value);
  /// The numbers that a kernel draws with its attributes, of a tensor of so many elements.
  RootId randomNumbers(const KernelRecord &kernel, const Attributes &attributes, std::int64_t elements);
  /// True if no multiple of the program is nearly as small or as large: an element type may not hold such numbers.
  bool isExtreme(double coefficient) const;
  /// Of a root of which ranks have terms: the largest of these, a value that is equal on all ranks.
  RootId largestTerm(RootId of);
  /// The ops whose kernel and whose operands' roots these are, forms included.
  std::span<const std::uint32_t> opsOn(std::string_view kernel, std::span<const RootId> operands);
  /// The root of the sum of two roots of equal sizes, element by element. Sums of few terms are equal in any order.
  RootId sumOf(const Multiple &a, const Multiple &b);
  /// A root for these elements of a root, in any order: the root itself if they are all.
  RootId partOf(RootId of, const Indexing &at);
  /// The values that are concatenations of which the first operand has this root.
  std::span<const std::uint32_t> concatenationsOf(RootId first) const {
    const auto found = concatenations.find(first);
    return found == concatenations.end() ? std::span<const std::uint32_t>() : found->second;
  }
  /// The root of a sum of powers of these; 0 if they are more than the values of the program.
  RootId powerSum(double p, std::vector<Multiple> terms);

  /// "value 11 (model.relu of '0')".
  std::string describe(RootId id) const { return describe(id, /*depth=*/2); }
  std::string describeValue(std::uint32_t id) const;

private:
  /// Names sums in sums to this depth: a root may be a sum of itself many times.
  std::string describe(RootId id, int depth) const;
  static std::span<const std::uint32_t> part(const std::vector<std::uint32_t> &ids,
                                             const std::vector<std::uint32_t> &ends, std::uint32_t op) {
    const std::uint32_t first = op == 0 ? 0 : ends[op - 1];
    return {ids.data() + first, ends[op] - first};
  }
  friend class Forms;
  void numberOp(std::uint32_t op, NumberedFunction &function, double repeat);
  /// The elements of the results of a view of an operand with the elements `source`; nullopt if they are no digits.
  std::optional<std::vector<Indexing>> viewsOf(std::uint32_t op, const Indexing &source) const;
  std::string typeProblem(std::uint32_t op) const;
  bool numberView(const plan::ProgramKindT &kind, std::uint32_t op);
  bool numberRows(const plan::ProgramKindT &kind, std::uint32_t op);
  void numberResults(const plan::ProgramKindT &kind, std::uint32_t op);
  RootId rootOf(std::string_view key, std::int64_t elements);
  /// The root of a function of these terms in any order, which it has in `field`. Coefficients may differ by rounding.
  RootId rootOfTerms(std::string name, std::vector<Multiple> terms, std::vector<Multiple> Root::*field,
                     std::int64_t elements);
  void set(std::uint32_t id, Value value);
  void setDense(std::uint32_t id, RootId root);
  /// Kinds of equal op and attributes get one number.
  void numberKinds();
  /// Of the sum of a parameter's gradients over data ranks.
  double divisorOf(const std::string &parameter) const;
  RootId total(const std::string &key, RootId of, RootId Root::*field);

  const plan::PlanT &plan;
  /// With the ops of forms (Forms.h) after those of the functions.
  plan::ProgramT program;
  std::vector<Value> values;
  std::vector<std::pair<std::int64_t, std::uint32_t>> definitions;
  std::vector<Root> roots;
  /// By value.
  std::vector<bool> open;
  /// Of the keys: they are freed together.
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::unordered_map<std::string_view, RootId> byKey{&memory};
  /// By a function and the roots of its terms.
  std::unordered_map<std::string, std::vector<RootId>> byTerms;
  std::map<std::string, NumberedFunction> functions;
  std::vector<std::uint32_t> kindNumbers;
  std::unordered_map<std::string, std::uint32_t> equalKinds;
  /// By kernel and roots of operands.
  std::unordered_map<std::string, std::vector<std::uint32_t>> byOperands;
  std::size_t indexedOps = 0;
  std::unordered_map<RootId, std::vector<std::uint32_t>> concatenations;
  double dataRanks = 1;
  /// Some ranks divide tensors, so they may compute an op by one of its forms (Forms.h).
  bool needsForms = false;
  std::string unproved, wrong;
  /// The absolute values of the coefficients of all values.
  double smallest = 1, largest = 1;
  /// Of parameters whose gradients are not divided by the number of data ranks.
  std::unordered_map<std::string, double> divisors;
  /// The types of parameters and states.
  PersistentMap<Storage> storage;
  /// Names of the plan's variables.
  std::unordered_set<std::string> variables;
};

/// The attribute of an op by name; null if it has none.
const plan::AttributeT *attributeOf(const plan::ProgramKindT &kind, std::string_view name);
/// A list of the op; empty if it has none.
std::span<const std::int64_t> listOf(const plan::ProgramKindT &kind, std::string_view name);
/// A flag of the op; false if it has none.
bool isFlagSet(const plan::ProgramKindT &kind, std::string_view name);
/// Names and cases of enumerations are in the program as lists of characters.
std::string textOf(const plan::ProgramKindT &kind, std::string_view name);

inline bool isFloatType(plan::DType dtype) { return dtype <= plan::DType::f16; }

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_NUMBERING_H
