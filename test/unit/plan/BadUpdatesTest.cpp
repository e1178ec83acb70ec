//===- BadUpdatesTest.cpp - each gradient reduced and each parameter updated once (P10) ---===//
#include "BadPlan.h"

#include "runtime/plan/Checker.h"

#include <map>

namespace sluice::test {
namespace {

/// A launch without momentum, which updates only its parameter.
void leaveState(plan::LaunchT &update) {
  update.attributes.clear();
  update.inputs.erase(update.inputs.begin() + 2);
  update.outputs.pop_back();
}

/// The launch does the same as a different one.
void repeat(plan::LaunchT &launch, const plan::LaunchT &other) { launch = plan::LaunchT(other); }

const Bad updates[] = {
    {"NotUpdated", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 0",
     [](HandPlan &h) { h.drop("update b"); }},
    {"UpdatedTwice", 10, "but got 2", [](HandPlan &h) { repeat(h.launch("update b"), h.launch("update a")); }},
    {"UpdatedEachRepetition", 10, "but got 2", [](HandPlan &h) { h.section(1).repeat = 2; }},
    {"FrozenUpdated", 10, "expected 0 updates", [](HandPlan &h) { h.parameter("a.weight").frozen = true; }},
    {"StateNotUpdated", 10, "state 'momentum_buffer' of parameter 'a.weight'",
     [](HandPlan &h) { leaveState(h.launch("update a")); }},
    {"ReadAfterUpdate", 10, "reads buffer 'b.weight' after its update",
     [](HandPlan &h) { h.launch("update a").inputs[3] = h.view("b.weight"); }},
};
INSTANTIATE_TEST_SUITE_P(P10, BadPlan, testing::ValuesIn(updates), nameOf);

/// A second entry point like the first, with different buffers at the same offsets.
void addTwin(HandPlan &h) {
  plan::PlanT &plan = h.plan;
  std::map<std::uint32_t, std::uint32_t> own;
  for (std::uint32_t b = 0, count = std::uint32_t(plan.buffers.size()); b < count; ++b)
    if (plan.buffers[b]->entry == 0) {
      own[b] = std::uint32_t(plan.buffers.size());
      plan.buffers.push_back(std::make_unique<plan::BufferT>(*plan.buffers[b]));
      plan.buffers.back()->name += ".twin";
      plan.buffers.back()->entry = 1;
    }
  auto twin = std::make_unique<plan::EntryT>(h.entry());
  twin->name = "train_twin";
  auto take = [&](std::uint32_t &buffer) {
    if (auto found = own.find(buffer); found != own.end())
      buffer = found->second;
  };
  for (auto *ports : {&twin->inputs, &twin->outputs})
    for (auto &port : *ports)
      take(port->view->buffer);
  for (auto &section : twin->sections)
    for (auto &instruction : section->instructions) {
      if (plan::LaunchT *launch = instruction->operation.AsLaunch()) {
        for (auto *views : {&launch->inputs, &launch->outputs})
          for (auto &view : *views)
            take(view->buffer);
      } else if (plan::CollectiveT *collective = instruction->operation.AsCollective()) {
        for (auto &segment : collective->segments) {
          take(segment->source->buffer);
          take(segment->destination->buffer);
        }
      } else if (plan::CopyT *copy = instruction->operation.AsCopy()) {
        take(copy->source->buffer);
        take(copy->destination->buffer);
      } else if (plan::FillT *fill = instruction->operation.AsFill()) {
        take(fill->destination->buffer);
      } else if (plan::ReleaseT *release = instruction->operation.AsRelease()) {
        for (std::uint32_t &buffer : release->buffers)
          take(buffer);
      }
    }
  plan.entries.push_back(std::move(twin));
}

/// The twin's instruction of that label.
plan::LaunchT &twinLaunch(HandPlan &h, const std::string &label) {
  std::uint32_t issue = h.index(label);
  for (auto &section : h.plan.entries[1]->sections) {
    if (issue < section->instructions.size())
      return *section->instructions[issue]->operation.AsLaunch();
    issue -= std::uint32_t(section->instructions.size());
  }
  return h.launch(label);
}

TEST(Checker, EntryPointMayUpdateSomeParameters) {
  HandPlan hand;
  addTwin(hand);
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
  // The second trains only 'a'.
  hand.drop("update b");
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
}

const Bad shared[] = {
    {"ByNobody", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 0",
     [](HandPlan &h) {
       h.drop("update b");
       addTwin(h);
     }},
    {"TwiceInOne", 10, "parameter 'a.weight', expected 1 updates in a step of 'train_twin' but got 2",
     [](HandPlan &h) {
       addTwin(h);
       repeat(twinLaunch(h, "update b"), twinLaunch(h, "update a"));
     }},
    {"ItsStateAlone", 10,
     "state 'momentum_buffer' of parameter 'b.weight', expected 0 updates in a step of 'train_twin'",
     [](HandPlan &h) {
       addTwin(h);
       plan::LaunchT &scale = twinLaunch(h, "update b");
       scale.kernel = h.launch("h").kernel;
       scale.attributes.clear();
       scale.outputs.erase(scale.outputs.begin());
       scale.inputs.resize(2);
       for (auto &input : scale.inputs)
         input = std::make_unique<plan::ViewT>(*scale.outputs[0]);
     }},
    {"WithoutItsState", 10,
     "state 'momentum_buffer' of parameter 'b.weight', expected 1 updates in a step of 'train_twin'",
     [](HandPlan &h) {
       addTwin(h);
       leaveState(twinLaunch(h, "update b"));
     }},
    {"FrozenByTheOther", 10, "parameter 'b.weight', expected 0 updates in a step of 'train_twin' but got 1",
     [](HandPlan &h) {
       addTwin(h);
       h.drop("update b");
       h.parameter("b.weight").frozen = true;
     }},
    {"OutsideTheUpdate", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 2",
     [](HandPlan &h) {
       // A second write that is not an update.
       h.at("copy lr").phase = plan::Phase::backward;
       h.at("copy lr").operation.AsCopy()->destination = h.view("b.weight");
       h.at("copy lr").operation.AsCopy()->source = h.view("shard.b");
       for (const char *update : {"update a", "update b"})
         h.launch(update).inputs[3] = h.view("loss");
       h.exchange("copy lr", "compute waits: b reduced");
     }},
    {"CalledInitialization", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 0",
     [](HandPlan &h) {
       h.drop("update b");
       h.at("update a").phase = plan::Phase::init;
     }},
    {"FilledAsWell", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 2",
     [](HandPlan &h) {
       plan::FillT fill;
       fill.destination = h.view("b.weight");
       h.at("copy lr").operation.Set(std::move(fill));
       for (const char *update : {"update a", "update b"})
         h.launch(update).inputs[3] = h.view("loss");
     }},
};
INSTANTIATE_TEST_SUITE_P(P10Shared, BadPlan, testing::ValuesIn(shared), nameOf);

} // namespace
} // namespace sluice::test
