//===- StepProofTest.cpp - sums over micro-batches and ranks (P7, P9) ---------------------===//
//
// Small plans by hand, and the verdict of the proof after a change of one instruction.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;
using Views = std::vector<std::pair<plan::ViewT, plan::ViewT>>;

void setRepetitions(plan::InstructionT &instruction, std::vector<std::uint32_t> repetitions) {
  instruction.when = plan::When::listed;
  instruction.repetitions = std::move(repetitions);
}

/// The mean of x [2, 2] over three micro-batches and four ranks, and the mean of each rank over its micro-batches,
/// which the program does not have.
class MeanOfSteps : public ProofPlan {
public:
  static constexpr std::uint32_t repeat = 3;
  std::uint32_t x = buffer("x", {3, 2, 2}, f32, host), y = buffer("y", {3, 2, 2}, f32, host),
                sum = buffer("sum", {2, 2}), rank = buffer("rank", {2, 2}), mean = buffer("mean", {2, 2}),
                other = buffer("other", {2, 2});
  plan::InstructionT *first = nullptr, *next = nullptr, *scale = nullptr, *reduce = nullptr;
  plan::PortT *rankMean = nullptr;

  explicit MeanOfSteps(void (*middle)(MeanOfSteps &) = nullptr) : ProofPlan({{"replicate", 2}, {"shard", 2}}) {
    const std::uint32_t inputX = input("x", {2, 2});
    input("y", {2, 2});
    end({op("model.step_mean", {inputX}, {2, 2})});
    plan::EntryT &entry = step(repeat);
    for (const char *name : {"x", "y"})
      PlanBuilder::port(entry.inputs, name, slice(name == std::string("x") ? x : y)).per_repetition = true;
    first = &accumulate(slice(x), view(sum), true);
    next = &accumulate(slice(x), view(sum), false);
    if (middle)
      middle(*this);
    section();
    scale = &launch(0, "scale", {view(sum)}, {view(rank)});
    attribute(*scale, "factor", 1.0 / repeat);
    reduce = &collective(0, all_reduce, {0, 1}, plan::ReduceOp::mean, {{view(rank), view(mean)}});
    PlanBuilder::port(entry.outputs, "loss", view(mean));
    rankMean = &PlanBuilder::port(entry.outputs, "rank_loss", view(rank));
  }
  /// Of the current repetition.
  plan::ViewT slice(std::uint32_t buffer) const {
    plan::ViewT window = view(buffer, {2, 2});
    window.repetition_stride = 16;
    return window;
  }
  plan::InstructionT &accumulate(plan::ViewT term, plan::ViewT into, bool isFirst) {
    plan::InstructionT &added = launch(0, "accumulate", {std::move(term)}, {std::move(into)});
    added.operation.AsLaunch()->attributes.push_back(std::make_unique<plan::AttributeT>(integer("first", isFirst)));
    added.when = isFirst ? plan::When::first : plan::When::not_first;
    return added;
  }
  /// The mean of one rank is that of other micro-batches.
  void useForRank(plan::ViewT view) { *rankMean->view = std::move(view); }
};

struct Change {
  const char *name;
  /// The text begins so, and has the part.
  const char *begin, *part;
  void (*change)(MeanOfSteps &);
  /// Before the section of micro-batches ends.
  void (*middle)(MeanOfSteps &) = nullptr;
};
void PrintTo(const Change &change, std::ostream *out) { *out << change.name; }

constexpr const char *notInProgram = "output 'rank_loss' of 'train_step' is not in the unsharded program";

/// Accumulates terms into `other` in these repetitions, the first of which begins the sum; scaled as the mean.
void addOther(MeanOfSteps &p, std::uint32_t terms, std::vector<std::uint32_t> repetitions) {
  setRepetitions(p.accumulate(p.slice(terms), p.view(p.other), true), {repetitions.front()});
  setRepetitions(p.accumulate(p.slice(terms), p.view(p.other), false), {repetitions.begin() + 1, repetitions.end()});
}
void useOther(MeanOfSteps &p) {
  PlanBuilder::attribute(p.launch(0, "scale", {p.view(p.other)}, {p.view(p.other)}), "factor", 1.0 / 3);
  p.useForRank(p.view(p.other));
}
void nothing(MeanOfSteps &) {}

