//===- UnevenTest.cpp - proofs of plans in which ranks have shorter chunks or none (P9) -----===//
#include "test/unit/plan/proof/SpoiledPlan.h"

namespace sluice::test {
namespace {

const Recipe unevenRecipes[] = {
    // Parts of 16 columns in chunks of 6: padding within the part of a rank.
    {"ChunksOfParts", "zoo mlp-stack --set dim=8",
     "--set mesh.shard=3 --set mesh.tensor=2 --set sharding.dim=largest --set sharding.units=root --set "
     "'sharding.tensor={\"*.in_proj.*\"=\"column\", \"*.out_proj.*\"=\"row\"}'"},
    // Parts of 16 columns in chunks of 3: the last chunk has one column.
    {"LastChunkOfOneColumn", "zoo mlp-stack --set dim=8",
     "--set mesh.shard=6 --set mesh.tensor=2 --set sharding.dim=largest --set sharding.reshard_after_forward=2 --set "
     "'sharding.tensor={\"*.in_proj.*\"=\"column\", \"*.out_proj.*\"=\"row\"}'"},
    // Parts of 8 of 15 columns, in chunks of 3: padding of both axes in one dim.
    {"PaddingOfTwoAxes", "zoo mlp-stack --set dim=5 --set batch=3",
     "--set mesh.shard=3 --set mesh.tensor=2 --set sharding.dim=largest --set "
     "'sharding.tensor={\"0.in_proj.weight\"=\"row\", \"0.out_proj.weight\"=\"row\", \"1.in_proj.weight\"=\"column\", "
     "\"1.in_proj.bias\"=\"column\", \"1.out_proj.weight\"=\"row\", \"2.out_proj.weight\"=\"row\"}'"},
    // The norm adds zeros in the padding of one axis, and leaves out that of the other one.
    {"NormOfTwoAxes", "zoo linear-relu-linear --set out=8",
     "--set mesh.shard=3 --set mesh.tensor=2 --set sharding.dim=largest --set gradient.clip_norm=1.0 --set "
     "'sharding.tensor={\"0.weight\"=\"column\", \"0.bias\"=\"column\", \"2.weight\"=\"row\", \"2.bias\"=\"column\"}'"},
    // A part of one row: the first rank has it, and the others padding.
    {"OneRowForAllRanks", "zoo mlp-stack --set dim=3 --set batch=4",
     "--set mesh.shard=3 --set mesh.tensor=3 --set "
     "'sharding.tensor={\"0.out_proj.weight\"=\"column\", \"0.out_proj.bias\"=\"column\"}'"},
    // A frozen parameter of four rows has the chunk of one of six rows, which is trained.
    {"FrozenOfOtherRows", "zoo moe --set batch=4 --set dim=6",
     "--set mesh.shard=4 --set mesh.expert=2 --set sharding.units=root --set 'parameters.frozen=[\"*0*\"]'"},
    // The output projection is reduced after the other parameters, with the chunk of the table of positions.
    {"ChunksOfOneSize",
     "hf " SLUICE_SOURCE_DIR "/test/reference/families/opt-post-norm/config.json --batch 2 --sequence 8",
     "--set mesh.shard=6 --set mesh.expert=2 --set loss.chunk_rows=8"},
    // The gradients of two passes are added, of which ranks have padding.
    {"PaddingOfTwoPasses", "zoo two-forwards --set layers=2",
     "--set mesh.tensor=3 --set gradient.reduce_per_pass=true --set "
     "'sharding.tensor={\"layers.1.attention.wo.weight\"=\"row\"}'"},
    // The columns have padding along one axis, and the rows along the other one.
    {"PaddingOfTwoPassesAndAxes", "zoo two-forwards --set layers=2",
     "--set mesh.tensor=3 --set mesh.shard=3 --set sharding.dim=largest --set gradient.reduce_per_pass=true --set "
     "'sharding.tensor={\"layers.1.attention.wo.weight\"=\"row\"}'"},
    // A rank has two rows of each half of a head, and six chunks of one row: two of padding, as another half would
    // have.
    {"ChunksPastHalves", "hf " SLUICE_SOURCE_DIR "/test/reference/families/stablelm/config.json --batch 2 --sequence 8",
     "--set mesh.shard=6 --set mesh.tensor=3 --set "
     "'sharding.tensor={\"model.layers.1.self_attn.k_proj.weight\"=\"column\"}'"},
    // Four heads over three ranks.
    {"Heads", "zoo transformer --set dropout=0.1",
     "--set mesh.tensor=3 --set 'sharding.tensor={\"layers.0.attention.wk.weight\"=\"column\", "
     "\"layers.0.attention.wv.weight\"=\"column\", \"layers.1.attention.wo.weight\"=\"row\"}'"},
};

class Uneven : public testing::TestWithParam<Recipe> {};

TEST_P(Uneven, PlanIsProved) { expectProved(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Proof, Uneven, testing::ValuesIn(unevenRecipes),
                         [](const auto &info) { return std::string(info.param.name); });

/// The launch that adds to the first gradient whose padding was cleared.
plan::LaunchT &sumOfCleared(plan::PlanT &plan) {
  const std::uint32_t cleared = findLaunch(plan, "pad").outputs[0]->buffer;
  return *find(plan, [&](const plan::InstructionT &at) {
            const plan::LaunchT *launch = at.operation.AsLaunch();
            return launch && plan.kernels[launch->kernel] == "add" && launch->inputs[0]->buffer == cleared;
          }).operation.AsLaunch();
}

const Wrong wrongUneven[] = {
    {"PaddingIsAdded", "NormOfTwoAxes", 8, "",
     [](plan::PlanT &plan) {
       for (const auto &view : findLaunch(plan, "power_sum").inputs)
         view->valid.clear();
     }},
    {"PaddingIsOne", "NormOfTwoAxes", 9, "a sum of powers of the padding of",
     [](plan::PlanT &plan) {
       forEachInstruction(*plan.entries[std::size_t(findEntry(plan, "train_step"))],
                          [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
                            const plan::LaunchT *launch = instruction.operation.AsLaunch();
                            if (launch && plan.kernels[launch->kernel] == "pad")
                              attributeOf(const_cast<plan::LaunchT &>(*launch), "value").number = 1;
                          });
     }},
    {"PaddingOfOneTermIsOne", "PaddingOfTwoPasses", 9, "a sum of powers of the padding of",
     [](plan::PlanT &plan) { attributeOf(findLaunch(plan, "pad"), "value").number = 1; }},
    {"PaddingOfTheOtherTermIsOne", "PaddingOfTwoPasses", 9, "a sum of powers of the padding of",
     [](plan::PlanT &plan) {
       const std::uint32_t other = sumOfCleared(plan).inputs[1]->buffer;
       attributeOf(*find(plan,
                         [&](const plan::InstructionT &at) {
                           const plan::LaunchT *launch = at.operation.AsLaunch();
                           return launch && plan.kernels[launch->kernel] == "pad" &&
                                  launch->outputs[0]->buffer == other;
                         })
                        .operation.AsLaunch(),
                   "value")
           .number = 1;
     }},
    {"PaddingIsNotRead", "PaddingOfTwoPasses", 9, "a sum of powers of the padding of",
     [](plan::PlanT &plan) {
       plan::LaunchT &sum = sumOfCleared(plan);
       for (const auto &valid : findLaunch(plan, "pad").inputs[0]->valid)
         sum.inputs[1]->valid.push_back(std::make_unique<plan::ValidT>(*valid));
     }},
};

class WrongUneven : public testing::TestWithParam<Wrong> {};

TEST_P(WrongUneven, IsRefused) {
  expectRefused(*std::ranges::find(unevenRecipes, std::string_view(GetParam().recipe), &Recipe::name), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Proof, WrongUneven, testing::ValuesIn(wrongUneven),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace sluice::test
