//===- ProductProofTest.cpp - products that accumulate, norms that add, lists of casts (P7, P9) ---===//
#include "runtime/plan/check/Check.h"
#include "test/unit/plan/proof/ProofPlan.h"
#include "test/unit/plan/proof/SpoiledPlan.h"

namespace sluice::test {
namespace {

const Recipe
    accumulation = {"Accumulation", "zoo linear-relu-linear", "--set mesh.shard=2 --set gradient.microbatches=5"},
    repeatedSums =
        {"RepeatedSums", "zoo linear-relu-linear",
         "--set mesh.shard=2 --set gradient.microbatches=5 --set 'gradient.sync=[false, false, true, false, true]'"},
    norms = {"Norms", "zoo transformer", "--set mesh.shard=2 --set precision.compute=bf16"},
    // Sums of the gradients of biases and of layer norms; those of an embedding and of rms norms.
    sums = {"Sums", "zoo transformer", "--set mesh.shard=2 --set gradient.microbatches=4 --set precision.compute=bf16"},
    sumsOfLlama = {"SumsOfLlama",
                   "hf " SLUICE_SOURCE_DIR "/test/reference/llama-tiny/config.json --batch 2 --sequence 8",
                   "--set gradient.microbatches=4"},
    // On a GPU the gradient of a norm also adds dx over rows.
    columnSums = {"ColumnSums", "hf " SLUICE_SOURCE_DIR "/test/reference/gpt2-tiny/config.json --batch 2 --sequence 8",
                  "--set mesh.shard=2 --set precision.compute=bf16 --set target.device=cuda"},
    columnSumsOfMicrobatches = {"ColumnSumsOfMicrobatches",
                                "hf " SLUICE_SOURCE_DIR "/test/reference/gpt2-tiny/config.json --batch 2 --sequence 8",
                                "--set mesh.shard=2 --set gradient.microbatches=4 --set precision.compute=bf16 --set "
                                "target.device=cuda"},
    // The launch of the loss and its gradients adds chunk by chunk to the gradient of the projection.
    chunks = {"Chunks", "hf " SLUICE_SOURCE_DIR "/test/reference/llama-tiny/config.json --batch 2 --sequence 8",
              "--set loss.chunk_rows=4 --set gradient.microbatches=3 --set precision.compute=bf16"},
    tied = {"Tied", "hf " SLUICE_SOURCE_DIR "/test/reference/gpt2-tiny/config.json --batch 2 --sequence 8",
            "--set mesh.shard=2"},
    tiedOfMicrobatches = {"TiedOfMicrobatches",
                          "hf " SLUICE_SOURCE_DIR "/test/reference/gpt2-tiny/config.json --batch 2 --sequence 8",
                          "--set gradient.microbatches=3"},
    rotations = {"Rotations", "hf " SLUICE_SOURCE_DIR "/test/reference/llama-tiny/config.json --batch 2 --sequence 8",
                 "--set precision.compute=bf16"};

const Recipe tensorParallel = {"TensorParallel",
                               "hf " SLUICE_SOURCE_DIR "/test/reference/llama-tiny/config.json --batch 2 --sequence 8",
                               "--set mesh.tensor=2 --set precision.compute=bf16 --set sharding.tensor=megatron"},
             // The loss in chunks becomes products, of which the last one adds to the gradient of the projection.
    splitLoss = {"SplitLoss", "hf " SLUICE_SOURCE_DIR "/test/reference/llama-tiny/config.json --batch 2 --sequence 8",
                 "--set mesh.tensor=2 --set sharding.tensor=megatron --set loss.chunk_rows=4 --set "
                 "gradient.microbatches=3"};

TEST(Proof, OfProducts) {
  for (const Recipe *recipe :
       {&accumulation, &repeatedSums, &norms, &sums, &sumsOfLlama, &columnSums, &columnSumsOfMicrobatches, &chunks,
        &tied, &tiedOfMicrobatches, &rotations, &tensorParallel, &splitLoss})
    expectProved(*recipe);
}

/// The launch that adds its gradient to the sum of the micro-batches before.
plan::InstructionT &addingLaunch(plan::PlanT &plan, const std::string &kernel) {
  return find(plan, [&](const plan::InstructionT &at) {
    const plan::LaunchT *launch = at.operation.AsLaunch();
    return launch && plan.kernels[launch->kernel] == kernel && at.when == plan::When::not_first;
  });
}
plan::InstructionT &addingProduct(plan::PlanT &plan) { return addingLaunch(plan, "matmul"); }
/// The launch no longer adds to the last of its sums, which `attribute` gives.
void replaceSum(plan::LaunchT &launch, const std::string &attribute) {
  attributeOf(launch, attribute).integer = 0;
  launch.inputs.pop_back();
  launch.input_values.pop_back();
}
plan::LaunchT &listOf(plan::PlanT &plan, const std::string &kernel) {
  return *find(plan, [&](const plan::InstructionT &at) {
            const plan::LaunchT *launch = at.operation.AsLaunch();
            return launch && plan.kernels[launch->kernel] == kernel && launch->outputs.size() > 1;
          }).operation.AsLaunch();
}
plan::LaunchT &normWithAddend(plan::PlanT &plan) {
  return *find(plan, [&](const plan::InstructionT &at) {
            const plan::LaunchT *launch = at.operation.AsLaunch();
            return launch && plan.kernels[launch->kernel] == "layer_norm_grad" && launch->inputs.size() == 6;
          }).operation.AsLaunch();
}

plan::LaunchT &launchOf(plan::PlanT &plan, const std::string &kernel) {
  return *find(plan, [&](const plan::InstructionT &at) {
            const plan::LaunchT *launch = at.operation.AsLaunch();
            return launch && plan.kernels[launch->kernel] == kernel;
          }).operation.AsLaunch();
}

struct WrongProduct {
  const Recipe &recipe;
  Wrong wrong;
};
void PrintTo(const WrongProduct &product, std::ostream *out) { *out << product.wrong.name; }

const WrongProduct wrongProducts[] = {
    {accumulation,
     {"ReplacedSum", "", 7, "misses micro-batch 0",
      [](plan::PlanT &plan) { replaceSum(*addingProduct(plan).operation.AsLaunch(), "residual"); }}},
    {sums,
     {"ReplacedSumOfBias", "", 7, "misses micro-batch 0",
      [](plan::PlanT &plan) { replaceSum(*addingLaunch(plan, "reduce_sum").operation.AsLaunch(), "sum"); }}},
    {sumsOfLlama,
     {"ReplacedSumOfEmbedding", "", 7, "misses micro-batch 0",
      [](plan::PlanT &plan) { replaceSum(*addingLaunch(plan, "embedding_grad").operation.AsLaunch(), "sum"); }}},
    {sums,
     {"ReplacedSumOfNorm", "", 7, "misses micro-batch 0",
      [](plan::PlanT &plan) { replaceSum(*addingLaunch(plan, "layer_norm_grad").operation.AsLaunch(), "dbias_sum"); }}},
    {sumsOfLlama,
     {"ReplacedSumOfRmsNorm", "", 7, "misses micro-batch 0",
      [](plan::PlanT &plan) { replaceSum(*addingLaunch(plan, "rms_norm_grad").operation.AsLaunch(), "dweight_sum"); }}},
    {columnSumsOfMicrobatches,
     {"ReplacedSumOfColumns", "", 7, "misses micro-batch 0",
      [](plan::PlanT &plan) {
        replaceSum(*addingLaunch(plan, "layer_norm_grad_and_sum").operation.AsLaunch(), "columns_sum");
      }}},
    {columnSums,
     {"ExchangedSumOfColumns", "", 9, "",
      [](plan::PlanT &plan) {
        plan::LaunchT &launch = launchOf(plan, "layer_norm_grad_and_sum");
        std::swap(*launch.outputs[2], *launch.outputs[3]);
      }}},
    {columnSums,
     {"OtherOperandOfNormAndSum", "", 9, "operand",
      [](plan::PlanT &plan) {
        plan::LaunchT &launch = launchOf(plan, "layer_norm_grad_and_sum");
        std::swap(*launch.inputs[3], *launch.inputs[4]);
      }}},
    {chunks,
     {"ReplacedSumOfChunks", "", 7, "misses micro-batch 0",
      [](plan::PlanT &plan) {
        replaceSum(*addingLaunch(plan, "linear_cross_entropy_and_grad").operation.AsLaunch(), "dweight_sum");
      }}},
    {chunks,
     {"OtherLossOfChunks", "", 9, "expected 'reduction'",
      [](plan::PlanT &plan) {
        attributeOf(*addingLaunch(plan, "linear_cross_entropy_and_grad").operation.AsLaunch(), "reduction").integer = 1;
      }}},
    // Only the gradient of the embedding is left.
    {tied,
     {"ReplacedSumOfTiedEmbedding", "", 9, "(model.embedding_grad), expected value",
      [](plan::PlanT &plan) { replaceSum(launchOf(plan, "embedding_grad"), "sum"); }}},
    {tied,
     {"OtherSumOfTiedEmbedding", "", 9, "adds",
      [](plan::PlanT &plan) {
        plan::LaunchT &launch = launchOf(plan, "embedding_grad");
        launch.output_values[0] = launch.input_values[2];
      }}},
    // The sum is read from the memory of the other vector.
    {sums,
     {"ExchangedSumsOfNorm", "", 2, "updates input",
      [](plan::PlanT &plan) {
        plan::LaunchT &launch = *addingLaunch(plan, "layer_norm_grad").operation.AsLaunch();
        std::swap(*launch.inputs[launch.inputs.size() - 1], *launch.inputs[launch.inputs.size() - 2]);
      }}},
    {sums,
     {"ExchangedSumsAndOutputsOfNorm", "", 9, "adds",
      [](plan::PlanT &plan) {
        plan::LaunchT &launch = *addingLaunch(plan, "layer_norm_grad").operation.AsLaunch();
        std::swap(*launch.inputs[launch.inputs.size() - 1], *launch.inputs[launch.inputs.size() - 2]);
        std::swap(*launch.outputs[1], *launch.outputs[2]);
      }}},
    {sums,
     {"MissingMicrobatchOfNorm", "", 9, "",
      [](plan::PlanT &plan) {
        plan::InstructionT &launch = addingLaunch(plan, "layer_norm_grad");
        launch.when = plan::When::listed;
        launch.repetitions = {2, 3};
      }}},
    {sums,
     {"MissingMicrobatchOfBias", "", 7, "misses micro-batch 1",
      [](plan::PlanT &plan) {
        plan::InstructionT &launch = addingLaunch(plan, "reduce_sum");
        launch.when = plan::When::listed;
        launch.repetitions = {2, 3};
      }}},
    {accumulation,
     {"MissingMicrobatch", "", 7, "misses micro-batch 1",
      [](plan::PlanT &plan) {
        plan::InstructionT &product = addingProduct(plan);
        product.when = plan::When::listed;
        product.repetitions = {2, 3, 4};
      }}},
    {splitLoss,
     {"MissingMicrobatchOfTheLoss", "", 7, "misses micro-batch 1",
      [](plan::PlanT &plan) {
        plan::InstructionT &product = addingProduct(plan);
        product.when = plan::When::listed;
        product.repetitions = {2};
      }}},
    {splitLoss,
     {"SumOfOtherProductOfTheLoss", "", 9, "expected kernel 'linear_cross_entropy_grad'",
      [](plan::PlanT &plan) {
        plan::LaunchT &launch = *addingProduct(plan).operation.AsLaunch();
        *launch.inputs[0] = *launch.inputs[1];
      }}},
    {accumulation,
     {"SumOfOtherProduct", "", 9, "operand 1 holds",
      [](plan::PlanT &plan) {
        plan::LaunchT &launch = *addingProduct(plan).operation.AsLaunch();
        *launch.inputs[1] = *launch.inputs[0];
      }}},
    {norms,
     {"ExchangedAddend", "", 9, "operand",
      [](plan::PlanT &plan) { std::swap(*normWithAddend(plan).inputs[5], *normWithAddend(plan).inputs[1]); }}},
    {norms,
     {"MissingAddend", "", 9, "expected 6 operands",
      [](plan::PlanT &plan) {
        plan::LaunchT &launch = normWithAddend(plan);
        launch.inputs.pop_back();
        launch.input_values.pop_back();
      }}},
    {rotations,
     {"OtherRotations", "", 9, "expected 'theta'",
      [](plan::PlanT &plan) { attributeOf(listOf(plan, "rope"), "theta").number = 2; }}},
    {rotations,
     {"ExchangedCasts", "", 9, "operand",
      [](plan::PlanT &plan) {
        plan::LaunchT &list = listOf(plan, "cast");
        for (std::size_t a = 0; a < list.outputs.size(); ++a)
          for (std::size_t b = a + 1; b < list.outputs.size(); ++b)
            if (list.outputs[a]->shape == list.outputs[b]->shape && list.outputs[a]->shape.size() == 2)
              return std::swap(*list.outputs[a], *list.outputs[b]);
        throw std::runtime_error("no casts of one shape");
      }}},
};

class ProductRefused : public testing::TestWithParam<WrongProduct> {};

TEST_P(ProductRefused, Plan) { expectRefused(GetParam().recipe, GetParam().wrong); }

INSTANTIATE_TEST_SUITE_P(Proof, ProductRefused, testing::ValuesIn(wrongProducts),
                         [](const auto &info) { return std::string(info.param.wrong.name); });

/// The mean over two micro-batches of the product of two inputs. The second product adds to the first one.
class SumOfProducts : public ProofPlan {
public:
  std::uint32_t sum = buffer("sum", {2, 2, 2}), other = buffer("other", {2, 2}), mean = buffer("mean", {2, 2});
  plan::LaunchT *product = nullptr;