const Change changes[] = {
    {"None", "", "", nothing},
    // The output of one rank.
    {"RankSum", "P9: ", notInProgram, [](MeanOfSteps &p) { p.useForRank(p.view(p.sum)); }},
    {"RankMeanOfAllRanks", "P9: ", notInProgram, [](MeanOfSteps &p) { p.useForRank(p.view(p.mean)); }},
    {"RankMeanOfAll", "", "", useOther, [](MeanOfSteps &p) { addOther(p, p.x, {0, 1, 2}); }},
    {"RankMeanWithoutTheFirst", "P9: ", notInProgram, useOther, [](MeanOfSteps &p) { addOther(p, p.x, {1, 2}); }},
    {"RankMeanWithoutTheLast", "P9: ", notInProgram, useOther, [](MeanOfSteps &p) { addOther(p, p.x, {0, 1}); }},
    {"RankMeanOfAnotherInput", "P9: ", notInProgram, useOther, [](MeanOfSteps &p) { addOther(p, p.y, {0, 1, 2}); }},
    {"RankMeanOfSomeRanks", "P9: ", notInProgram,
     [](MeanOfSteps &p) {
       p.collective(0, all_reduce, {0}, plan::ReduceOp::sum, {{p.view(p.rank), p.view(p.other)}});
       p.useForRank(p.view(p.other));
     }},
    {"RankMeanInAnotherOrder", "P9: ", notInProgram,
     [](MeanOfSteps &p) { p.useForRank(p.view(p.rank, {2, 2}, 0, {1, 2})); }},
    {"UnknownRankMean", "P9: ", notInProgram, [](MeanOfSteps &p) { p.useForRank(p.view(p.other)); }},
    {"RankMeanOfNoOp", "P9: ", notInProgram,
     [](MeanOfSteps &p) {
       p.launch(0, "exp", {p.view(p.rank)}, {p.view(p.other)});
       p.useForRank(p.view(p.other));
     }},
    {"NoOutput", "P9", "'train_step' has 0 outputs, expected 1",
     [](MeanOfSteps &p) { p.plan.entries[0]->outputs.clear(); }},
    // The sum over micro-batches.
    {"MissesAMicrobatch", "P7", "it misses micro-batch 1", [](MeanOfSteps &p) { setRepetitions(*p.next, {2}); }},
    {"CountsAMicrobatchTwice", "P7", "micro-batch 0 counts twice",
     [](MeanOfSteps &p) { p.next->when = plan::When::all; }},
    {"EndsTooEarly", "P7", "misses micro-batch 2 of", [](MeanOfSteps &p) { setRepetitions(*p.next, {1}); }},
    {"BeginsAgain", "P7", "misses micro-batch 0 of",
     [](MeanOfSteps &p) {
       setRepetitions(*p.first, {0, 1});
       setRepetitions(*p.next, {2});
     }},
    {"AddsToAMultiple", "P7", "to 2 times the sum of micro-batch 0", nothing,
     [](MeanOfSteps &p) {
       plan::InstructionT &doubled = p.launch(0, "scale", {p.view(p.sum)}, {p.view(p.sum)});
       PlanBuilder::attribute(doubled, "factor", 2);
       doubled.when = plan::When::first;
     }},
    {"AddsAnotherValue", "P9", "adds the sum of micro-batch 1 of value 2",
     [](MeanOfSteps &p) { p.next->operation.AsLaunch()->inputs[0]->buffer = p.y; }},
    {"AddsTurned", "P7", "adds the sum of micro-batch 1",
     [](MeanOfSteps &p) { p.next->operation.AsLaunch()->outputs[0]->strides = {1, 2}; }},
    // The sum over ranks.
    {"OneAxis", "P7", "misses the ranks along 'shard' of the sum",
     [](MeanOfSteps &p) { p.reduce->operation.AsCollective()->axes = {0}; }},
    {"SumOfRanks", "P7", "times 0.333333",
     [](MeanOfSteps &p) { p.reduce->operation.AsCollective()->op = plan::ReduceOp::sum; }},
    {"LargestOfRanks", "P7", "takes the largest of the ranks' numbers",
     [](MeanOfSteps &p) { p.reduce->operation.AsCollective()->op = plan::ReduceOp::max; }},
    {"MeanOfEqualMeans", "", "",
     [](MeanOfSteps &p) {
       p.collective(0, all_reduce, {0, 1}, plan::ReduceOp::mean, {{p.view(p.mean), p.view(p.mean)}});
     }},
    {"SumOfEqualMeans", "P7", "times 0.333333",
     [](MeanOfSteps &p) {
       p.collective(0, all_reduce, {0, 1}, plan::ReduceOp::sum, {{p.view(p.mean), p.view(p.mean)}});
     }},
    {"LargestOfEqualMeans", "", "",
     [](MeanOfSteps &p) {
       p.collective(0, all_reduce, {0, 1}, plan::ReduceOp::max, {{p.view(p.mean), p.view(p.mean)}});
     }},
    {"BroadcastOfARank", "P7", "by that of one rank",
     [](MeanOfSteps &p) { p.collective(0, broadcast, {0}, plan::ReduceOp::none, {{p.view(p.rank), p.view(p.rank)}}); }},
    {"OutputOfUnknownContent", "P9: ", "output 'loss' of 'train_step' is not related to the program",
     [](MeanOfSteps &p) { p.plan.entries[0]->outputs[0]->view->buffer = p.other; }},
};

