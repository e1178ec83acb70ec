//===- ShardProofTest.cpp - shards, their collectives, updates and norms (P7 to P10) -------===//
//
// Small plans by hand, and the verdict of the proof after a change of one instruction.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;
constexpr auto none = plan::ReduceOp::none, sum = plan::ReduceOp::sum, max = plan::ReduceOp::max;

/// The output relu(w) of a parameter w [8, 6], whose rows ranks along `tensor` and `expert` divide.
class Gathered : public ProofPlan {
public:
  std::uint32_t shard = buffer("w", {2, 6}), relu = buffer("relu", {2, 6}), full = buffer("full", {8, 6});
  plan::LaunchT *compute = nullptr;
  plan::CollectiveT *gather = nullptr;
  plan::PortT *output = nullptr;

  Gathered() : ProofPlan({{"tensor", 2}, {"expert", 2}, {"shard", 2}}) {
    unit("u");
    parameter("w", {8, 6}, {0, 1}, shard);
    end({op("model.relu", {op("model.read", {}, {8, 6}, {}, "w")}, {8, 6})});
    plan::EntryT &entry = step();
    compute = launch(0, "relu", {view(shard)}, {view(relu)}).operation.AsLaunch();
    gather = collective(0, all_gather, {0, 1}, none, {{view(relu), view(full)}}).operation.AsCollective();
    output = &PlanBuilder::port(entry.outputs, "y", view(full));
  }
  plan::CollectiveT &add(plan::CollectiveKind kind, std::vector<std::uint32_t> axes, plan::ReduceOp op,
                         plan::ViewT source, plan::ViewT destination) {
    return *collective(0, kind, std::move(axes), op, {{std::move(source), std::move(destination)}})
                .operation.AsCollective();
  }
};

TEST(ShardProof, AGatherRemovesTheAxes) {
  Gathered good;
  EXPECT_EQ(proofOf(good), "");

  Gathered part;
  *part.output->view = part.view(part.relu);
  expectText(proofOf(part), "P9", "output 'y' of 'train_step' is a shard of value 2");

  Gathered otherOrder;
  otherOrder.gather->axes = {1, 0};
  expectText(proofOf(otherOrder), "P8", "gathers shards in another order of value 2");

  Gathered twice;
  const std::uint32_t more = twice.buffer("more", {16, 6});
  twice.add(all_gather, {0}, none, twice.view(twice.full), twice.view(more));
  expectText(proofOf(twice), "P8", "which is not sharded along 'tensor'");

  Gathered otherAxis;
  otherAxis.gather->axes = {2};
  expectText(proofOf(otherAxis), "P8", "which is not sharded along 'shard'");
}

TEST(ShardProof, ReductionsAddValuesOfEqualElements) {
  for (const plan::CollectiveKind kind : {all_reduce, reduce_scatter}) {
    Gathered ofShards;
    ofShards.add(kind, {0}, sum, ofShards.view(ofShards.relu),
                 ofShards.view(ofShards.relu, {kind == all_reduce ? 2 : 1, 6}));
    expectText(proofOf(ofShards), "P9", "reduces different shards of value 2");
  }
  // The sum of equal values is a multiple.
  Gathered mean, multiple;
  mean.add(all_reduce, {0}, plan::ReduceOp::mean, mean.view(mean.full), mean.view(mean.full));
  EXPECT_EQ(proofOf(mean), "");
  multiple.add(all_reduce, {0}, sum, multiple.view(multiple.full), multiple.view(multiple.full));
  expectText(proofOf(multiple), "P9", "times 2, expected times 1");
  // Scattered and gathered again.
  Gathered scattered;
  const std::uint32_t half = scattered.buffer("half", {4, 6});
  scattered.add(reduce_scatter, {0}, plan::ReduceOp::mean, scattered.view(scattered.full), scattered.view(half));
  scattered.add(all_gather, {0}, none, scattered.view(half), scattered.view(scattered.full));
  EXPECT_EQ(proofOf(scattered), "");
  // Three of eight rows are no chunk of a rank.
  Gathered uneven;
  const std::uint32_t three = uneven.buffer("three", {3, 2}), six = uneven.buffer("six", {6, 2});
  uneven.add(reduce_scatter, {0}, plan::ReduceOp::mean, uneven.view(uneven.full, {6, 2}), uneven.view(three));
  uneven.add(all_gather, {0}, none, uneven.view(three), uneven.view(six));
  uneven.copy(0, uneven.view(six), uneven.view(uneven.full, {6, 2}));
  // The parts of the tensor are those of no window.
  expectText(proofOf(uneven), "P9: ", "the content of 'full' is not known");
}

