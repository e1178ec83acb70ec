//===- BadCodeTest.cpp - instructions that are not well formed (P1) ---===//
#include "BadPlan.h"

#include <limits>

namespace sluice::test {
namespace {

const Bad code[] = {
    {"CopyOfAnotherShape", 1, "expected source and destination of a copy to have one shape and dtype",
     [](HandPlan &h) { h.at("copy x").operation.AsCopy()->destination = h.view("x", {4, 2}); }},
    {"CopyOfAnotherType", 1, "expected source and destination of a copy to have one shape and dtype",
     [](HandPlan &h) { h.at("copy x").operation.AsCopy()->destination->dtype = plan::DType::i32; }},
    {"ViewNotAligned", 1, "its view of 'y' is not aligned to its dtype",
     [](HandPlan &h) {
       h.launch("loss").inputs[0] = h.view("y", {1});
       h.launch("loss").inputs[0]->offset = 2;
     }},
    {"RepetitionsNotAligned", 1, "its view of 'host.x' is not aligned to its dtype",
     [](HandPlan &h) { h.at("copy x").operation.AsCopy()->source->repetition_stride = 30; }},
    {"ViewOfUnknownType", 1, "unknown dtype 99",
     [](HandPlan &h) { h.launch("loss").inputs[0]->dtype = plan::DType(99); }},
    {"ViewOfManyDims", 1, "expected at most 8 dims but got 9",
     [](HandPlan &h) { h.launch("loss").inputs[0]->shape.assign(9, 1); }},
    {"ListTooLong", 1, "expected a predicate that lists at most 64 repetitions but got 65",
     [](HandPlan &h) { h.at("micro done").repetitions.assign(65, 0); }},
    {"ListBeyondSection", 1, "repetition 2 does not exist",
     [](HandPlan &h) {
       h.at("micro done").when = plan::When::listed;
       h.at("micro done").repetitions = {0, 2};
     }},
    {"ListWithoutItsPredicate", 1, "lists repetitions, but its predicate has no list",
     [](HandPlan &h) { h.at("micro done").repetitions = {0}; }},
    {"EmptyList", 1, "expected a list of repetitions in ascending order",
     [](HandPlan &h) { h.at("micro done").when = plan::When::listed; }},
    {"ListOfOneTwice", 1, "expected a list of repetitions in ascending order",
     [](HandPlan &h) {
       h.at("micro done").when = plan::When::listed;
       h.at("micro done").repetitions = {1, 1};
     }},
    {"PredicateWithoutRepetitions", 1, "expected no predicate in a section of one repetition",
     [](HandPlan &h) { h.section(1).instructions[0]->when = plan::When::last; }},
    {"UnknownPredicate", 1, "unknown predicate or phase", [](HandPlan &h) { h.at("h").when = plan::When(9); }},
    {"UnknownPhase", 1, "unknown predicate or phase", [](HandPlan &h) { h.at("h").phase = plan::Phase(9); }},
    {"NoLocation", 1, "location 0 does not exist", [](HandPlan &h) { h.at("h").location = 0; }},
    {"NegativeLocation", 1, "location -2 does not exist", [](HandPlan &h) { h.at("h").location = -2; }},
    {"NoKernel", 1, "kernel 4 does not exist", [](HandPlan &h) { h.launch("h").kernel = 4; }},
    {"AttributeOfUnknownKind", 1, "attribute 'first' is of unknown kind",
     [](HandPlan &h) { h.launch("sum a").attributes[0]->kind = 3; }},
    {"ValuesOfSomeOperands", 1, "expected a value id for each operand",
     [](HandPlan &h) { h.launch("h").input_values = {1}; }},
    {"ValuesOfSomeOutputs", 1, "expected a value id for each operand",
     [](HandPlan &h) { h.launch("h").output_values = {1, 1}; }},
    {"NoValue", 1, "value 99 does not exist", [](HandPlan &h) { h.launch("h").output_values = {99}; }},
    {"CollectiveOfUnknownType", 1, "unknown kind, reduction or dtype of a collective",
     [](HandPlan &h) { h.collective("gather a").dtype = plan::DType(99); }},
    {"CollectiveOfUnknownOp", 1, "unknown kind, reduction or dtype of a collective",
     [](HandPlan &h) { h.collective("gather a").op = plan::ReduceOp(99); }},
    {"CollectiveOfUnknownKind", 1, "unknown kind, reduction or dtype of a collective",
     [](HandPlan &h) { h.collective("gather a").kind = plan::CollectiveKind(99); }},
    {"CollectiveOfUnknownClass", 13, "expected reduction class 'not_a_reduction' but got '99'",
     [](HandPlan &h) { h.collective("gather a").reduction = plan::ReductionClass(99); }},
    {"LastReservedKind", 1, "collective kind recv is reserved",
     [](HandPlan &h) { h.collective("gather a").kind = plan::CollectiveKind::recv; }},
    {"ScaleNotFinite", 1, "expected a finite scale",
     [](HandPlan &h) { h.collective("reduce a").scale = std::numeric_limits<double>::infinity(); }},
    {"NoSegment", 1, "expected at least one segment", [](HandPlan &h) { h.collective("reduce a").segments.clear(); }},
    {"ReleaseOfNoBuffer", 1, "buffer 24 does not exist",
     [](HandPlan &h) { h.at("release a").operation.AsRelease()->buffers = {24}; }},
    {"ReleaseOfAShard", 1, "buffer 'a.weight' belongs to a different entry point",
     [](HandPlan &h) { h.at("release a").operation.AsRelease()->buffers = {h.bufferId("a.weight")}; }},
    {"ValidOfNoDim", 1, "expected valid extents of dims of the view in ascending order but got dim 2",
     [](HandPlan &h) { h.launch("update a").outputs[0]->valid[0]->dim = 2; }},
    {"ValidTwice", 1, "expected valid extents of dims of the view in ascending order but got dim 0",
     [](HandPlan &h) {
       auto &valid = h.launch("update a").outputs[0]->valid;
       valid.push_back(std::make_unique<plan::ValidT>(*valid[0]));
     }},
    {"ValidAlongAnAxisTwice", 1, "the axes of a valid extent are not distinct axes of the mesh",
     [](HandPlan &h) { h.launch("update a").outputs[0]->valid[0]->axes = {1, 1}; }},
    {"ValidAlongNoAxis", 1, "the axes of a valid extent are not distinct axes of the mesh",
     [](HandPlan &h) { h.launch("update a").outputs[0]->valid[0]->axes = {2}; }},
    {"FillOnHostMemory", 1, "expected operands in the memory of stream 'compute', device, but 'host.loss' is in host",
     [](HandPlan &h) { h.at("fill clip").operation.AsFill()->destination = h.view("host.loss"); }},
    {"BufferOfAnotherEntry", 1, "buffer 'clip' belongs to a different entry point",
     [](HandPlan &h) {
       h.plan.entries.push_back(std::make_unique<plan::EntryT>());
       h.plan.entries[1]->name = "idle";
       h.plan.entries[1]->sections.push_back(std::make_unique<plan::SectionT>());
       h.plan.entries[1]->sections[0]->repeat = 1;
       h.plan.entries[1]->sections[0]->instructions.push_back(std::make_unique<plan::InstructionT>(h.at("h")));
       h.buffer("clip").entry = 1;
       h.buffer("clip").begin = 0;
       h.buffer("clip").end = 1;
     }},
    {"NegativeWithoutStrides", 1, "its view -1x4 of 'x' is negative or overflows",
     [](HandPlan &h) { h.launch("h").inputs[0]->shape = {-1, 4}; }},
    {"NegativeStrideOfBytes", 1, "its view 2 of 'guard' is negative or overflows",
     [](HandPlan &h) {
       h.launch("update a").inputs[6]->shape = {2};
       h.launch("update a").inputs[6]->strides = {-2};
     }},
    {"StridesOverflow", 1, "its view 2 of 'x' is negative or overflows",
     [](HandPlan &h) {
       h.launch("h").inputs[0]->shape = {2};
       h.launch("h").inputs[0]->strides = {std::int64_t(1) << 62};
     }},
    // One element that is read often.
    {"RepeatedElementsOverflow", 1, "its view 2x9223372036854775807 of 'x' is negative or overflows",
     [](HandPlan &h) {
       h.launch("h").inputs[0]->shape = {2, std::numeric_limits<std::int64_t>::max()};
       h.launch("h").inputs[0]->strides = {0, 0};
     }},
    // The last element is the ninth of eight.
    {"StridesBeyondBuffer", 1, "expected its view within the 32 bytes of 'x'",
     [](HandPlan &h) {
       h.launch("h").inputs[0]->shape = {2};
       h.launch("h").inputs[0]->strides = {8};
     }},
    {"PortOfNoSection", 1, "port 'x' of 'idle', no section repeats",
     [](HandPlan &h) {
       h.plan.entries.push_back(std::make_unique<plan::EntryT>());
       h.plan.entries[1]->name = "idle";
       h.plan.entries[1]->inputs.push_back(std::make_unique<plan::PortT>(*h.entry().inputs[0]));
     }},
};
INSTANTIATE_TEST_SUITE_P(P1Code, BadPlan, testing::ValuesIn(code), nameOf);

} // namespace
} // namespace sluice::test
