//===- LifespansTest.cpp - lifespans of buffers against executions --------------------------===//
//
// Both directions: overwriting bytes after their lifespan changes no bit, and overwriting a buffer within its lifespan
// changes the result. Resident pages are those of live bytes.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Steps.h"

#include "runtime/executor/LifespanEnds.h"
#include "runtime/executor/Poison.h"
#include "runtime/executor/ResidentPages.h"
#include "runtime/plan/Reader.h"
#include "test/numeric/Training.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace sluice::numeric {
namespace {

struct Case {
  const char *name;
  /// A path of a configuration is below the reference folder.
  const char *model;
  const char *recipe;
  /// The number of buffers that are overwritten, drawn at random; 0: all.
  std::size_t drawn = 0;
};

constexpr std::size_t drawnBuffers = 64;
constexpr unsigned drawSeed = 19;

const Case cases[] = {
    {"Transformer", "zoo transformer --set dropout=0.1", "mesh.shard = 2\n"},
    {"TransformerRecomputed", "zoo transformer", "mesh.shard = 2\nrecompute.policy = \"block\"\n"},
    {"TransformerInHostMemory", "zoo transformer",
     "mesh.shard = 2\nmemory.offload = [\"parameters\", \"optimizer\"]\ngradient.microbatches = 2\n"},
    {"TransformerBf16", "zoo transformer", "mesh.shard = 2\nprecision.compute = \"bf16\"\n"},
    {"TransformerTensor", "zoo transformer --set loss=cross-entropy",
     "mesh.tensor = 2\n[sharding.tensor]\n\"*.feed_forward.w1.*\" = \"column\"\n\"*.feed_forward.w2.*\" = \"row\"\n"},
    {"MlpStack", "zoo mlp-stack", "mesh.shard = 2\n"},
    {"MlpSequence", "zoo mlp-sequence", "mesh.shard = 3\n"},
    {"LinearMlps", "zoo linear-mlps",
     "mesh.shard = 2\ngradient.microbatches = 4\ngradient.sync = [true, false, false, true]\n"},
    {"NormMlps", "zoo norm-mlps", "mesh.replicate = 2\nmesh.shard = 2\n"},
    {"NormLinear", "zoo norm-linear",
     "mesh.shard = 2\nsharding.units = {a = [\"norm1\", \"output1\"], b = [\"norm2\", \"output2\"]}\n"},
    {"DoubleLinear", "zoo double-linear", "mesh.shard = 2\n"},
    {"MultiForward", "zoo multi-forward", "mesh.shard = 4\nsharding.reshard_after_forward = 2\n"},
    {"SharedLinear", "zoo shared-linear", "mesh.shard = 2\n"},
    {"UnusedLinear", "zoo unused-linear", "mesh.shard = 2\n"},
    {"TwoForwards", "zoo two-forwards", "mesh.shard = 2\n"},
    {"TwoLosses", "zoo two-losses", "mesh.shard = 2\n"},
    {"ReduceModel", "zoo reduce-model", "mesh.shard = 2\n"},
    {"EncoderDecoder", "zoo encoder-decoder", "mesh.shard = 2\ngradient.microbatches = 2\n"},
    {"NestedRecompute", "zoo nested-recompute", "mesh.shard = 2\nrecompute.policy = \"marked\"\n"},
    {"Vision", "zoo vision --set batch=1", "mesh.shard = 2\n"},
    {"Conv", "zoo conv --set stem=6 --set hidden=9 --set height=12 --set width=13",
     "mesh.shard = 2\nrecompute.policy = \"marked\"\n"},
    {"Experts", "zoo moe --set batch=4", "mesh.shard = 2\nmesh.expert = 2\nsharding.expert = [\"*.experts.*\"]\n"},
    {"Gpt2", "hf gpt2-tiny/config.json --batch 2 --sequence 16",
     "mesh.shard = 2\ngradient.microbatches = 2\ngradient.clip_norm = 1.0\nrecompute.policy = \"block\"\n",
     drawnBuffers},
    {"Llama", "hf llama-tiny/config.json --batch 2 --sequence 16",
     "mesh.shard = 2\nprecision.compute = \"bf16\"\nloss.chunk_rows = 16\n", drawnBuffers},
};

std::string commandOf(const Case &tested) {
  const std::string model = tested.model;
  return model.starts_with("hf ") ? "hf " + referenceFolder() + "/" + model.substr(3) : model;
}

class Lifespans : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const Case &tested = GetParam();
    auto file = readCheckedPlan(compilePlan(std::string("lifespans-") + tested.name, commandOf(tested), tested.recipe));
    ASSERT_TRUE(file.isOk()) << file.status().message();
    plan = std::move(file->plan);
    base = runSteps(plan, nullptr);
    ASSERT_TRUE(base.status.isOk()) << base.status.message();
  }

  bool isBase(const Outcome &outcome) const {
    return outcome.bytes.size() == base.bytes.size() &&
           std::memcmp(outcome.bytes.data(), base.bytes.data(), base.bytes.size()) == 0;
  }

  plan::PlanT plan;
  Outcome base;
};

