//===- BadTablesTest.cpp - tables and an unsharded program that are not well formed (P1) ---===//
#include "BadPlan.h"

namespace sluice::test {
namespace {

plan::TensorSplitT &splitColumns(HandPlan &h, std::int64_t extent, std::uint32_t segments) {
  auto &split = h.parameter("a.weight").split = std::make_unique<plan::TensorSplitT>();
  split->dim = 1;
  split->axes = {0};
  split->extent = extent;
  split->segments = segments;
  return *split;
}

const Bad mesh[] = {
    {"NoAxes", 1, "mesh, expected 1 to 8 axes but got 0", [](HandPlan &h) { h.plan.mesh.clear(); }},
    {"NineAxes", 1, "mesh, expected 1 to 8 axes but got 9",
     [](HandPlan &h) {
       for (int i = 0; i < 7; ++i) {
         h.plan.mesh.push_back(std::make_unique<plan::AxisT>(*h.plan.mesh[0]));
         h.plan.mesh.back()->name += std::to_string(i);
       }
     }},
    {"AxisWithoutName", 1, "mesh axis '', its name is empty or used twice",
     [](HandPlan &h) { h.plan.mesh[1]->name.clear(); }},
    {"AxisTwice", 1, "mesh axis 'replicate', its name is empty or used twice",
     [](HandPlan &h) { h.plan.mesh[1]->name = "replicate"; }},
    {"UnknownRole", 1, "mesh axis 'shard', unknown role 9",
     [](HandPlan &h) { h.plan.mesh[1]->role = plan::AxisRole(9); }},
};
INSTANTIATE_TEST_SUITE_P(Mesh, BadPlan, testing::ValuesIn(mesh), nameOf);

const Bad roles[] = {
    {"UnknownRole", 1, "input 'x' of 'train_step', unknown role 99",
     [](HandPlan &h) { h.entry().inputs[0]->role = plan::PortRole(99); }},
    {"UnknownRoleOfAnOutput", 1, "output 'loss' of 'train_step', unknown role 99",
     [](HandPlan &h) { h.entry().outputs[0]->role = plan::PortRole(99); }},
    {"RoleOfOutputs", 1, "input 'x' of 'train_step', expected a role of inputs but got loss",
     [](HandPlan &h) { h.entry().inputs[0]->role = plan::PortRole::loss; }},
    {"RoleOfInputs", 1, "output 'loss' of 'train_step', expected a role of outputs but got step",
     [](HandPlan &h) { h.entry().outputs[0]->role = plan::PortRole::step; }},
    {"RoleTwice", 1, "input 'step' of 'train_step' has the role of another: learning_rate",
     [](HandPlan &h) { h.entry().inputs[2]->role = plan::PortRole::learning_rate; }},
    {"RoleOfNoScalar", 1, "input 'x' of 'train_step', expected one scalar of a floating-point type",
     [](HandPlan &h) {
       h.entry().inputs[0]->role = plan::PortRole::loss_scale;
       h.plan.program->input_roles[0] = plan::PortRole::loss_scale;
     }},
    {"RoleOfANumber", 1, "input 'lr' of 'train_step', expected one scalar i64",
     [](HandPlan &h) {
       h.entry().inputs[1]->role = plan::PortRole::seed;
       h.plan.program->input_roles[1] = plan::PortRole::seed;
     }},
    {"RoleOfTheProgram", 1,
     "input 'step' of 'train_step', expected the role step of the unsharded program but got seed",
     [](HandPlan &h) { h.entry().inputs[2]->role = plan::PortRole::seed; }},
    {"NoRoleInTheProgram", 1, "unsharded program, expected a role for each of 3 inputs but got 2",
     [](HandPlan &h) { h.plan.program->input_roles.pop_back(); }},
    {"DataInPlaceOfTheLoss", 1, "output 'loss' of 'train_step', expected the role loss of its name but got data",
     [](HandPlan &h) { h.entry().outputs[0]->role = plan::PortRole::data; }},
    {"GuardInPlaceOfTheLoss", 1, "output 'loss' of 'train_step', expected the role loss of its name but got guard",
     [](HandPlan &h) { h.entry().outputs[0]->role = plan::PortRole::guard; }},
    {"RoleOfAnotherName", 1, "output 'y' of 'train_step', expected the role data of its name but got loss",
     [](HandPlan &h) { h.entry().outputs[0]->name = "y"; }},
    {"RoleOfTheNorm", 1, "output 'grad_norm' of 'train_step', expected the role gradient_norm of its name but got loss",
     [](HandPlan &h) { h.entry().outputs[0]->name = "grad_norm"; }},
    {"UnknownKindOfASection", 1, "section 'update' of 'train_step', unknown kind 9",
     [](HandPlan &h) { h.section(1).kind = plan::SectionKind(9); }},
};
INSTANTIATE_TEST_SUITE_P(Roles, BadPlan, testing::ValuesIn(roles), nameOf);

const Bad arenas[] = {
    {"UnknownSpace", 1, "arena, expected one for each known memory space but got space 9",
     [](HandPlan &h) { h.plan.arenas[1]->space = plan::Space(9); }},
    {"TooMuchWorkspace", 1, "arena of host, expected at most 256.00 TiB but got 562949953421312 bytes",
     [](HandPlan &h) { h.plan.arenas[1]->workspace = std::uint64_t(1) << 49; }},
    {"AlignmentTooLarge", 1, "expected an alignment that is a power of two up to 1048576 but got 2097152",
     [](HandPlan &h) { h.plan.arenas[0]->alignment = 1 << 21; }},
    {"PersistentBeyondArena", 1, "arena of device, expected at most 1152 persistent bytes but got 1153",
     [](HandPlan &h) { h.plan.arenas[0]->persistent = 1153; }},
    {"BytesAfterTheLastBuffer", 1, "arena of device, expected the 1089 bytes of its buffers but got 1153",
     [](HandPlan &h) { h.plan.arenas[0]->bytes = 1153; }},
    {"PersistentBytesOfNoBuffer", 1, "arena of device, expected the 224 persistent bytes of its buffers but got 288",
     [](HandPlan &h) { h.plan.arenas[0]->persistent = 288; }},
    {"StreamWithoutName", 1, "stream '', its name is empty or used twice",
     [](HandPlan &h) { h.plan.streams[1]->name.clear(); }},
    {"StreamTwice", 1, "stream 'gather', its name is empty or used twice",
     [](HandPlan &h) { h.plan.streams[2]->name = "gather"; }},
    {"UnknownProcessor", 1, "stream 'gather', unknown processor 9",
     [](HandPlan &h) { h.plan.streams[1]->processor = plan::Processor(9); }},
    {"UnknownKind", 1, "stream 'gather', unknown kind 9",
     [](HandPlan &h) { h.plan.streams[1]->kind = plan::StreamKind(9); }},
    {"TooMuchWorkspaceOfAStream", 1, "stream 'compute', expected at most 256.00 TiB of workspace but got",
     [](HandPlan &h) { h.plan.streams[0]->workspace = std::uint64_t(1) << 49; }},
};
INSTANTIATE_TEST_SUITE_P(Arenas, BadPlan, testing::ValuesIn(arenas), nameOf);

const Bad bufferTable[] = {
    {"UnknownSpace", 1, "'x', unknown space, class or dtype",
     [](HandPlan &h) { h.buffer("x").space = plan::Space(9); }},
    {"UnknownType", 1, "'x', unknown space, class or dtype",
     [](HandPlan &h) { h.buffer("x").dtype = plan::DType(99); }},
    {"NoArena", 1, "'host.x', missing arena of host", [](HandPlan &h) { h.plan.arenas.pop_back(); }},
    {"ManyDims", 1, "'x', expected at most 8 dims but got 9",
     [](HandPlan &h) { h.buffer("x").shape = {2, 4, 1, 1, 1, 1, 1, 1, 1}; }},
    {"NegativeUnit", 1, "'gathered.a', unit -2 does not exist", [](HandPlan &h) { h.buffer("gathered.a").unit = -2; }},
    {"NoUnit", 1, "'gathered.a', unit 2 does not exist", [](HandPlan &h) { h.buffer("gathered.a").unit = 2; }},
    {"NegativeEntry", 1, "'x', entry point -2 does not exist", [](HandPlan &h) { h.buffer("x").entry = -2; }},
    {"NoEntry", 1, "'x', entry point 1 does not exist", [](HandPlan &h) { h.buffer("x").entry = 1; }},
    {"PersistentBegins", 1, "'a.weight', a persistent buffer has no lifespan",
     [](HandPlan &h) { h.buffer("a.weight").begin = 1; }},
    {"PersistentEnds", 1, "'a.weight', a persistent buffer has no lifespan",
     [](HandPlan &h) { h.buffer("a.weight").end = 1; }},
    {"EmptyLifespan", 1, "'x', expected a lifespan within the 42 instructions of its entry point but got [5, 5)",
     [](HandPlan &h) { h.buffer("x").begin = h.buffer("x").end; }},
};
INSTANTIATE_TEST_SUITE_P(Buffers, BadPlan, testing::ValuesIn(bufferTable), nameOf);

const Bad parameters[] = {
    {"UnknownType", 1, "parameter 'a.weight', unknown dtype",
     [](HandPlan &h) { h.parameter("a.weight").dtype = plan::DType(99); }},
    {"ManyDims", 1, "parameter 'a.weight', its shape 3x4x1x1x1x1x1x1x1 has too many dims, is negative or overflows",
     [](HandPlan &h) { h.parameter("a.weight").shape = {3, 4, 1, 1, 1, 1, 1, 1, 1}; }},
    {"NegativeShape", 1, "parameter 'a.weight', its shape -3x4 has too many dims, is negative or overflows",
     [](HandPlan &h) { h.parameter("a.weight").shape = {-3, 4}; }},
    {"NoUnit", 1, "parameter 'a.weight', unit 2 does not exist",
     [](HandPlan &h) {
       h.plan.units[0]->parameters.clear();
       h.parameter("a.weight").unit = 2;
     }},
    {"NegativeDim", 1, "parameter 'a.weight', dim -2 does not exist",
     [](HandPlan &h) { h.parameter("a.weight").dim = -2; }},
    {"NoDim", 1, "parameter 'a.weight', dim 3 does not exist", [](HandPlan &h) { h.parameter("a.weight").dim = 3; }},
    {"DimOfAScalar", 1, "parameter 'a.weight', dim 0 does not exist",
     [](HandPlan &h) { h.parameter("a.weight").shape.clear(); }},
    {"NoAxis", 1, "parameter 'a.weight', its axes are not distinct axes of the mesh",
     [](HandPlan &h) { h.parameter("a.weight").axes = {2}; }},
    {"AxisTwice", 1, "parameter 'a.weight', its axes are not distinct axes of the mesh",
     [](HandPlan &h) { h.parameter("a.weight").axes = {1, 1}; }},
    {"NoBuffer", 1, "parameter 'a.weight', buffer 24 does not exist",
     [](HandPlan &h) { h.parameter("a.weight").buffer = 24; }},
    {"UnknownInitializer", 1, "parameter 'a.weight', unknown initializer",
     [](HandPlan &h) {
       h.parameter("a.weight").initializer = std::make_unique<plan::InitializerT>();
       h.parameter("a.weight").initializer->kind = plan::InitializerKind(9);
     }},
    {"FlatParameterOfOneDim", 1, "parameter 'a.weight', expected dim 0 for elements of one dim but got 1",
     [](HandPlan &h) {
       h.parameter("a.weight").shape = {12};
       h.parameter("a.weight").dim = 1;
     }},
    {"InfiniteDivisor", 1, "unit 'a', expected a finite divisor of at least 0 but got inf",
     [](HandPlan &h) { h.plan.units[0]->gradient_divisor = std::numeric_limits<double>::infinity(); }},
    {"NegativeDivisor", 1, "unit 'a', expected a finite divisor of at least 0 but got -0",
     [](HandPlan &h) { h.plan.units[0]->gradient_divisor = -0.0; }},
    {"NoBufferOfState", 1, "parameter 'a.weight', buffer 24 of its state 'momentum_buffer' does not exist",
     [](HandPlan &h) { h.parameter("a.weight").states[0]->buffer = 24; }},
    {"NameTwice", 1, "parameter 'a.weight', its name is empty or used twice",
     [](HandPlan &h) { h.parameter("b.weight").name = "a.weight"; }},
    {"NotOfTheTable", 1, "unit 'a', parameter 2 does not exist",
     [](HandPlan &h) { h.plan.units[0]->parameters.push_back(2); }},
    {"InAnotherUnit", 1, "parameter 'a.weight', expected exactly one unit to list it, the one that it names",
     [](HandPlan &h) { h.parameter("a.weight").unit = 1; }},
    {"ListedTwice", 1, "parameter 'a.weight', expected exactly one unit to list it, the one that it names",
     [](HandPlan &h) { h.plan.units[0]->parameters = {0, 0}; }},
    {"VariableOfNoBuffer", 1, "variable 'mean', expected a persistent buffer",
     [](HandPlan &h) {
       h.plan.variables.push_back(std::make_unique<plan::VariableT>());
       h.plan.variables[0]->name = "mean";
       h.plan.variables[0]->buffer = 24;
     }},
    {"SplitAlongNoAxis", 1, "its split needs a different dim and distinct axes of the mesh",
     [](HandPlan &h) { splitColumns(h, 4, 1).axes = {7}; }},
    {"SplitInNoSegments", 1, "partition dim 1 of 4 in 0 segments but got parts of 4",
     [](HandPlan &h) { splitColumns(h, 4, 0); }},
    {"SplitInSegmentsOfTheDim", 1, "partition dim 1 of 4 in 3 segments but got parts of 3",
     [](HandPlan &h) {
       h.plan.mesh[0]->size = 2;
       splitColumns(h, 3, 3);
     }},
    {"SplitInSegmentsOfThePart", 1, "partition dim 1 of 4 in 2 segments but got parts of 3",
     [](HandPlan &h) {
       h.plan.mesh[0]->size = 2;
       splitColumns(h, 3, 2);
     }},
    {"SplitIntoNothing", 1, "in 1 segments but got parts of 0",
     [](HandPlan &h) {
       h.parameter("a.weight").shape = {3, 0};
       splitColumns(h, 0, 1);
     }},
    {"SplitIntoMore", 1, "in 1 segments but got parts of 5", [](HandPlan &h) { splitColumns(h, 5, 1); }},
};
INSTANTIATE_TEST_SUITE_P(Parameters, BadPlan, testing::ValuesIn(parameters), nameOf);

const Bad entries[] = {
    {"WithoutName", 1, "entry point '', its name is empty or used twice", [](HandPlan &h) { h.entry().name.clear(); }},
    {"NameTwice", 1, "entry point 'train_step', its name is empty or used twice",
     [](HandPlan &h) {
       h.plan.entries.push_back(std::make_unique<plan::EntryT>());
       h.plan.entries[1]->name = "train_step";
     }},
    {"TooManyRepetitions", 1, "expected 1 to 1048576 repetitions but got 1048577",
     [](HandPlan &h) { h.section(0).repeat = (1 << 20) + 1; }},
};
INSTANTIATE_TEST_SUITE_P(Entries, BadPlan, testing::ValuesIn(entries), nameOf);

const Bad program[] = {
    {"UnknownType", 1, "unsharded program, a type of values with shape 2x4",
     [](HandPlan &h) { h.plan.program->types[0]->dtype = plan::DType(99); }},
    {"ManyDims", 1, "unsharded program, a type of values with shape 2x4x1x1x1x1x1x1x1",
     [](HandPlan &h) { h.plan.program->types[0]->shape = {2, 4, 1, 1, 1, 1, 1, 1, 1}; }},
    {"NegativeShape", 1, "unsharded program, a type of values with shape -1",
     [](HandPlan &h) { h.plan.program->types[0]->shape = {-1}; }},
    {"EndsOfMoreOps", 1, "unsharded program, the ends of operands do not divide 13 ids among 15 ops",
     [](HandPlan &h) { h.plan.program->operand_ends.push_back(13); }},
    {"ResultOfTwoOps", 1, "unsharded program, value 4 is defined twice",
     [](HandPlan &h) { h.plan.program->results[1] = 4; }},
    {"ResultOfAnInput", 1, "unsharded program, value 3 is defined twice",
     [](HandPlan &h) { h.plan.program->results[0] = 3; }},
    {"OperandBeforeItsOp", 1, "unsharded program, value 14 is used before its function defines it",
     [](HandPlan &h) { h.plan.program->operands[0] = 14; }},
    {"OutputOfAnotherFunction", 1, "unsharded program, value 1 is used before its function defines it",
     [](HandPlan &h) {
       h.addFunction("other", {});
       h.plan.program->outputs[1] = 1;
     }},
    {"FunctionWithoutName", 1, "unsharded program, expected a separate name for each function but got name 9",
     [](HandPlan &h) { h.plan.program->functions[0]->name = std::uint32_t(h.plan.program->names.size()); }},
    {"OpsDescend", 1, "unsharded program, the functions do not divide ops, inputs and outputs",
     [](HandPlan &h) {
       h.addFunction("again", {"a.weight"});
       h.plan.program->functions[0]->ops_end = 99;
     }},
    {"OutputsDescend", 1, "unsharded program, the functions do not divide ops, inputs and outputs",
     [](HandPlan &h) {
       h.addFunction("again", {"a.weight"});
       h.plan.program->functions[0]->outputs_end = 99;
     }},
    {"OutputsOfNoFunction", 1, "unsharded program, the functions do not divide ops, inputs and outputs",
     [](HandPlan &h) {
       h.plan.program->outputs.push_back(1);
       h.plan.program->output_names.push_back(1);
     }},
};
INSTANTIATE_TEST_SUITE_P(Program, BadPlan, testing::ValuesIn(program), nameOf);

} // namespace
} // namespace sluice::test
