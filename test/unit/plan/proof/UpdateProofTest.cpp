//===- UpdateProofTest.cpp - updates of parameters (P9) -------------------------------===//
//
// Small plans by hand, and the verdict of the proof after a change of one instruction.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

/// Of the last operands of an update.
plan::DType scalarType(const std::string &name) {
  return name == "step" ? plan::DType::i64 : name == "guard" ? plan::DType::u8 : f32;
}

/// One update by sgd with momentum of two parameters, and what each operand holds.
class Updated : public ProofPlan {
public:
  std::vector<std::uint32_t> weights, gradients, momenta;
  plan::LaunchT *update = nullptr;

  /// `before` adds instructions before the update.
  explicit Updated(void (*before)(Updated &) = nullptr) : ProofPlan({{"shard", 2}}) {
    unit("u");
    Ids scalars;
    const std::vector<plan::AttributeT> ofM{text("state", "momentum_buffer")};
    for (const char *name : {"lr", "clip"})
      scalars.push_back(input(name, {}));
    scalars.push_back(input("guard", {}, plan::DType::u8));
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
      const std::uint32_t scalar = buffer(name, {}, scalarType(name), host);
      PlanBuilder::port(entry.inputs, name, view(scalar));
      last.push_back(view(scalar));
    }
    for (std::size_t p = 0; p < 2; ++p) {
      launch(0, "relu", {view(weights[p])}, {view(gradients[p])});
      for (std::uint32_t operand : {weights[p], gradients[p], momenta[p]})
        inputs.push_back(view(operand));
      results.insert(results.end(), {view(weights[p]), view(momenta[p])});
    }
    if (before)
      before(*this);
    inputs.insert(inputs.end(), last.begin(), last.end());
    update = &compute("sgd", std::move(inputs), std::move(results), {}, outputs, {number("momentum", 0.5)});
  }
  void insertInput(std::size_t at) {
    update->inputs.insert(update->inputs.begin() + std::ptrdiff_t(at),
                          std::make_unique<plan::ViewT>(*update->inputs[at]));
  }
};

TEST(UpdateProof, ItHasTheOperandsOfEachParameter) {
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

  for (const std::uint32_t missing : {3, 4}) {
    Updated noScalars;
    for (auto kind = noScalars.program().kinds.begin(); kind != noScalars.program().kinds.end(); ++kind) {
      if ((*kind)->op != "model.sgd")
        continue;
      // An op of four or three operands, of which four are scalars.
      plan::ProgramT &program = noScalars.program();
      const std::size_t op = std::size_t(kind - program.kinds.begin());
      program.operands.resize(program.operand_ends[op] - missing);
      const std::uint32_t end = std::uint32_t(program.operands.size());
      for (std::size_t k = op; k < program.operand_ends.size(); ++k)
        program.operand_ends[k] = end;
      break;
    }
    expectText(proofOf(noScalars), "P9",
               "(model.sgd): kernel 'sgd' inputs, expected 7 but got " + std::to_string(7 - missing));
  }

  Updated exchanged;
  std::swap(exchanged.update->inputs[1], exchanged.update->inputs[4]);
  expectText(proofOf(exchanged), "P9: instruction", "operand 1 holds value");

  Updated noIds;
  noIds.update->output_values.clear();
  expectText(proofOf(noIds), "P9: ", "an update that is not related to the unsharded program");

  Updated unknown;
  unknown.update->output_values[0] = 1000;
  expectText(proofOf(unknown), "P9: ", "an update that is not related to the unsharded program");
}

/// A rank has a column of the parameter, as a list of elements, and the row of the transposed gradient with the same
/// elements.
TEST(UpdateProof, ElementsAreInTheOrderOfTheParameter) {
  const auto make = [](bool isTransposed) {
    ProofPlan p({{"shard", 2}});
    p.unit("u");
    const std::uint32_t weight = p.buffer("w", {2, 1}), relu = p.buffer("relu", {2, 1});
    plan::ParameterT &own = p.parameter("w", {2, 2}, {0}, weight);
    own.dim = 1;
    own.chunk = 1;
    const std::uint32_t w = p.op("model.read", {}, {2, 2}, {}, "w");
    std::uint32_t g = p.op("model.relu", {w}, {2, 2});
    if (isTransposed)
      g = p.op("model.transpose", {g}, {2, 2}, {list("permutation", {1, 0})});
    Ids operands{w, g};
    std::vector<plan::ViewT> inputs{p.view(weight, {2}), isTransposed ? p.view(relu, {1, 2}) : p.view(relu, {2, 1})};
    plan::EntryT &entry = p.step();
    p.launch(0, "relu", {p.view(weight)}, {p.view(relu)});
    for (const char *name : {"lr", "step", "clip", "guard"}) {
      const plan::DType dtype = scalarType(name);
      operands.push_back(p.input(name, {}, dtype));
      inputs.push_back(p.view(p.buffer(name, {}, dtype, host)));
      p.PlanBuilder::port(entry.inputs, name, inputs.back());
    }
    const std::uint32_t result = p.value({2, 2});
    p.define("model.sgd", operands, {result});
    p.define("model.write", {result}, {}, {}, "w");
    p.end();
    p.compute("sgd", std::move(inputs), {p.view(weight, {2})}, {}, {result});
    return proofOf(p);
  };
  EXPECT_EQ(make(false), "");
  EXPECT_NE(make(true), "");
}