TEST_P(Lifespans, PoisonAfterLifespansChangesNoBit) {
  StepsOptions options;
  options.observe = poisonObserver();
  Outcome poisoned = runSteps(plan, nullptr, options);
  ASSERT_TRUE(poisoned.status.isOk()) << poisoned.status.message();
  EXPECT_TRUE(isBase(poisoned));
}

TEST_P(Lifespans, PagesOutsideLifespansAreNotNeeded) {
  StepsOptions options;
  auto report = std::make_shared<PageReport>();
  options.observe = pageObserver(report);
  options.prefault = false;
  Outcome measured = runSteps(plan, nullptr, options);
  ASSERT_TRUE(measured.status.isOk()) << measured.status.message();
  EXPECT_TRUE(isBase(measured));
  const PageBytes bytes = report->of(plan::Space::device);
  EXPECT_GT(bytes.resident, 0u);
  EXPECT_LE(bytes.resident, bytes.live);
}

/// Which instruction of an entry point first writes each buffer, and which buffers the results depend on. The gather of
/// a unit writes all its parameters, also those that the forward or backward does not read.
struct Accesses {
  std::vector<std::optional<std::uint32_t>> firstWrite;
  std::vector<bool> isNeeded;

  Accesses(const plan::PlanT &plan, const plan::EntryT &entry)
      : firstWrite(plan.buffers.size()), isNeeded(portBuffers(plan)) {
    for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
      isNeeded[b] = isNeeded[b] || plan.buffers[b]->entry == -1;
    bool grows = true;
    const auto flows = [&](std::uint32_t i, const auto &sources, const auto &destinations) {
      bool isUsed = false;
      for (const plan::ViewT *view : destinations) {
        isUsed = isUsed || isNeeded[view->buffer];
        if (!firstWrite[view->buffer])
          firstWrite[view->buffer] = i;
      }
      for (const plan::ViewT *view : sources)
        if (isUsed && !isNeeded[view->buffer])
          isNeeded[view->buffer] = grows = true;
    };
    using Views = std::vector<const plan::ViewT *>;
    const auto views = [](const auto &list) {
      Views found;
      for (const auto &view : list)
        found.push_back(view.get());
      return found;
    };
    while (grows) {
      grows = false;
      forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
        if (const auto *launch = instruction.operation.AsLaunch())
          flows(i, views(launch->inputs), views(launch->outputs));
        else if (const auto *collective = instruction.operation.AsCollective())
          for (const auto &segment : collective->segments)
            flows(i, Views{segment->source.get()}, Views{segment->destination.get()});
        else if (const auto *copy = instruction.operation.AsCopy())
          flows(i, Views{copy->source.get()}, Views{copy->destination.get()});
        else if (const auto *fill = instruction.operation.AsFill())
          flows(i, Views{}, Views{fill->destination.get()});
      });
    }
  }
};

/// Overwrites one buffer of rank 0 once, after the first instruction that writes it: NaN or `word`.
class Overwrite final : public InstructionObserver {
public:
  Overwrite(const plan::BufferT &buffer, RankMemory memory, std::uint32_t at, std::uint8_t word)
      : memory(std::move(memory)), buffer(buffer), at(at), word(word) {}

  Status afterInstruction(const ObservedInstruction &instruction) override {
    if (isDone || static_cast<int>(instruction.entry) != buffer.entry || instruction.index != at ||
        !instruction.isIssued)
      return {};
    isDone = true;
    const auto bytes = memory.arenas[static_cast<std::size_t>(buffer.space)].subspan(buffer.offset, buffer.bytes);
    const DType dtype = baseType(buffer.dtype);
    if (isFloat(dtype)) {
      std::ranges::fill(bytes, std::byte{0xff});
      return {};
    }
    std::ranges::fill(bytes, std::byte{0});
    for (std::size_t i = 0; i < bytes.size(); i += dtypeBytes(dtype))
      bytes[i] = std::byte{word};
    return {};
  }

private:
  const RankMemory memory;
  const plan::BufferT &buffer;
  const std::uint32_t at;
  const std::uint8_t word;
  bool isDone = false;
};