/// w' = relu(w), and m' = relu(m) of its state m.
class Written : public ProofPlan {
public:
  std::uint32_t shard = buffer("w", {4, 6}), state = buffer("m", {4, 6}), other = buffer("other", {4, 6});
  plan::LaunchT *ofParameter = nullptr, *ofState = nullptr;

  Written() : ProofPlan({{"shard", 2}}) {
    unit("u");
    plan::ParameterT &own = parameter("w", {8, 6}, {0}, shard);
    own.states.push_back(std::make_unique<plan::StateT>());
    own.states[0]->name = "m";
    own.states[0]->buffer = state;
    const std::vector<plan::AttributeT> ofM{text("state", "m")};
    define("model.write", {op("model.relu", {op("model.read", {}, {8, 6}, {}, "w")}, {8, 6})}, {}, {}, "w");
    define("model.write", {op("model.relu", {op("model.read", {}, {8, 6}, ofM, "w")}, {8, 6})}, {}, ofM, "w");
    end();
    step();
    ofParameter = launch(0, "relu", {view(shard)}, {view(shard)}).operation.AsLaunch();
    ofState = launch(0, "relu", {view(state)}, {view(state)}).operation.AsLaunch();
  }
};

TEST(ShardProof, ParametersAndStatesHoldWhatIsWritten) {
  Written good;
  EXPECT_EQ(proofOf(good), "");

  Written parameter;
  *parameter.ofParameter->outputs[0] = parameter.view(parameter.other);
  expectText(proofOf(parameter), "P10", "'train_step' leaves in parameter 'w' a tensor that holds value 1");

  Written state;
  *state.ofState->outputs[0] = state.view(state.other);
  expectText(proofOf(state), "P10", "leaves in state 'm' of parameter 'w' a tensor that holds value 3");

  Written exchanged;
  std::swap(exchanged.ofParameter->outputs[0], exchanged.ofState->outputs[0]);
  EXPECT_NE(proofOf(exchanged), "");

  Written unknown;
  unknown.launch(0, "exp", {unknown.view(unknown.other)}, {unknown.view(unknown.shard)});
  expectText(proofOf(unknown), "P9: ", "leaves in parameter 'w' a tensor that is not related to the program");

  // Half of the shard, and the other half of another buffer.
  Written half;
  half.copy(0, half.view(half.state, {2, 6}), half.view(half.shard, {2, 6}));
  EXPECT_NE(proofOf(half), "");

  // The rows in another order.
  Written turned;
  turned.copy(0, turned.view(turned.shard, {2, 6}), turned.view(turned.other, {2, 6}, 48));
  turned.copy(0, turned.view(turned.shard, {2, 6}, 48), turned.view(turned.other, {2, 6}));
  turned.copy(0, turned.view(turned.other), turned.view(turned.shard));
  EXPECT_NE(proofOf(turned), "");
}

/// One update by sgd with momentum of two parameters, and what each operand holds.
class Updated : public ProofPlan {
public:
  std::vector<std::uint32_t> weights, gradients, momenta;
  plan::LaunchT *update = nullptr;

  Updated() : ProofPlan({{"shard", 2}}) {
    unit("u");
    Ids scalars;
    const std::vector<plan::AttributeT> ofM{text("state", "momentum_buffer")};
    for (const char *name : {"lr", "clip", "guard"})
      scalars.push_back(input(name, {}));
    scalars.insert(scalars.begin() + 1, input("step", {}, plan::DType::i64));
    Ids outputs;
    std::vector<plan::ViewT> inputs, results;
    for (const char *name : {"a", "b"}) {
      weights.push_back(buffer(name, {4, 6}));
      gradients.push_back(buffer(std::string("gradient.") + name, {4, 6}));
      momenta.push_back(buffer(std::string("momentum.") + name, {4, 6}));
      plan::ParameterT &own = parameter(name, {8, 6}, {0}, weights.back());
      own.states.push_back(std::make_unique<plan::StateT>());
      own.states[0]->name = "momentum_buffer";
      own.states[0]->buffer = momenta.back();
      const std::uint32_t w = op("model.read", {}, {8, 6}, {}, name), m = op("model.read", {}, {8, 6}, ofM, name),
                          g = op("model.relu", {w}, {8, 6}), newW = value({8, 6}), newM = value({8, 6});
      Ids operands{w, g, m};
      operands.insert(operands.end(), scalars.begin(), scalars.end());
      define("model.sgd", operands, {newW, newM}, {number("momentum", 0.5)});
      define("model.write", {newW}, {}, {}, name);
      define("model.write", {newM}, {}, ofM, name);
      outputs.insert(outputs.end(), {newW, newM});
    }
    end();
    plan::EntryT &entry = step();
    std::vector<plan::ViewT> last;
    for (const char *name : {"lr", "step", "clip", "guard"}) {
      const std::uint32_t scalar =
          buffer(name, {}, name == std::string("step") ? plan::DType::i64 : plan::DType::f32, host);
      PlanBuilder::port(entry.inputs, name, view(scalar));
      last.push_back(view(scalar));
    }
    for (std::size_t p = 0; p < 2; ++p) {
      launch(0, "relu", {view(weights[p])}, {view(gradients[p])});
      for (std::uint32_t operand : {weights[p], gradients[p], momenta[p]})
        inputs.push_back(view(operand));
      results.insert(results.end(), {view(weights[p]), view(momenta[p])});
    }
    inputs.insert(inputs.end(), last.begin(), last.end());
    update = &compute("sgd", std::move(inputs), std::move(results), {}, outputs, {number("momentum", 0.5)});
  }
  void insertInput(std::size_t at) {
    update->inputs.insert(update->inputs.begin() + std::ptrdiff_t(at),
                          std::make_unique<plan::ViewT>(*update->inputs[at]));
  }
};

