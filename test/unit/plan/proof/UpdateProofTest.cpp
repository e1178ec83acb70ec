//===- UpdateProofTest.cpp - updates of parameters (P9) -------------------------------===//
//
// Small plans by hand, and the verdict of the proof after a change of one instruction.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

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

  Updated flatGradient;
  flatGradient.update->inputs[1]->shape = {24};
  EXPECT_EQ(proofOf(flatGradient), "");
}
} // namespace
} // namespace sluice::test
