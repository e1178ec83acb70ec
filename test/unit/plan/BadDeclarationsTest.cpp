//===- BadDeclarationsTest.cpp - false classes, units and names of inputs (P1, P4, P8) ---===//
#include "BadPlan.h"

namespace sluice::test {
namespace {

/// The buffer persists, at the end of the arena.
void persist(HandPlan &h, const char *name) {
  plan::BufferT &buffer = h.buffer(name);
  buffer.entry = -1;
  buffer.begin = buffer.end = 0;
  buffer.offset = 1152;
  h.plan.arenas[0]->bytes = h.plan.arenas[0]->persistent = 1216;
}

/// The views of two inputs are exchanged.
void exchangeInputs(HandPlan &h, std::size_t a, std::size_t b) {
  auto &inputs = h.entry().inputs;
  std::swap(inputs[a]->name, inputs[b]->name);
  std::swap(inputs[a]->role, inputs[b]->role);
}

const Bad declarations[] = {
    {"PersistentForNothing", 15, "buffer 'x' persists but holds no parameter, optimizer state or variable",
     [](HandPlan &h) { persist(h, "x"); }},
    {"PersistentAndNeverGathered", 15,
     "buffer 'gathered.a' persists but holds no parameter, optimizer state or variable",
     [](HandPlan &h) {
       persist(h, "gathered.a");
       h.drop("gather a");
       h.drop("release a");
     }},
    {"GatheredVariable", 4, "buffer 'gathered.a' has a unit but is not gathered",
     [](HandPlan &h) {
       persist(h, "gathered.a");
       h.drop("release a");
       h.buffer("gathered.a").class_ = plan::BufferClass::state;
       h.plan.variables.push_back(std::make_unique<plan::VariableT>());
       h.plan.variables[0]->buffer = h.bufferId("gathered.a");
     }},
    {"ShardCalledGathered", 4, "buffer 'a.weight' is gathered but has no unit",
     [](HandPlan &h) { h.buffer("a.weight").class_ = plan::BufferClass::gathered; }},
    {"ClassOfAShard", 15, "buffer 'a.weight.momentum_buffer', expected class optimizer but got parameter",
     [](HandPlan &h) { h.buffer("a.weight.momentum_buffer").class_ = plan::BufferClass::parameter; }},
    {"VariableOfAParameter", 15, "buffer 'a.weight' holds both 'a.weight' and 'mean'",
     [](HandPlan &h) {
       h.plan.variables.push_back(std::make_unique<plan::VariableT>());
       h.plan.variables[0]->name = "mean";
       h.plan.variables[0]->buffer = h.bufferId("a.weight");
     }},
    {"VariableThatDoesNotPersist", 1, "variable 'mean', expected a persistent buffer",
     [](HandPlan &h) {
       h.plan.variables.push_back(std::make_unique<plan::VariableT>());
       h.plan.variables[0]->name = "mean";
       h.plan.variables[0]->buffer = h.bufferId("x");
     }},
    {"GatheredCalledActivation", 4, "buffer 'gathered.a' has a unit but is not gathered",
     [](HandPlan &h) { h.buffer("gathered.a").class_ = plan::BufferClass::activation; }},
    {"GatheredOfNoUnit", 4, "buffer 'gathered.a' is gathered but has no unit",
     [](HandPlan &h) { h.buffer("gathered.a").unit = -1; }},
    {"NotGatheredAtAll", 4, "writes buffer 'gathered.a', expected a gathered buffer of its unit",
     [](HandPlan &h) {
       h.buffer("gathered.a").class_ = plan::BufferClass::activation;
       h.buffer("gathered.a").unit = -1;
     }},
    {"GatheredOfAnotherUnit", 4, "writes buffer 'gathered.a', expected a gathered buffer of its unit",
     [](HandPlan &h) { h.buffer("gathered.a").unit = 1; }},
    {"GatherOfAnotherUnit", 4, "gathers the shard 'a.weight' of unit 'a'",
     [](HandPlan &h) { h.at("gather a").unit = 1; }},
    {"OptimizerStateGathered", 8,
     "gathers the optimizer state 'a.weight.momentum_buffer', expected a shard of its unit",
     [](HandPlan &h) {
       h.collective("gather a").segments[0]->source->buffer = h.plan.parameters[0]->states[0]->buffer;
     }},
    {"GatheredTwice", 8, "gathers buffer 'a.weight' twice",
     [](HandPlan &h) {
       auto &segments = h.collective("gather a").segments;
       segments.push_back(std::make_unique<plan::SegmentT>(*segments[0]));
     }},
    {"FilledInsteadOfGathered", 4, "writes the gathered buffer 'gathered.a' without a gather of its unit",
     [](HandPlan &h) {
       plan::FillT fill;
       fill.destination = h.view("gathered.a");
       h.at("gather a").operation.Set(std::move(fill));
     }},
    {"DataCalledSeed", 1, "input 'seed' of 'train_step' is not in the unsharded program",
     [](HandPlan &h) { h.entry().inputs[0]->name = "seed"; }},
    {"RateOfManyElements", 1, "input 'lr' of 'train_step', expected one scalar of a floating-point type",
     [](HandPlan &h) { exchangeInputs(h, 0, 1); }},
    {"RateInAList", 1, "input 'lr' of 'train_step', expected one scalar of a floating-point type",
     [](HandPlan &h) { h.entry().inputs[1]->view->shape = {1}; }},
    {"RateOfEachRepetition", 1, "input 'lr' of 'train_step', expected one scalar of a floating-point type",
     [](HandPlan &h) {
       h.entry().inputs[1]->per_repetition = true;
       h.entry().inputs[1]->view->repetition_stride = 4;
       h.buffer("host.lr").shape = {2};
       h.buffer("host.lr").bytes = 8;
     }},
    {"RateInWholeNumbers", 1, "input 'lr' of 'train_step', expected one scalar of a floating-point type",
     [](HandPlan &h) { h.entry().inputs[1]->view->dtype = plan::DType::i32; }},
    {"StepInFractions", 1, "input 'step' of 'train_step', expected one scalar i64",
     [](HandPlan &h) { exchangeInputs(h, 2, 1); }},
};
INSTANTIATE_TEST_SUITE_P(Declarations, BadPlan, testing::ValuesIn(declarations), nameOf);

} // namespace
} // namespace sluice::test