TEST(ShardProof, AnUpdateHasTheOperandsOfEachParameter) {
  Updated good;
  EXPECT_EQ(proofOf(good), "");

  Updated more;
  more.insertInput(6);
  expectText(proofOf(more), "P9", "has operands of no update");

  Updated fewer;
  fewer.update->inputs.erase(fewer.update->inputs.begin() + 3);
  fewer.update->inputs.erase(fewer.update->inputs.begin() + 3);
  fewer.update->inputs.erase(fewer.update->inputs.begin() + 3);
  expectText(proofOf(fewer), "P9", "has too few operands for value");

  Updated fewerResults;
  fewerResults.update->outputs.pop_back();
  expectText(proofOf(fewerResults), "P9", "has too few operands for value");

  Updated noScalars;
  for (auto kind = noScalars.program().kinds.begin(); kind != noScalars.program().kinds.end(); ++kind)
    if ((*kind)->op == "model.sgd") {
      // An op of three operands, of which four are scalars.
      plan::ProgramT &program = noScalars.program();
      const std::size_t op = std::size_t(kind - program.kinds.begin());
      program.operands.resize(program.operand_ends[op] - 4);
      const std::uint32_t end = std::uint32_t(program.operands.size());
      for (std::size_t k = op; k < program.operand_ends.size(); ++k)
        program.operand_ends[k] = end;
      break;
    }
  expectText(proofOf(noScalars), "P9", "has too few operands for value");

  Updated exchanged;
  std::swap(exchanged.update->inputs[1], exchanged.update->inputs[4]);
  expectText(proofOf(exchanged), "P9", "operand 1 holds value");

  Updated noIds;
  noIds.update->output_values.clear();
  expectText(proofOf(noIds), "P9: ", "an update that is not related to the unsharded program");

  Updated unknown;
  unknown.update->output_values[0] = 1000;
  expectText(proofOf(unknown), "P9: ", "an update that is not related to the unsharded program");
}

/// The rows of the gradient are those of another rank, or in another order.
TEST(ShardProof, AnUpdateHasOneShardOfAllTensors) {
  Updated otherRows;
  plan::ViewT &gradient = *otherRows.update->inputs[1];
  gradient.shape = {6, 4};
  gradient.strides = {1, 6};
  EXPECT_NE(proofOf(otherRows), "");

  // By elements, in the same order.
  Updated flat;
  for (std::size_t k : {0, 1, 2})
    flat.update->inputs[k]->shape = {24};
  for (std::size_t k : {0, 1})
    flat.update->outputs[k]->shape = {24};
  EXPECT_EQ(proofOf(flat), "");

  Updated flatGradient;
  flatGradient.update->inputs[1]->shape = {24};
  EXPECT_EQ(proofOf(flatGradient), "");
}

/// The gelu of a part of a sum is no part of its result.
TEST(ShardProof, AProductWithGeluNeedsAllOfTheDimThatItReduces) {
  ProofPlan p({{"tensor", 2}});
  const std::uint32_t a = p.buffer("a", {4, 6}), b = p.buffer("b", {4, 4}), y = p.buffer("y", {6, 4}),
                      gelu = p.buffer("gelu", {6, 4});
  p.unit("u");
  p.parameter("a", {8, 6}, {0}, a);
  p.parameter("b", {8, 4}, {0}, b);
  const Ids operands{p.op("model.read", {}, {8, 6}, {}, "a"), p.op("model.read", {}, {8, 4}, {}, "b")},
      results{p.value({6, 4}), p.value({6, 4})};
  p.define("model.matmul_gelu", operands, results, {integer("transpose_lhs", 1)});
  p.end({results[1]});
  plan::EntryT &entry = p.step();
  p.compute("matmul_gelu", {p.view(a), p.view(b)}, {p.view(y), p.view(gelu)}, operands, results,
            {integer("transpose_a", 1)});
  p.port(entry.outputs, "y", p.view(gelu));
  expectText(proofOf(p), "P9", "'model.matmul_gelu' of a part of a dim that it reduces");
}

