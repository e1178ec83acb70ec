//===- BadFormTest.cpp - plans that are not well formed (P1) or have a wrong digest (P17)  ---===//
#include "BadPlan.h"

#include <limits>

namespace sluice::test {
namespace {

const Bad wellFormed[] = {
    {"LaunchOnHostMemory", 1, "expected operands in the memory of stream 'compute', device, but 'host.x' is in host",
     [](HandPlan &h) { h.launch("h").inputs[0] = h.view("host.x", {2, 4}); }},
    {"HostOnDeviceMemory", 1, "expected operands in the memory of stream 'compute', host, but",
     [](HandPlan &h) { h.plan.streams[0]->processor = plan::Processor::host; }},
    {"CollectiveOnHostMemory", 1, "expected operands in the memory of stream 'gather', device, but 'host.x' is in host",
     [](HandPlan &h) { h.collective("gather a").segments[0]->source = h.view("host.x", {2, 4}); }},
    {"CollectiveOfTheHost", 1, "expected a collective on a stream of the device but got 'gather'",
     [](HandPlan &h) { h.plan.streams[1]->processor = plan::Processor::host; }},
    {"PortInDeviceMemory", 1, "port 'lr' of 'train_step', expected a buffer in host memory but 'lr' is in device",
     [](HandPlan &h) { h.entry().inputs[1]->view = h.view("lr"); }},
    {"ConstantWithoutValues", 1, "port 'x' of 'train_step', expected 32 bytes of values but got 0",
     [](HandPlan &h) { h.entry().inputs[0]->role = plan::PortRole::constant; }},
    {"ValuesOfData", 1, "port 'x' of 'train_step', expected 0 bytes of values but got 1",
     [](HandPlan &h) { h.entry().inputs[0]->values = {1}; }},
    {"BufferBeyondArena", 1, "expected it inside the 1152 bytes", [](HandPlan &h) { h.buffer("x").offset = 1152; }},
    {"OffsetOverflows", 1, "expected it inside", [](HandPlan &h) { h.buffer("x").offset = ~std::uint64_t(63); }},
    {"Misaligned", 1, "aligned to 64", [](HandPlan &h) { h.buffer("x").offset = 388; }},
    {"BytesNotShape", 1, "expected 32 bytes for f32[2x4] but got 36", [](HandPlan &h) { h.buffer("x").bytes = 36; }},
    {"ShapeOverflows", 1, "overflows", [](HandPlan &h) { h.buffer("x").shape = {1ll << 62, 1ll << 62}; }},
    {"ShapeNegative", 1, "negative", [](HandPlan &h) { h.buffer("x").shape = {-2, -4}; }},
    {"UnknownClass", 1, "unknown space, class or dtype",
     [](HandPlan &h) { h.buffer("x").class_ = plan::BufferClass(99); }},
    {"NoStream", 1, "stream 3 does not exist", [](HandPlan &h) { h.at("h").stream = 3; }},
    {"NoBuffer", 1, "buffer 24 does not exist", [](HandPlan &h) { h.launch("h").inputs[0]->buffer = 24; }},
    {"NoUnit", 1, "unit 2 does not exist", [](HandPlan &h) { h.at("h").unit = 2; }},
    {"NegativeUnitOfAnInstruction", 1, "unit -2 does not exist", [](HandPlan &h) { h.at("h").unit = -2; }},
    {"NoEvent", 1, "event 9 does not exist", [](HandPlan &h) { h.at("a gathered").operation.AsRecord()->event = 9; }},
    {"NoEntry", 1, "entry point 3 does not exist", [](HandPlan &h) { h.buffer("x").entry = 3; }},
    {"NoOperation", 1, "expected a known operation", [](HandPlan &h) { h.at("h").operation.Reset(); }},
    {"InputOfNoBuffer", 1, "port 'x' of 'train_step', buffer 24 does not exist",
     [](HandPlan &h) { h.entry().inputs[0]->view->buffer = 24; }},
    {"OutputOfNoBuffer", 1, "port 'loss' of 'train_step', buffer 24 does not exist",
     [](HandPlan &h) { h.entry().outputs[0]->view->buffer = 24; }},
    {"NoView", 1, "missing view", [](HandPlan &h) { h.launch("h").inputs[0].reset(); }},
    {"ReservedKind", 1, "send is reserved",
     [](HandPlan &h) { h.collective("gather a").kind = plan::CollectiveKind::send; }},
    {"UnknownKernel", 1, "kernel 'explode' is not in the catalogue",
     [](HandPlan &h) { h.plan.kernels[0] = "explode"; }},
    {"WrongArity", 1, "expected 2 inputs but got 1", [](HandPlan &h) { h.launch("h").inputs.pop_back(); }},
    {"WrongNumberOfOutputs", 1, "kernel 'sgd', expected 2 outputs but got 1",
     [](HandPlan &h) { h.launch("update a").outputs.pop_back(); }},
    {"WrongArityOfAnUpdate", 1, "kernel 'sgd', expected 7 inputs but got 6",
     [](HandPlan &h) { h.launch("update a").inputs.pop_back(); }},
    {"UnknownAttribute", 1, "kernel 'accumulate' has no attribute 'last'",
     [](HandPlan &h) { h.launch("sum a").attributes[0]->name = "last"; }},
    {"AttributeBeyondItsValues", 1, "kernel 'accumulate' first, expected 0 to 1 but got 2",
     [](HandPlan &h) { h.launch("sum a").attributes[0]->integer = 2; }},
    {"AttributeOfAnotherKind", 1, "kernel 'accumulate' attribute 'first', expected an integer but got a number",
     [](HandPlan &h) {
       h.launch("sum a").attributes[0]->kind = 1;
       h.launch("sum a").attributes[0]->integer = 0;
     }},
    {"AttributeInAnotherField", 1, "attribute 'first' has a value in a field of another kind",
     [](HandPlan &h) { h.launch("sum a").attributes[0]->number = 1; }},
    {"AttributeWithAList", 1, "attribute 'first' has a value in a field of another kind",
     [](HandPlan &h) { h.launch("sum a").attributes[0]->list = {1}; }},
    {"NumberInAnotherField", 1, "attribute 'momentum' has a value in a field of another kind",
     [](HandPlan &h) { h.launch("update a").attributes[0]->integer = 1; }},
    {"AttributeTwice", 1, "attribute 'first', expected attributes with separate names, in their order",
     [](HandPlan &h) {
       auto &attributes = h.launch("sum a").attributes;
       attributes.push_back(std::make_unique<plan::AttributeT>(*attributes[0]));
       attributes[1]->integer = 0;
     }},
    {"AttributeOfAnOpInAnotherField", 1,
     "op 'model.accumulate', attribute 'axis' has a value in a field of another kind",
     [](HandPlan &h) { h.plan.program->kinds[0]->attributes[0]->number = 0.5; }},
    {"AttributeOfAnOpTwice", 1, "attribute 'axis', expected attributes with separate names, in their order",
     [](HandPlan &h) {
       auto &attributes = h.plan.program->kinds[0]->attributes;
       attributes.push_back(std::make_unique<plan::AttributeT>(*attributes[0]));
     }},
    {"NameOfTheProgramTwice", 1, "unsharded program, expected separate names, the first of them empty",
     [](HandPlan &h) { h.plan.program->names[1] = h.plan.program->names[2]; }},
    {"FirstNameOfTheProgram", 1, "unsharded program, expected separate names, the first of them empty",
     [](HandPlan &h) { h.plan.program->names[0] = "first"; }},
    {"ScaleOfAMean", 1, "expected a finite scale, and 1 without premul_sum",
     [](HandPlan &h) { h.collective("reduce a").scale = 2; }},
    {"UnitTwice", 1, "unit 'a', its name is empty or used twice", [](HandPlan &h) { h.plan.units[1]->name = "a"; }},
    {"BufferTwice", 1, "buffer 'x', its name is empty or used twice", [](HandPlan &h) { h.buffer("y").name = "x"; }},
    {"KernelTwice", 1, "kernel 'sgd', its name is empty or used twice",
     [](HandPlan &h) { h.plan.kernels.push_back("sgd"); }},
    {"AliasOfAnotherParameter", 1, "alias 'b.weight', its name is empty or used twice",
     [](HandPlan &h) { h.parameter("a.weight").aliases = {"b.weight"}; }},
    {"InitializerWithAnotherNumber", 1, "parameter 'a.weight', its initializer has a number that 'zeros' does not use",
     [](HandPlan &h) {
       h.parameter("a.weight").initializer = std::make_unique<plan::InitializerT>();
       h.parameter("a.weight").initializer->a = 1;
     }},
    {"MicrobatchesOfAnotherNumber", 1, "plan, expected the 2 micro-batches of 'train_step' but got 3",
     [](HandPlan &h) { h.plan.microbatches = 3; }},
    {"MissingAttribute", 1, "kernel 'power' is missing attribute 'exponent'",
     [](HandPlan &h) {
       h.plan.kernels.push_back("power");
       h.launch("sum a").kernel = h.launch("add a").kernel = 4;
       h.launch("sum a").attributes.clear();
     }},
    {"WrongReductionClass", 13, "expected reduction class 'ordered' but got 'none'",
     [](HandPlan &h) { h.launch("loss").reduction = plan::ReductionClass::none; }},
    {"ViewBeyondBuffer", 1, "reaches beyond", [](HandPlan &h) { h.launch("h").inputs[0]->offset = 4; }},
    {"RepetitionBeyondBuffer", 1, "reaches beyond",
     [](HandPlan &h) { h.at("copy x").operation.AsCopy()->source->repetition_stride = 36; }},
    {"NegativeStride", 1, "negative", [](HandPlan &h) { h.launch("h").inputs[0]->strides = {-4, 1}; }},
    {"StridesCount", 1, "expected 2 strides", [](HandPlan &h) { h.launch("h").inputs[0]->strides = {1}; }},
    {"ValidBeyondView", 1, "expected the valid extent of dim 0 in chunks of 2 but got chunk 3 of 3",
     [](HandPlan &h) { h.launch("update a").outputs[0]->valid[0]->chunk = 3; }},
    {"ValidOfNothing", 1, "expected the valid extent of dim 0 in chunks of 2 but got chunk 0 of 0",
     [](HandPlan &h) {
       h.launch("update a").outputs[0]->valid[0]->chunk = 0;
       h.launch("update a").outputs[0]->valid[0]->total = 0;
     }},
    {"ValidNegative", 1, "expected the valid extent of dim 0 in chunks of 2 but got chunk 2 of -1",
     [](HandPlan &h) { h.launch("update a").outputs[0]->valid[0]->total = -1; }},
    {"WorkspaceBeyondStream", 1, "of workspace of stream", [](HandPlan &h) { h.launch("h").workspace = 256; }},
    {"WorkspaceTooSmall", 1, "kernel 'scatter_add', expected at least 96 bytes of workspace but got 95",
     [](HandPlan &h) {
       plan::LaunchT &launch = h.launch("y");
       launch.kernel = std::uint32_t(h.plan.kernels.size());
       h.plan.kernels.push_back("scatter_add");
       launch.reduction = plan::ReductionClass::ordered;
       launch.inputs[1] = h.view("h");
       launch.inputs[1]->dtype = plan::DType::i32;
       launch.workspace = 95;
     }},
    {"TooManyThreads", 1, "target, expected at most 65536 threads but got 65537",
     [](HandPlan &h) { h.plan.target->threads = 65537; }},
    {"NoTarget", 1, "plan, expected a target", [](HandPlan &h) { h.plan.target.reset(); }},
    {"WorkspaceNotDeclared", 1, "workspace, expected the arenas",
     [](HandPlan &h) { h.plan.streams[1]->workspace = 64; }},
    {"MeshOfNone", 1, "at least 1 but got 0", [](HandPlan &h) { h.plan.mesh[1]->size = 0; }},
    {"MeshTooLarge", 1, "ranks", [](HandPlan &h) { h.plan.mesh[1]->size = 1u << 31; }},
    {"NoRepetitions", 1, "repetitions but got 0", [](HandPlan &h) { h.section(0).repeat = 0; }},
    {"TooManyEvents", 1, "events", [](HandPlan &h) { h.entry().events = 1u << 30; }},
    {"TooManyStreams", 1, "streams, expected at most 64",
     [](HandPlan &h) {
       for (int i = 0; i < 100; ++i) {
         h.plan.streams.push_back(std::make_unique<plan::StreamT>());
         h.plan.streams.back()->name = "s" + std::to_string(i);
       }
     }},
    {"LifespanBeyondEntry", 1, "expected a lifespan within", [](HandPlan &h) { h.buffer("x").end = 999; }},
    {"PersistentBeyondRegion", 1, "persistent bytes", [](HandPlan &h) { h.plan.arenas[0]->persistent = 128; }},
    {"AlignmentNoPower", 1, "power of two", [](HandPlan &h) { h.plan.arenas[0]->alignment = 48; }},
    {"ParameterInNoUnit", 1, "its unit does not name it", [](HandPlan &h) { h.plan.units[0]->parameters.clear(); }},
    {"ArenaTooLarge", 1, "expected at most", [](HandPlan &h) { h.plan.arenas[0]->bytes = ~std::uint64_t(0); }},
    {"ListsWithoutEnd", 1, "expected lists of repetitions that make at most 1048576 instructions to follow but got ",
     [](HandPlan &h) {
       // Each instruction lists different repetitions, all of which would have to be simulated.
       h.section(0).repeat = h.plan.microbatches = 1 << 20;
       h.at("copy x").operation.AsCopy()->source->repetition_stride = 0;
       for (std::uint32_t i = 0; i < 800; ++i) {
         auto instruction = std::make_unique<plan::InstructionT>();
         instruction->operation.Set(plan::RecordT());
         instruction->when = plan::When::listed;
         for (std::uint32_t k = 0; k < 64; ++k)
           instruction->repetitions.push_back((i * 64 + k) * 4);
         h.section(0).instructions.push_back(std::move(instruction));
       }
     }},
    {"PinnedDevice", 1, "arena of device, only host memory can be pinned",
     [](HandPlan &h) { h.plan.arenas[0]->pinned = true; }},
    {"NoDataAxis", 1, "data axes, expected axes of the mesh in ascending order but got 2 at position 1",
     [](HandPlan &h) { h.plan.data_axes = {0, 2}; }},
    {"DataAxisTwice", 1, "data axes, expected axes of the mesh in ascending order but got 1 at position 1",
     [](HandPlan &h) { h.plan.data_axes = {1, 1}; }},
    {"NoLearningRate", 1, "entry point 'train_step' has the port 'lr' but the plan has no learning rate",
     [](HandPlan &h) { h.plan.learning_rate.reset(); }},
    {"UnknownRateShape", 1, "learning rate, unknown shape 9",
     [](HandPlan &h) { h.plan.learning_rate->shape = plan::RateShape(9); }},
    {"NegativeRate", 1, "learning rate, expected a finite number of at least 0 but got -0.5",
     [](HandPlan &h) { h.plan.learning_rate->peak = -0.5; }},
    {"InfiniteRate", 1, "learning rate, expected a finite number of at least 0 but got",
     [](HandPlan &h) { h.plan.learning_rate->minimum = std::numeric_limits<double>::infinity(); }},
    {"ProgramTypeOverflows", 1, "unsharded program, a type of values with shape",
     [](HandPlan &h) { h.plan.program->types[0]->shape = {1ll << 62, 1ll << 62}; }},
    {"ProgramUnknownOp", 1, "unsharded program, unknown op 'model.random'",
     [](HandPlan &h) { h.plan.program->kinds[0]->op = "model.random"; }},
    {"ProgramOpOfAnotherDialect", 1, "unsharded program, unknown op 'spmd_.reshape'",
     [](HandPlan &h) { h.plan.program->kinds[0]->op = "spmd_.reshape"; }},
    {"ProgramUnknownPhase", 1, "unsharded program, op 'model.accumulate' is of unknown phase",
     [](HandPlan &h) { h.plan.program->kinds[0]->phase = plan::Phase(9); }},
    {"ProgramUnknownAttribute", 1, "unsharded program, op 'model.accumulate', attribute 'axis' is of unknown kind",
     [](HandPlan &h) { h.plan.program->kinds[0]->attributes[0]->kind = 3; }},
    {"ProgramNoType", 1, "unsharded program, type 7 does not exist",
     [](HandPlan &h) { h.plan.program->values[2] = 7; }},
    {"ProgramNoKind", 1, "unsharded program, kind 7 does not exist",
     [](HandPlan &h) { h.plan.program->op_kinds[1] = 7; }},
    {"ProgramNoName", 1, "unsharded program, name 9 does not exist",
     [](HandPlan &h) { h.plan.program->op_blocks[0] = 9; }},
    {"ProgramNoSymbol", 1, "unsharded program, name 9 does not exist",
     [](HandPlan &h) { h.plan.program->op_symbols[0] = 9; }},
    {"ProgramInputsOfNoFunction", 1, "unsharded program, the functions do not divide ops, inputs and outputs",
     [](HandPlan &h) {
       h.plan.program->inputs.push_back(1);
       h.plan.program->input_names.push_back(1);
       h.plan.program->input_roles.push_back(plan::PortRole::data);
     }},
    {"ProgramOpWithoutBlock", 1, "unsharded program, expected a name for each of 15 ops but got 14",
     [](HandPlan &h) { h.plan.program->op_blocks.pop_back(); }},
    {"ProgramInputWithoutName", 1, "unsharded program, expected a name for each of 3 inputs but got 0",
     [](HandPlan &h) { h.plan.program->input_names.clear(); }},
    {"ProgramEndsDescend", 1, "unsharded program, the ends of operands do not divide 13 ids among 15 ops",
     [](HandPlan &h) { h.plan.program->operand_ends[3] = 3; }},
    {"ProgramEndsShort", 1, "unsharded program, the ends of results do not divide 11 ids among 15 ops",
     [](HandPlan &h) { h.plan.program->result_ends[14] = h.plan.program->result_ends[13] = 10; }},
    {"ProgramNoValue", 1, "unsharded program, value 40 does not exist",
     [](HandPlan &h) { h.plan.program->outputs = {40}; }},
    {"ProgramFunctionTwice", 1, "unsharded program, expected a separate name for each function but got name 8",
     [](HandPlan &h) {
       h.addFunction("again", {"a.weight"});
       h.plan.program->functions[1]->name = 8;
     }},
    {"ProgramFunctionWithoutName", 1, "unsharded program, expected a separate name for each function but got name 60",
     [](HandPlan &h) { h.plan.program->functions[0]->name = 60; }},
    {"ProgramFunctionsDescend", 1, "unsharded program, the functions do not divide ops, inputs and outputs",
     [](HandPlan &h) {
       h.addFunction("again", {"a.weight"});
       h.plan.program->functions[0]->inputs_end = 9;
     }},
    {"ProgramFunctionsShort", 1, "unsharded program, the functions do not divide ops, inputs and outputs",
     [](HandPlan &h) { --h.plan.program->functions[0]->ops_end; }},
    {"SpaceTwice", 1, "twice", [](HandPlan &h) { h.plan.arenas[1]->space = plan::Space::device; }},
};
INSTANTIATE_TEST_SUITE_P(P1, BadPlan, testing::ValuesIn(wellFormed), nameOf);

const Bad digest[] = {
    {"NoDigest", 17, "expected a digest of 32 bytes", [](HandPlan &h) { h.plan.digest.clear(); }},
    {"AnotherDigest", 17, "expected digest", [](HandPlan &h) { h.plan.digest[5] ^= 1; }},
    {"ChangedAfterwards", 17, "expected digest", [](HandPlan &h) { h.plan.name = "other"; }},
    {"AnotherMajor", 17, "expected major version", [](HandPlan &h) { h.plan.major = 99; }},
    {"AnotherCatalogue", 17, "of the kernel catalogue but got 99", [](HandPlan &h) { h.plan.catalogue = 99; }},
};
INSTANTIATE_TEST_SUITE_P(P17, BadPlan, testing::ValuesIn(digest), nameOf);

} // namespace
} // namespace sluice::test