  SumOfProducts() : ProofPlan({{"shard", 2}}) {
    const Ids operands{input("a", {2, 2}), input("b", {2, 2})};
    const std::uint32_t result = op("model.matmul", operands, {2, 2});
    end({op("model.step_mean", {result}, {2, 2})});
    plan::EntryT &entry = step(2);
    std::vector<plan::ViewT> inputs;
    for (const char *name : {"a", "b"}) {
      inputs.push_back(view(buffer(name, {2, 2, 2}, f32, host), {2, 2}));
      inputs.back().repetition_stride = 16;
      PlanBuilder::port(entry.inputs, name, inputs.back()).per_repetition = true;
    }
    compute("matmul", inputs, {view(sum, {2, 2})}, operands, {result});
    entry.sections[0]->instructions.back()->when = plan::When::first;
    inputs.push_back(view(sum, {2, 2}));
    product = &compute("matmul", inputs, {view(sum, {2, 2})}, operands, {result}, {integer("residual", 1)});
    entry.sections[0]->instructions.back()->when = plan::When::not_first;
    section();
    PlanBuilder::attribute(launch(0, "scale", {view(sum, {2, 2})}, {view(sum, {2, 2})}), "factor", 0.5);
    collective(0, plan::CollectiveKind::all_reduce, {0}, plan::ReduceOp::mean, {{view(sum, {2, 2}), view(mean)}});
    PlanBuilder::port(entry.outputs, "y", view(mean));
  }
  /// The view that the second product adds.
  plan::ViewT &added() { return *product->inputs.back(); }
};

struct OtherSum {
  const char *name;
  void (*change)(SumOfProducts &);
};
void PrintTo(const OtherSum &sum, std::ostream *out) { *out << sum.name; }

const OtherSum otherSums[] = {
    {"Buffer", [](SumOfProducts &p) { p.added().buffer = p.other; }},
    {"Type", [](SumOfProducts &p) { p.added().dtype = plan::DType::bf16; }},
    {"Offset", [](SumOfProducts &p) { p.added().offset = 16; }},
    {"Strides", [](SumOfProducts &p) { p.added().strides = {1, 2}; }},
    {"Repetition", [](SumOfProducts &p) { p.added().repetition_stride = 16; }},
    {"NoResidual", [](SumOfProducts &p) { p.product->attributes.clear(); }},
    {"NoOperands",
     [](SumOfProducts &p) {
       p.product->inputs.clear();
       p.product->input_values.clear();
     }},
};

class ProductWithOtherSum : public testing::TestWithParam<OtherSum> {};

TEST_P(ProductWithOtherSum, IsNotProved) {
  SumOfProducts good, wrong;
  EXPECT_EQ(proofOf(good), "");
  GetParam().change(wrong);
  EXPECT_NE(proofOf(wrong), "");
}

INSTANTIATE_TEST_SUITE_P(Proof, ProductWithOtherSum, testing::ValuesIn(otherSums),
                         [](const auto &info) { return std::string(info.param.name); });

/// The sum of two values. The launch of the second one adds it to the first.
class SumOfValues : public ProofPlan {
public:
  std::uint32_t a = buffer("a", {2, 2}, f32, host), b = buffer("b", {2, 2}, f32, host), sum = buffer("sum", {2, 2});
  std::uint32_t productId = 0;
  plan::LaunchT *exp = nullptr, *product = nullptr;