/// The rows of the gradient are those of another rank, or in another order.
TEST(UpdateProof, ItHasOneShardOfAllTensors) {
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

  // The rows of the first rank on all ranks.
  Updated firstRows([](Updated &p) {
    const std::uint32_t all = p.buffer("all", {8, 6});
    p.collective(0, plan::CollectiveKind::all_gather, {0}, plan::ReduceOp::none,
                 {{p.view(p.gradients[0]), p.view(all)}});
    p.copy(0, p.view(all, {4, 6}), p.view(p.gradients[0]));
  });
  firstRows.update->inputs[1]->shape = {24};
  expectText(proofOf(firstRows), "P9: instruction", "holds other elements of value");

  Updated flatGradient;
  flatGradient.update->inputs[1]->shape = {24};
  EXPECT_EQ(proofOf(flatGradient), "");
}
/// w' = w - relu(w) of a parameter w [8, 6] by elements, and relu(w) in another order of the elements: ranks divide it
/// again after it was turned, or by the axes in another order.
TEST(UpdateProof, ElementsAreInOneOrder) {
  const auto make = [](std::uint32_t replicas, std::uint32_t shards, bool isTurned, std::vector<std::uint32_t> axes) {
    ProofPlan p({{"replicate", replicas}, {"shard", shards}});
    const std::int64_t rows = 8 / std::int64_t(replicas * shards), count = rows * 6;
    const std::uint32_t w = p.buffer("w", {rows, 6}), relu = p.buffer("relu", {rows, 6}), all = p.buffer("all", {8, 6}),
                        turned = p.buffer("turned", {6, 8}), gradient = p.buffer("gradient", {count});
    p.unit("u");
    p.parameter("w", {8, 6}, {0, 1}, w);
    const Ids scalars{p.input("lr", {}), p.input("step", {}, plan::DType::i64), p.input("clip", {}),
                      p.input("guard", {}, plan::DType::u8)};
    const std::uint32_t read = p.op("model.read", {}, {8, 6}, {}, "w"), g = p.op("model.relu", {read}, {8, 6}),
                        result = p.op("model.sgd", {read, g, scalars[0], scalars[1], scalars[2], scalars[3]}, {8, 6});
    p.define("model.write", {result}, {}, {}, "w");
    p.end();
    plan::EntryT &entry = p.step();
    std::vector<plan::ViewT> operands{p.view(w, {count}), p.view(gradient)};
    for (const char *name : {"lr", "step", "clip", "guard"}) {
      const std::uint32_t scalar = p.buffer(name, {}, scalarType(name), host);
      p.port(entry.inputs, name, p.view(scalar));
      operands.push_back(p.view(scalar));
    }
    p.launch(0, "relu", {p.view(w)}, {p.view(relu)});
    p.collective(0, plan::CollectiveKind::all_gather, {0, 1}, plan::ReduceOp::none, {{p.view(relu), p.view(all)}});
    p.copy(0, p.view(all, {6, 8}, 0, {1, 6}), p.view(turned));
    p.collective(0, plan::CollectiveKind::reduce_scatter, std::move(axes), plan::ReduceOp::mean,
                 {{p.view(isTurned ? turned : all, {48}), p.view(gradient)}});
    p.compute("sgd", std::move(operands), {p.view(w, {count})}, {}, {result});
    return proofOf(p);
  };
  EXPECT_EQ(make(1, 4, false, {0, 1}), "");
  EXPECT_EQ(make(2, 2, false, {0, 1}), "");
  expectText(make(2, 2, false, {1, 0}), "P9: instruction", "expected operand 1 to hold the shard of operand 0");
  // The six columns are no multiple of four ranks.
  expectText(make(1, 4, true, {0, 1}), "P9: ", "expected operand 1 to hold the shard of operand 0");
}

} // namespace
} // namespace sluice::test
