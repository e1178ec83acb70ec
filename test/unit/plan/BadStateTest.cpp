//===- BadStateTest.cpp - wrong orders of reductions, random keys and states ----------------===//
#include "BadPlan.h"

namespace sluice::test {
namespace {

/// Makes a buffer of the entry point persist after the others, of a class.
void persist(HandPlan &h, const std::string &name, plan::BufferClass bufferClass) {
  plan::BufferT &buffer = h.buffer(name);
  buffer.entry = -1;
  buffer.begin = buffer.end = 0;
  buffer.offset = 1152;
  buffer.class_ = bufferClass;
  h.plan.arenas[0]->bytes = h.plan.arenas[0]->persistent = 1216;
}

void addState(HandPlan &h, const std::string &name) {
  persist(h, "x", plan::BufferClass::optimizer);
  auto state = std::make_unique<plan::StateT>();
  state->name = name;
  state->buffer = h.bufferId("x");
  h.parameter("b.weight").states.push_back(std::move(state));
}

const Bad states[] = {
    {"UnknownClassOfALaunch", 13, "expected reduction class 'not_a_reduction' but got '7'",
     [](HandPlan &h) { h.launch("h").reduction = plan::ReductionClass(7); }},
    {"LibraryOrderOnACpu", 13, "expected reduction class 'ordered' but got 'fixed'",
     [](HandPlan &h) { h.collective("reduce a").reduction = plan::ReductionClass::fixed; }},
    {"CpuOrderOfALibrary", 13, "expected reduction class 'fixed' but got 'ordered'",
     [](HandPlan &h) { h.plan.target->device = "cuda"; }},
    {"KeyOfAnotherParameter", 14, "parameters 'a.weight' and 'b.weight' have the same initial values, both with key 0",
     [](HandPlan &h) {
       for (const char *name : {"a.weight", "b.weight"}) {
         h.parameter(name).initializer = std::make_unique<plan::InitializerT>();
         h.parameter(name).initializer->kind = plan::InitializerKind::normal;
       }
       h.parameter("b.weight").key = 0;
     }},
    {"RenamedState", 15,
     "the unsharded program has state 'momentum_buffer' of 'a.weight', which the plan does not declare",
     [](HandPlan &h) { h.parameter("a.weight").states[0]->name = "momentum"; }},
    {"StateWithoutName", 1, "state '', its name is empty or used twice",
     [](HandPlan &h) { h.parameter("a.weight").states[0]->name.clear(); }},
    {"StateTwice", 1, "state 'momentum_buffer', its name is empty or used twice",
     [](HandPlan &h) { addState(h, "momentum_buffer"); }},
    {"StateOfNoOptimizer", 15, "state 'step' of 'b.weight' is declared, but is not in the unsharded program",
     [](HandPlan &h) { addState(h, "step"); }},
    {"StatesOutOfOrder", 1, "parameter 'b.weight', expected its states in alphabetical order",
     [](HandPlan &h) { addState(h, "exp_avg"); }},
    {"VariableOfNoProgram", 15, "'mean' is declared, but is not in the unsharded program",
     [](HandPlan &h) {
       persist(h, "x", plan::BufferClass::state);
       h.plan.variables.push_back(std::make_unique<plan::VariableT>());
       h.plan.variables[0]->name = "mean";
       h.plan.variables[0]->buffer = h.bufferId("x");
     }},
    {"ParameterOfAnotherShape", 15, "'a.weight', expected f32[6x4] as in the unsharded program but got f32[3x4]",
     [](HandPlan &h) { h.plan.program->types[2]->shape = {6, 4}; }},
    {"StateOfAnotherType", 15,
     "state 'momentum_buffer' of 'a.weight', expected bf16[3x4] as in the unsharded program but got f32[3x4]",
     [](HandPlan &h) {
       plan::ProgramT &program = *h.plan.program;
       program.types.push_back(std::make_unique<plan::ProgramTypeT>(*program.types[2]));
       program.types.back()->dtype = plan::DType::bf16;
       program.values[program.results[8] - 1] = std::uint32_t(program.types.size() - 1);
     }},
    {"OutputName", 15, "output 0 of 'train_step', expected the name 'loss' but got 'norm'",
     [](HandPlan &h) {
       h.entry().outputs[0]->name = "norm";
       h.entry().outputs[0]->role = plan::PortRole::data;
     }},
    {"OutputTwice", 1, "output 'loss' of 'train_step', its name is empty or used twice",
     [](HandPlan &h) {
       h.entry().outputs.push_back(std::make_unique<plan::PortT>(*h.entry().outputs[0]));
       h.entry().outputs[1]->role = plan::PortRole::data;
     }},
    {"OutputWithoutName", 1, "unsharded program, expected a name for each of 1 outputs but got 0",
     [](HandPlan &h) { h.plan.program->output_names.clear(); }},
    {"OutputOfUnknownName", 1, "unsharded program, name 99 does not exist",
     [](HandPlan &h) { h.plan.program->output_names = {99}; }},
};

INSTANTIATE_TEST_SUITE_P(State, BadPlan, testing::ValuesIn(states), nameOf);

} // namespace
} // namespace sluice::test