  SumOfValues() : ProofPlan({{"shard", 2}}) {
    const Ids operands{input("a", {2, 2}), input("b", {2, 2})};
    const std::uint32_t first = op("model.exp", {operands[0]}, {2, 2});
    productId = op("model.matmul", operands, {2, 2});
    const std::uint32_t total = op("model.add", {first, productId}, {2, 2});
    end({total});
    plan::EntryT &entry = step();
    port(entry.inputs, "a", view(a));
    port(entry.inputs, "b", view(b));
    exp = launch(0, "exp", {view(a)}, {view(sum)}).operation.AsLaunch();
    product = &compute("matmul", {view(a), view(b), view(sum)}, {view(sum)}, {operands[0], operands[1], first}, {total},
                       {integer("residual", 1)});
    port(entry.outputs, "total", view(sum));
  }
};

TEST(Proof, ALaunchAddsToAnotherValue) {
  EXPECT_EQ(proofOf(SumOfValues()), "");

  SumOfValues otherValue;
  otherValue.exp->inputs[0]->buffer = otherValue.b;
  EXPECT_NE(proofOf(otherValue), "");

  SumOfValues otherElements;
  otherElements.exp->outputs[0]->strides = {1, 2};
  EXPECT_NE(proofOf(otherElements), "");

  SumOfValues otherId;
  otherId.product->output_values = {otherId.productId};
  EXPECT_NE(proofOf(otherId), "");

  // The transposed product is added.
  SumOfValues otherOrder;
  otherOrder.product->inputs[2]->strides = otherOrder.product->outputs[0]->strides = {1, 2};
  EXPECT_NE(proofOf(otherOrder), "");

  SumOfValues noId;
  for (const std::uint32_t id : {0u, std::uint32_t(check::proof::Numbering(noId.plan).valueCount()), 1000u}) {
    noId.product->output_values = {id};
    EXPECT_NE(proofOf(noId), "") << id;
  }
}

} // namespace
} // namespace sluice::test