/// The norm of two parameters, one of them sharded.
class Norm : public ProofPlan {
public:
  std::uint32_t a = buffer("a", {4, 6}), b = buffer("b", {6}), ofA = buffer("ofA", {}), ofB = buffer("ofB", {}),
                total = buffer("sum", {}), norm = buffer("norm", {});
  plan::LaunchT *powersOfA = nullptr, *powersOfB = nullptr, *add = nullptr;
  plan::CollectiveT *reduce = nullptr;

  explicit Norm(void (*before)(Norm &) = nullptr, double p = 2) : ProofPlan({{"tensor", 2}}) {
    unit("u");
    parameter("a", {8, 6}, {0}, a);
    parameter("b", {6}, {}, b);
    const std::uint32_t readA = op("model.read", {}, {8, 6}, {}, "a"), readB = op("model.read", {}, {6}, {}, "b"),
                        powers = op("model.power_sum", {readA, readB}, {}, {number("p", p)});
    end({op("model.norm_root", {powers}, {}, {number("p", p)})});
    plan::EntryT &entry = step();
    powersOfA = &compute("power_sum", {view(a)}, {view(ofA)}, {}, {}, {number("p", p)});
    powersOfB = &compute("power_sum", {view(b)}, {view(ofB)}, {}, {}, {number("p", p)});
    reduce = collective(0, all_reduce, {0}, p == 2 ? plan::ReduceOp::sum : max, {{view(ofA), view(ofA)}})
                 .operation.AsCollective();
    if (before)
      before(*this);
    add = &compute(p == 2 ? "add" : "maximum", {view(ofA), view(ofB)}, {view(total)});
    compute("norm_root", {view(total)}, {view(norm)}, {}, {}, {number("p", p)});
    PlanBuilder::port(entry.outputs, "norm", view(norm));
  }
};

TEST(ShardProof, SumsOfPowersAreAdded) {
  Norm good;
  EXPECT_EQ(proofOf(good), "");
  Norm largest(nullptr, std::numeric_limits<double>::infinity());
  EXPECT_EQ(proofOf(largest), "");

  Norm terms;
  terms.reduce->axes.clear();
  expectText(proofOf(terms), "P9", "expected sums of powers");

  Norm otherPower;
  otherPower.powersOfB->attributes[0]->number = 3;
  expectText(proofOf(otherPower), "P9", "expected sums of powers");

  Norm largestOfSums;
  largestOfSums.plan.kernels[largestOfSums.add->kernel] = "maximum";
  expectText(proofOf(largestOfSums), "P9", "expected sums of powers");

  for (std::uint32_t Norm::*operand : {&Norm::ofA, &Norm::ofB}) {
    Norm notPowers;
    notPowers.add->inputs[operand == &Norm::ofA ? 0 : 1] =
        std::make_unique<plan::ViewT>(notPowers.view(notPowers.b, {}, 0));
    EXPECT_NE(proofOf(notPowers), "");
  }

  Norm doubled([](Norm &p) {
    for (std::uint32_t powers : {p.ofA, p.ofB})
      PlanBuilder::attribute(p.launch(0, "scale", {p.view(powers)}, {p.view(powers)}), "factor", 2);
  });
  expectText(proofOf(doubled), "P9", "expected sums of powers");

  Norm sums([](Norm &p) {
    for (std::uint32_t powers : {p.ofA, p.ofB})
      p.compute("accumulate", {p.view(powers)}, {p.view(powers)}, {}, {}, {integer("first", 1)});
  });
  expectText(proofOf(sums), "P9", "expected sums of powers");

  Norm unknown([](Norm &p) { p.launch(0, "exp", {p.view(p.b)}, {p.view(p.ofB)}); });
  expectText(proofOf(unknown), "P9: ", "");

  Norm empty;
  empty.add->inputs[1]->buffer = empty.buffer("empty", {});
  expectText(proofOf(empty), "P9: ", "a term of a sum of powers is not known");

  Norm ofNothing;
  ofNothing.add->output_values = {1000};
  EXPECT_EQ(proofOf(ofNothing), "");
}

TEST(ShardProof, PowersAreThoseOfTheValueThatIsNamed) {
  Norm named;
  named.powersOfA->input_values = {1};
  EXPECT_EQ(proofOf(named), "");

  Norm other;
  other.powersOfA->input_values = {2};
  expectText(proofOf(other), "P9", "operand 0 holds value 1");

  Norm none;
  none.powersOfA->input_values = {1000};
  EXPECT_EQ(proofOf(none), "");
}

} // namespace
} // namespace sluice::test