class StepProof : public testing::TestWithParam<Change> {};
TEST_P(StepProof, OfAChangedPlan) {
  MeanOfSteps plan(GetParam().middle);
  GetParam().change(plan);
  const std::string found = proofOf(plan);
  if (*GetParam().begin == 0)
    EXPECT_EQ(found, "");
  else
    expectText(found, GetParam().begin, GetParam().part);
}
INSTANTIATE_TEST_SUITE_P(Proof, StepProof, testing::ValuesIn(changes),
                         [](const auto &info) { return std::string(info.param.name); });

/// Repetitions are followed until they lead to the same facts: these never do.
TEST(RepetitionsProof, EachOneMovesTheFacts) {
  // The output is that of the last micro-batch, or of the one before.
  const auto delayed = [](bool isDelayed) {
    ProofPlan plan({{"shard", 2}});
    const std::uint32_t x = plan.buffer("x", {8, 4}, f32, host), now = plan.buffer("now", {4}),
                        before = plan.buffer("before", {4});
    plan.end({plan.op("model.relu", {plan.input("x", {4})}, {4})});
    plan::EntryT &entry = plan.step(8);
    plan::ViewT slice = plan.view(x, {4});
    slice.repetition_stride = 16;
    plan.port(entry.inputs, "x", slice).per_repetition = true;
    plan.copy(0, plan.view(now), plan.view(before));
    plan.launch(0, "relu", {slice}, {plan.view(now)});
    plan.port(entry.outputs, "y", plan.view(isDelayed ? before : now));
    return proofOf(plan);
  };
  EXPECT_EQ(delayed(false), "");
  expectText(delayed(true), "P9", "holds micro-batch 6 of value 2");

  // The value doubles in each of eight repetitions.
  const auto doubled = [](double factor) {
    ProofPlan plan({{"shard", 2}});
    plan.unit("u");
    const std::uint32_t w = plan.buffer("w", {4}), multiple = plan.buffer("multiple", {4});
    plan.parameter("w", {4}, {}, w);
    plan.end({plan.op("model.scale", {plan.op("model.read", {}, {4}, {}, "w")}, {4}, {number("factor", factor)})});
    plan::EntryT &entry = plan.step(8);
    plan.copy(0, plan.view(w), plan.view(multiple)).when = plan::When::first;
    PlanBuilder::attribute(plan.launch(0, "scale", {plan.view(multiple)}, {plan.view(multiple)}), "factor", 2);
    plan.port(entry.outputs, "y", plan.view(multiple));
    return proofOf(plan);
  };
  EXPECT_EQ(doubled(256), "");
  for (double factor : {2, 4, 8, 16, 32, 64, 128})
    expectText(doubled(factor), "P9", "times 256, expected times");
}

/// What a repetition copies from the one before moves two repetitions late.
TEST(RepetitionsProof, FactsOfEarlierRepetitions) {
  // Each repetition: after = middle, middle = first; then `first` gets the term or the sum of this repetition.
  const auto twoLate = [](bool isSum, bool isContinued) {
    ProofPlan plan({{"shard", 2}});
    const std::uint32_t x = plan.buffer("x", {8, 4}, f32, host), first = plan.buffer("first", {4}),
                        middle = plan.buffer("middle", {4}), after = plan.buffer("after", {4});
    const std::uint32_t inputX = plan.input("x", {4});
    plan.end({isSum ? plan.op("model.step_mean", {inputX}, {4}) : plan.op("model.relu", {inputX}, {4})});
    plan::EntryT &entry = plan.step(8);
    plan::ViewT slice = plan.view(x, {4});
    slice.repetition_stride = 16;
    plan.port(entry.inputs, "x", slice).per_repetition = true;
    const auto accumulate = [&](std::uint32_t into, bool isFirst, plan::When when) {
      plan.compute("accumulate", {slice}, {plan.view(into)}, {}, {}, {integer("first", isFirst)});
      plan.plan.entries[0]->sections[0]->instructions.back()->when = when;
    };
    plan.copy(0, plan.view(middle), plan.view(after)).when = plan::When::not_last;
    plan.copy(0, plan.view(first), plan.view(middle)).when = plan::When::not_last;
    if (isSum) {
      accumulate(first, true, plan::When::first);
      accumulate(first, false, plan::When::not_first);
      if (isContinued)
        accumulate(after, false, plan::When::last);
    } else {
      plan.launch(0, "relu", {slice}, {plan.view(first)});
    }
    plan.port(entry.outputs, "y", plan.view(after));
    return proofOf(plan);
  };
  expectText(twoLate(false, false), "P9", "holds micro-batch 4 of value 2");
  expectText(twoLate(true, false), "P7", "misses micro-batch 7");
  expectText(twoLate(true, true), "P7", "it misses micro-batch 5");
}