TEST_P(Lifespans, OverwritingALiveBufferChangesTheResult) {
  const auto entry = static_cast<std::uint32_t>(findEntry(plan, "train_step"));
  const Accesses accesses(plan, *plan.entries[entry]);
  const std::vector<bool> isPort = portBuffers(plan);
  std::vector<std::uint32_t> tested;
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
    if (plan.buffers[b]->entry == static_cast<int>(entry) && !isPort[b] && accesses.firstWrite[b] &&
        accesses.isNeeded[b])
      tested.push_back(b);
  if (GetParam().drawn != 0) {
    ASSERT_GT(tested.size(), GetParam().drawn);
    std::shuffle(tested.begin(), tested.end(), std::mt19937(drawSeed));
    tested.resize(GetParam().drawn);
  }
  for (std::uint32_t b : tested) {
    const plan::BufferT &buffer = *plan.buffers[b];
    bool changes = false;
    for (std::uint8_t word = 0; word < (isFloat(baseType(buffer.dtype)) ? 1 : 2) && !changes; ++word) {
      StepsOptions options;
      options.observe = [&](const plan::PlanT &, int rank, RankMemory memory) {
        return std::make_unique<Overwrite>(buffer, std::move(memory),
                                           rank == 0 ? *accesses.firstWrite[b] : ~std::uint32_t{0}, word);
      };
      Outcome outcome = runSteps(plan, nullptr, options);
      ASSERT_TRUE(outcome.status.isOk()) << outcome.status.message();
      changes = !isBase(outcome);
    }
    // The kernel of the norm's derivative reads its weight for the gradient of the input, which is not needed here.
    const std::string_view name = GetParam().name;
    const bool isReadInVain = (name == "NormMlps" && buffer.name == "0.weight.gathered.1") ||
                              (name == "NormLinear" && buffer.name == "norm1.weight.gathered.1");
    EXPECT_NE(changes, isReadInVain) << "buffer '" << buffer.name << "', live from " << buffer.begin << " to "
                                     << buffer.end << ", written at " << *accesses.firstWrite[b];
  }
  EXPECT_GT(tested.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Plans, Lifespans, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

/// The largest buffer of the device that train_step uses after its first write.
plan::BufferT &largest(plan::PlanT &plan) {
  const int entry = findEntry(plan, "train_step");
  plan::BufferT *found = nullptr;
  for (const auto &buffer : plan.buffers)
    if (buffer->entry == entry && buffer->space == plan::Space::device && buffer->end - buffer->begin > 4 &&
        (!found || buffer->bytes > found->bytes))
      found = buffer.get();
  return *found;
}

class WrongLifespan : public testing::Test {
protected:
  void SetUp() override {
    auto file = readCheckedPlan(compilePlan("lifespans-wrong", "zoo linear-mlps --set dim=128", "mesh.shard = 2\n"));
    ASSERT_TRUE(file.isOk()) << file.status().message();
    plan = std::move(file->plan);
    base = runSteps(plan, nullptr);
    ASSERT_TRUE(base.status.isOk()) << base.status.message();
  }

  plan::PlanT plan;
  Outcome base;
};

TEST_F(WrongLifespan, ThatEndsEarlyChangesPoisonedRuns) {
  largest(plan).end = largest(plan).begin + 2;
  StepsOptions options;
  options.observe = poisonObserver();
  Outcome poisoned = runSteps(plan, nullptr, options);
  ASSERT_EQ(poisoned.bytes.size(), base.bytes.size());
  EXPECT_NE(std::memcmp(poisoned.bytes.data(), base.bytes.data(), base.bytes.size()), 0);
}

TEST_F(WrongLifespan, ThatEndsEarlyChangesMeasuredRuns) {
  largest(plan).end = largest(plan).begin + 2;
  StepsOptions options;
  options.observe = pageObserver(std::make_shared<PageReport>());
  options.prefault = false;
  Outcome measured = runSteps(plan, nullptr, options);
  EXPECT_TRUE(!measured.status.isOk() || std::memcmp(measured.bytes.data(), base.bytes.data(), base.bytes.size()) != 0);
}

TEST_F(WrongLifespan, ThatBeginsLateIsFoundByItsPages) {
  largest(plan).begin = largest(plan).end - 1;
  StepsOptions options;
  options.observe = pageObserver(std::make_shared<PageReport>());
  options.prefault = false;
  Outcome measured = runSteps(plan, nullptr, options);
  EXPECT_NE(measured.status.message().find("of the device arena is resident after instruction"), std::string::npos)
      << measured.status.message();
  EXPECT_NE(measured.status.message().find("but none of its bytes is live there"), std::string::npos);
}

TEST_F(WrongLifespan, ThatIsTooLongHasPagesThatAreNotResident) {
  auto report = std::make_shared<PageReport>();
  StepsOptions options;
  options.observe = pageObserver(report);
  options.prefault = false;
  // Bytes that no buffer uses, at the end of the arena.
  plan::BufferT unused = largest(plan);
  for (const auto &arena : plan.arenas)
    if (arena->space == plan::Space::device) {
      unused.offset = arena->bytes = (arena->bytes + 4095) / 4096 * 4096;
      arena->bytes += unused.bytes;
    }
  unused.begin = 0;
  unused.end = instructionCount(*plan.entries[static_cast<std::size_t>(findEntry(plan, "train_step"))]);
  plan.buffers.push_back(std::make_unique<plan::BufferT>(unused));
  Outcome measured = runSteps(plan, nullptr, options);
  ASSERT_TRUE(measured.status.isOk()) << measured.status.message();
  const PageBytes bytes = report->of(plan::Space::device);
  EXPECT_GE(bytes.live, bytes.resident + unused.bytes);
}

} // namespace
} // namespace sluice::numeric
