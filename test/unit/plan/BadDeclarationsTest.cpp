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

/// Adds an entry point without effect, with one scalar input.
void addEntry(HandPlan &h, const char *name, const char *input) {
  auto entry = std::make_unique<plan::EntryT>();
  entry->name = name;
  entry->events = 1;
  entry->sections.push_back(std::make_unique<plan::SectionT>());
  auto record = std::make_unique<plan::InstructionT>();
  record->operation.Set(plan::RecordT());
  entry->sections[0]->instructions.push_back(std::move(record));
  auto buffer = std::make_unique<plan::BufferT>(h.buffer("host.step"));
  buffer->name = std::string("host.") + name;
  buffer->entry = std::int32_t(h.plan.entries.size());
  buffer->end = 1;
  auto port = std::make_unique<plan::PortT>();
  port->name = input;
  port->role = impliedPortRole(input);
  port->view = std::make_unique<plan::ViewT>();
  port->view->buffer = std::uint32_t(h.plan.buffers.size());
  port->view->dtype = buffer->dtype;
  h.plan.buffers.push_back(std::move(buffer));
  entry->inputs.push_back(std::move(port));
  h.plan.entries.push_back(std::move(entry));
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
       h.plan.variables[0]->name = "mean";
     }},
    {"InputOfTheNameOfAnother", 1, "input 'lr' of 'train_step', its name is empty or used twice",
     [](HandPlan &h) {
       h.entry().inputs.push_back(std::make_unique<plan::PortT>(*h.entry().inputs[1]));
       h.entry().inputs.back()->role = plan::PortRole::data;
     }},
    {"InputInTheBytesOfAnother", 1, "port 'step' of 'train_step', its buffer 'host.lr' is that of another port",
     [](HandPlan &h) { h.entry().inputs[2]->view = std::make_unique<plan::ViewT>(*h.entry().inputs[1]->view); }},
    {"InputInAPartOfABuffer", 1, "port 'x' of 'train_step', expected all bytes of buffer 'host.x'",
     [](HandPlan &h) {
       h.entry().inputs[0]->view->shape = {1, 4};
       h.entry().inputs[0]->view->repetition_stride = 16;
     }},
    {"InputInAPersistentBuffer", 1,
     "port 'lr' of 'train_step', expected a buffer that is live in the whole step, and only in it, but 'host.lr'",
     [](HandPlan &h) {
       plan::BufferT &buffer = h.buffer("host.lr");
       buffer.entry = -1;
       buffer.begin = buffer.end = 0;
       buffer.class_ = plan::BufferClass::state;
       h.plan.arenas[1]->persistent = 128;
       h.plan.variables.push_back(std::make_unique<plan::VariableT>());
       h.plan.variables[0]->name = "lr";
       h.plan.variables[0]->buffer = h.bufferId("host.lr");
     }},
    {"WriteToAnInput", 1, "writes the input 'host.x', which only the host writes",
     [](HandPlan &h) {
       // The rows of the second micro-batch.
       plan::CopyT &copy = *h.at("copy x").operation.AsCopy();
       copy.destination = std::make_unique<plan::ViewT>(*copy.source);
       copy.source->repetition_stride = copy.destination->repetition_stride = 0;
       copy.destination->offset = 32;
     }},
    {"InputOfAnotherShape", 1,
     "input 'x' of 'train_step', expected f32[2x4] as in the unsharded program but got f32[8]",
     [](HandPlan &h) { h.entry().inputs[0]->view->shape = {8}; }},
    {"InputOfAnotherType", 1,
     "input 'x' of 'train_step', expected f32[2x4] as in the unsharded program but got i32[2x4]",
     [](HandPlan &h) { h.entry().inputs[0]->view->dtype = plan::DType::i32; }},
    {"InputMissing", 1, "'train_step', missing input 'step' of the unsharded program",
     [](HandPlan &h) { h.entry().inputs.pop_back(); }},
    {"InputsInAnotherOrder", 1, "input 'lr' of 'train_step' is not in the unsharded program at its position",
     [](HandPlan &h) { std::swap(h.entry().inputs[0], h.entry().inputs[1]); }},
    {"InputOfNoValue", 1, "input 'lr' of 'train_step', expected a value of the unsharded program",
     [](HandPlan &h) { h.plan.program->inputs[1] = h.plan.program->inputs[2] = 0; }},
    {"RowsOfOneMicrobatch", 1, "input 'x' of 'train_step', expected a slice for each micro-batch",
     [](HandPlan &h) {
       h.entry().inputs[0]->per_repetition = false;
       h.entry().inputs[0]->view->repetition_stride = 0;
       h.at("copy x").operation.AsCopy()->source->repetition_stride = 0;
       h.buffer("host.x").shape = {2, 4};
       h.buffer("host.x").bytes = 32;
     }},
    {"RowNumberThatIsNoScalar", 1, "input 'x' of 'train_step', expected a scalar i64",
     [](HandPlan &h) { h.entry().inputs[0]->role = h.plan.program->input_roles[0] = plan::PortRole::row; }},
    {"ConstantOfMicroBatches", 1, "input 'x' of 'train_step', expected one value of the step",
     [](HandPlan &h) {
       plan::PortT &x = *h.entry().inputs[0];
       x.role = h.plan.program->input_roles[0] = plan::PortRole::constant;
       x.values.resize(*viewBytes(*x.view));
     }},
    {"OutputOfEachMicrobatch", 1, "output 'loss' of 'train_step', expected one value of the step",
     [](HandPlan &h) {
       h.entry().outputs[0]->per_repetition = true;
       h.entry().outputs[0]->view->repetition_stride = 4;
       h.buffer("host.loss").shape = {2};
       h.buffer("host.loss").bytes = 8;
     }},
    {"EntryPointOfNoFunction", 1, "entry point 'other', expected a function of the unsharded program",
     [](HandPlan &h) { addEntry(h, "other", "seed"); }},
    {"InitializationInTheProgram", 1, "entry point 'init', expected it outside of the unsharded program",
     [](HandPlan &h) {
       h.entry().name = "init";
       std::ranges::replace(h.plan.program->names, std::string("train_step"), std::string("init"));
     }},
    {"InitializationThatRepeats", 1, "section 'first' of 'init', expected one repetition but got 2",
     [](HandPlan &h) {
       addEntry(h, "init", "seed");
       h.plan.entries.back()->sections[0]->name = "first";
       h.plan.entries.back()->sections[0]->repeat = 2;
     }},
    {"InitializationWithData", 1, "input 'x' of 'init', expected only the seed",
     [](HandPlan &h) { addEntry(h, "init", "x"); }},
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