/// Each repetition one more buffer holds the value.
TEST(RepetitionsProof, FactsAreAdded) {
  ProofPlan plan({{"shard", 2}});
  plan.unit("u");
  std::vector<std::uint32_t> buffers{plan.buffer("w", {4})};
  plan.parameter("w", {4}, {}, buffers[0]);
  plan.end({plan.op("model.relu", {plan.op("model.read", {}, {4}, {}, "w")}, {4})});
  for (int k = 0; k < 6; ++k)
    buffers.push_back(plan.buffer("copy", {4}));
  const std::uint32_t y = plan.buffer("y", {4});
  plan::EntryT &entry = plan.step(9);
  for (std::size_t k = buffers.size() - 1; k > 0; --k)
    plan.copy(0, plan.view(buffers[k - 1]), plan.view(buffers[k])).when = plan::When::not_last;
  plan.launch(0, "relu", {plan.view(buffers.back())}, {plan.view(y)}).when = plan::When::last;
  plan.port(entry.outputs, "y", plan.view(y));
  EXPECT_EQ(proofOf(plan), "");
}

/// An output that the program does not have, of which nothing is known.
TEST(StepProof, AnUnknownOutputIsNoMean) {
  ProofPlan plan({{"tensor", 2}});
  plan.unit("u");
  const std::uint32_t w = plan.buffer("w", {4}), y = plan.buffer("y", {4}), other = plan.buffer("other", {4});
  plan.parameter("w", {4}, {}, w);
  plan.end({plan.op("model.relu", {plan.op("model.read", {}, {4}, {}, "w")}, {4})});
  plan::EntryT &entry = plan.step();
  plan.launch(0, "relu", {plan.view(w)}, {plan.view(y)});
  plan.launch(0, "exp", {plan.view(y)}, {plan.view(other)});
  plan.port(entry.outputs, "y", plan.view(y));
  plan.port(entry.outputs, "rank_loss", plan.view(other));
  expectText(proofOf(plan), "P9: ", notInProgram);
}

/// Each rank along `tensor` sums half of the columns of x. The mean of the loss of a rank, and running statistics that
/// are averaged over the ranks along `replicate`, need the sum along `tensor` before.
TEST(StepProof, TermsAreNoMeans) {
  const auto make = [](bool isLossOfTerms, bool areStatisticsOfTerms) {
    ProofPlan plan({{"replicate", 2}, {"tensor", 2}});
    const std::uint32_t x = plan.buffer("x", {2, 4}, f32, host), columns = plan.buffer("columns", {2, 2}),
                        terms = plan.buffer("terms", {2}), sum = plan.buffer("sum", {2}),
                        mean = plan.buffer("mean", {2}), v = plan.buffer("v", {2});
    plan.plan.variables.push_back(std::make_unique<plan::VariableT>());
    plan.plan.variables[0]->name = "v";
    plan.plan.variables[0]->buffer = v;
    plan.plan.variables[0]->averaged = true;
    plan.op("model.read", {}, {2}, {}, "v");
    const std::uint32_t sums = plan.op("model.reduce_sum", {plan.input("x", {2, 4})}, {2}, {list("dims", {1})});
    plan.define("model.write", {sums}, {}, {}, "v");
    plan.end({plan.op("model.step_mean", {sums}, {2})});
    plan::EntryT &entry = plan.step();
    plan.port(entry.inputs, "x", plan.view(x));
    plan.compute("slice", {plan.view(x)}, {PlanBuilder::padded(plan.view(columns), 1, {1}, 2, 4)}, {}, {},
                 {integer("dim", 1)});
    plan.compute("reduce_sum", {plan.view(columns)}, {plan.view(terms)}, {}, {}, {list("dims", {1})});
    plan.collective(0, all_reduce, {1}, plan::ReduceOp::sum, {{plan.view(terms), plan.view(sum)}});
    plan.collective(0, all_reduce, {0}, plan::ReduceOp::mean, {{plan.view(sum), plan.view(mean)}});
    plan.collective(0, all_reduce, {0}, plan::ReduceOp::mean,
                    {{plan.view(areStatisticsOfTerms ? terms : sum), plan.view(v)}});
    plan.port(entry.outputs, "loss", plan.view(mean));
    plan.port(entry.outputs, "rank_loss", plan.view(isLossOfTerms ? terms : sum));
    return proofOf(plan);
  };
  EXPECT_EQ(make(false, false), "");
  expectText(make(true, false), "P9: ", notInProgram);
  expectText(make(false, true), "P9",
             "expected the mean over the ranks along 'replicate': holds 0.5 times "
             "the sum over 'replicate' of terms along 'tensor' of value 3");
}

} // namespace
} // namespace sluice::test
