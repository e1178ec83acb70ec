//===- ChangedViewsTest.cpp - no plan with a changed view is proved (P9) -------------------===//
//
// One number of one view of a compiled plan is changed: an instruction then reads or writes other elements, and the
// plan computes something else.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"
#include "test/unit/plan/proof/SpoiledPlan.h"

#include <random>
#include <set>

namespace sluice::test {
namespace {

const Recipe plans[] = {
    {"Columns", "zoo linear-relu-linear",
     "--set mesh.shard=3 --set sharding.dim=largest --set gradient.clip_norm=1.0 --set gradient.microbatches=2"},
    {"Flat", "zoo linear-relu-linear",
     "--set mesh.shard=3 --set sharding.dim=flat --set gradient.clip_norm=1.0 --set gradient.microbatches=2"},
    {"TensorParallel", "zoo mlp-stack --set dim=5",
     "--set mesh.shard=2 --set mesh.tensor=2 --set gradient.clip_norm=1.0 --set "
     "'sharding.tensor={\"*.in_proj.*\"=\"column\", \"*.out_proj.*\"=\"row\"}'"},
    {"Heads", "hf " SLUICE_SOURCE_DIR "/test/reference/families/gpt-neox/config.json --batch 2 --sequence 16",
     "--set mesh.shard=2"},
    {"ReshapedHeads", "hf " SLUICE_SOURCE_DIR "/test/reference/families/stablelm/config.json --batch 2 --sequence 16",
     "--set mesh.shard=2"},
    {"Vocabulary", "zoo transformer --set dropout=0 --set loss=cross-entropy --set vocab=11",
     "--set mesh.shard=2 --set mesh.tensor=2 --set gradient.clip_norm=1.0 --set "
     "'sharding.tensor={\"tok_embeddings.weight\"=\"row\", \"*.wq.weight\"=\"column\", \"*.wk.weight\"=\"column\", "
     "\"*.wv.weight\"=\"column\", \"*.wo.weight\"=\"row\", \"*.w1.*\"=\"column\", \"*.w2.weight\"=\"row\"}'"},
};

/// A view of an instruction of the train step.
struct ViewOf {
  plan::ViewT *view;
  std::string instruction;
};

/// Those on which a result depends: a unit is gathered again for the backward with parameters that it does not read,
/// and fills give padding a value. The order of the elements of a sum of powers has no meaning.
std::vector<ViewOf> viewsOf(plan::PlanT &plan) {
  plan::EntryT &step = *plan.entries[std::size_t(findEntry(plan, "train_step"))];
  std::set<std::uint32_t> read;
  forEachInstruction(step, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
    forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
      if (!isWrite)
        read.insert(view.buffer);
    });
  });
  std::vector<ViewOf> views;
  forEachInstruction(step, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
    const std::string what = operationName(plan, instruction) + " " + std::to_string(i);
    if (instruction.operation.AsFill() || what.starts_with("launch power_sum"))
      return;
    if (const plan::CollectiveT *collective = instruction.operation.AsCollective();
        collective && collective->kind == plan::CollectiveKind::all_gather) {
      for (const auto &segment : collective->segments)
        if (read.contains(segment->destination->buffer))
          for (plan::ViewT *view : {segment->source.get(), segment->destination.get()})
            views.push_back({view, what});
      return;
    }
    forEachView(instruction,
                [&](const plan::ViewT &view, bool) { views.push_back({const_cast<plan::ViewT *>(&view), what}); });
  });
  return views;
}

/// Changes one number; false if there is nothing to change. Describes the change.
bool change(plan::ViewT &view, std::mt19937 &random, std::string &what) {
  const std::uint64_t element = dtypeBytes(baseType(view.dtype));
  const auto dim = [&](auto &list) { return std::size_t(random() % list.size()); };
  switch (random() % 5) {
  case 0:
    what = "begins one element later";
    view.offset += element;
    return true;
  case 1:
    what = "begins one element earlier";
    if (view.offset < element)
      return false;
    view.offset -= element;
    return true;
  case 2: {
    what = "has a row less";
    if (view.shape.empty())
      return false;
    std::int64_t &extent = view.shape[dim(view.shape)];
    return --extent > 0;
  }
  case 3: {
    what = "has exchanged strides";
    if (view.shape.size() < 2)
      return false;
    if (view.strides.empty()) {
      view.strides.resize(view.shape.size());
      std::int64_t stride = 1;
      for (std::size_t d = view.shape.size(); d-- > 0; stride *= view.shape[d])
        view.strides[d] = stride;
    }
    const std::size_t d = random() % (view.shape.size() - 1);
    std::swap(view.strides[d], view.strides[d + 1]);
    return view.strides[d] != view.strides[d + 1] && view.shape[d] > 1 && view.shape[d + 1] > 1;
  }
  default: {
    what = "has a shorter valid extent";
    if (view.valid.empty())
      return false;
    return --view.valid[dim(view.valid)]->total > 0;
  }
  }
}

class ChangedViews : public testing::TestWithParam<Recipe> {};

TEST_P(ChangedViews, AreNotProved) {
  plan::PlanT plan = compile(GetParam());
  {
    check::Findings findings;
    ASSERT_FALSE(check::computesProgram(plan, findings));
    ASSERT_EQ(findings[9].notProved, "");
  }
  std::mt19937 random(41);
  const std::vector<ViewOf> views = viewsOf(plan);
  int changed = 0;
  for (int round = 0; round < 500; ++round) {
    const ViewOf &changedView = views[random() % views.size()];
    plan::ViewT &view = *changedView.view;
    const plan::ViewT before(view);
    std::string what;
    const bool isChanged = change(view, random, what);
    const std::optional<std::uint64_t> bytes = viewBytes(view);
    if (isChanged && bytes && view.offset + *bytes <= plan.buffers[view.buffer]->bytes) {
      ++changed;
      check::Findings findings;
      if (!check::computesProgram(plan, findings) && findings[9].notProved.empty())
        ADD_FAILURE() << "the view of '" << plan.buffers[view.buffer]->name << "' of " << changedView.instruction << " "
                      << what;
    }
    view = before;
  }
  EXPECT_GT(changed, 80);
}

INSTANTIATE_TEST_SUITE_P(Proof, ChangedViews, testing::ValuesIn(plans),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace sluice::test
