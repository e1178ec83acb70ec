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
void replaceBy(plan::LaunchT &launch, const plan::LaunchT &other) { launch = plan::LaunchT(other); }

/// The recipe excludes the parameter from training.
void exclude(HandPlan &h, const std::string &name) {
  h.parameter(name).requires_grad = false;
  h.parameter(name).frozen = true;
  plan::ProgramT &program = *h.plan.program;
  for (std::size_t op = 0; op < program.op_kinds.size(); ++op)
    if (program.kinds[program.op_kinds[op]]->op == "model.write" && program.names[program.op_symbols[op]] == name)
      program.op_kinds[op] = 0;
}

/// The unsharded program ends with a write of the parameter.
void writeInProgram(HandPlan &h, const std::string &name) {
  plan::ProgramT &program = *h.plan.program;
  program.op_kinds.push_back(std::uint32_t(program.kinds.size()));
  program.kinds.push_back(std::make_unique<plan::ProgramKindT>());
  program.kinds.back()->op = "model.write";
  program.op_blocks.push_back(2);
  program.op_symbols.push_back(std::uint32_t(std::ranges::find(program.names, name) - program.names.begin()));
  program.operands.push_back(program.results[4]);
  program.operand_ends.push_back(std::uint32_t(program.operands.size()));
  program.result_ends.push_back(program.result_ends.back());
  ++program.functions[0]->ops_end;
}

/// The update is of one row of the two of a shard.
void takeRows(plan::LaunchT &update, std::uint64_t row) {
  for (auto *views : {&update.inputs, &update.outputs})
    for (auto &view : *views)
      if (!view->shape.empty()) {
        view->shape[0] = 1;
        view->offset = row * 16;
        view->valid[0]->chunk = 1;
        view->valid[0]->total = 2;
      }
}

TEST(Checker, AnUpdateMayHaveParts) {
  HandPlan hand;
  plan::LaunchT second(hand.launch("update b"));
  takeRows(hand.launch("update b"), 0);
  takeRows(second, 1);
  hand.insertAfter("update b", std::move(second));
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
}

const Bad updates[] = {
    {"NotUpdated", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 0",
     [](HandPlan &h) { h.drop("update b"); }},
    {"UpdatedTwice", 10, "but got 2", [](HandPlan &h) { replaceBy(h.launch("update b"), h.launch("update a")); }},
    {"UpdatedEachRepetition", 10, "but got 2", [](HandPlan &h) { h.section(1).repeat = 2; }},
    {"FrozenUpdated", 10, "parameter 'a.weight', expected 0 updates in a step of 'train_step' but got 1",
     [](HandPlan &h) { exclude(h, "a.weight"); }},
    {"NoUpdateAtAll", 10, "parameter 'a.weight', expected 1 updates in a step of 'train_step' but got 0",
     [](HandPlan &h) {
       h.drop("update a");
       h.drop("update b");
     }},
    {"FrozenForNoReason", 10, "parameter 'b.weight' is frozen, but a loss of the unsharded program depends on it",
     [](HandPlan &h) {
       h.drop("update b");
       h.parameter("b.weight").frozen = true;
     }},
    {"NotFrozenButExcluded", 10, "parameter 'b.weight' is not frozen, but the unsharded program does not train it",
     [](HandPlan &h) {
       h.drop("update b");
       h.parameter("b.weight").requires_grad = false;
     }},
    {"ExcludedButWritten", 10, "parameter 'b.weight' requires no gradient, but the unsharded program writes it",
     [](HandPlan &h) {
       h.drop("update b");
       exclude(h, "b.weight");
       writeInProgram(h, "b.weight");
     }},
    {"NoProgram", 10, "parameter 'a.weight' is not frozen, but the unsharded program does not train it",
     [](HandPlan &h) { h.plan.program.reset(); }},
    {"LossByWholeNumbers", 10, "parameter 'a.weight' is not frozen, but the unsharded program does not train it",
     [](HandPlan &h) {
       // The operands of the ops keep their type.
       h.plan.program->types.push_back(std::make_unique<plan::ProgramTypeT>(*h.plan.program->types[0]));
       h.plan.program->types.back()->dtype = plan::DType::i32;
       for (std::size_t id = 1; id < h.plan.program->values.size(); ++id)
         if (h.plan.program->values[id] == 0)
           h.plan.program->values[id] = std::uint32_t(h.plan.program->types.size() - 1);
     }},
    {"NotOfTheLoss", 10, "parameter 'a.weight' is not frozen, but the unsharded program does not train it",
     [](HandPlan &h) { h.plan.program->outputs = {1}; }},
    {"ProgramWithoutTraining", 10, "parameter 'a.weight' is not frozen, but the unsharded program does not train it",
     [](HandPlan &h) { h.plan.program->input_roles[1] = h.entry().inputs[1]->role = plan::PortRole::loss_scale; }},
    {"NoSuchEntry", 10, "missing entry point 'train_more', which the unsharded program trains with",
     [](HandPlan &h) { h.addFunction("train_more", {"a.weight"}); }},
    {"HalfOfAShard", 10,
     "parameter 'b.weight', expected an update of all 32 bytes in a step of 'train_step' but only 16 from the first "
     "are "
     "updated",
     [](HandPlan &h) { takeRows(h.launch("update b"), 0); }},
    {"OtherHalfOfAShard", 10, "but only 0 from the first are updated",
     [](HandPlan &h) { takeRows(h.launch("update b"), 1); }},
    {"ColumnsOfAShard", 10, "but only 0 from the first are updated",
     [](HandPlan &h) {
       plan::LaunchT &launch = h.launch("update b");
       for (auto *views : {&launch.inputs, &launch.outputs})
         for (auto &view : *views)
           if (!view->shape.empty()) {
             view->shape = {2, 2};
             view->strides = {4, 1};
           }
     }},
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
  h.addFunction("train_twin", {"a.weight", "b.weight"});
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
  // The first trains only 'a': its program reads this parameter twice.
  hand.drop("update b");
  std::ranges::replace(hand.plan.program->op_symbols, 4u, 3u);
  hand.plan.program->op_symbols[1] = 4;
  // The second reads and writes 'b'.
  for (std::size_t fromEnd : {11, 3, 1})
    hand.plan.program->op_symbols[hand.plan.program->op_symbols.size() - fromEnd] = 4;
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
       replaceBy(twinLaunch(h, "update b"), twinLaunch(h, "update a"));
     }},
    {"ItsStateAlone", 10,
     "state 'momentum_buffer' of parameter 'b.weight', expected 0 updates in a step of 'train_twin'",
     [](HandPlan &h) {
       addTwin(h);
       h.plan.program->op_symbols[h.plan.program->op_symbols.size() - 11] = 3;
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
       exclude(h, "b.weight");
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
