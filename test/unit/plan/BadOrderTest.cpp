//===- BadOrderTest.cpp - shared bytes, races of streams, gathers, events  (P2, P3, P4, P11, P12) ---===//
#include "BadPlan.h"

namespace sluice::test {
namespace {

const Bad overlap[] = {
    {"LiveAtOnce", 2, "buffers 'h' and 'loss' live at once and share bytes",
     [](HandPlan &h) { h.buffer("loss").offset = h.buffer("h").offset; }},
    {"OverPersistent", 2, "live at once", [](HandPlan &h) { h.buffer("x").offset = 192; }},
    {"PeakTooLow", 2, "are live at instruction", [](HandPlan &h) { --h.plan.arenas[0]->peak_live; }},
    {"PeakAboveArena", 2, "but has only", [](HandPlan &h) { h.plan.arenas[0]->peak_live = 2000; }},
    {"PersistentOverPersistent", 2, "buffers 'a.weight' and 'b.weight' live at once and share bytes",
     [](HandPlan &h) { h.buffer("b.weight").offset = 0; }},
    {"AfterItsLifespan", 2, "uses buffer 'h' outside its lifespan",
     [](HandPlan &h) { h.buffer("h").end = h.index("grad a"); }},
    {"BeforeItsLifespan", 2, "uses buffer 'h' outside its lifespan",
     [](HandPlan &h) { h.buffer("h").begin = h.index("y"); }},
    {"NothingWritten", 2, "that no instruction has written",
     [](HandPlan &h) {
       h.drop("copy x");
       h.buffer("x").begin = h.index("h");
     }},
    {"Overwritten", 2, "whose bytes were overwritten by buffer 'x'",
     [](HandPlan &h) {
       // The lifespan of x ends early, and a copy is declared after y, at the offset of y.
       h.buffer("loss").offset = h.buffer("x").offset;
       h.buffer("loss").begin = h.index("loss");
       h.launch("loss").outputs[0] = h.view("sum.a", {1});
     }},
    {"CarriedOutsideLifespan", 2, "of a different repetition",
     [](HandPlan &h) { h.buffer("sum.b").begin = h.index("sum b"); }},
    {"CarriedBeyondLifespan", 2, "of a different repetition",
     [](HandPlan &h) { h.buffer("sum.b").end = h.index("reduce b") + 1; }},
    {"InPlaceOfAnother", 2, "live at once", [](HandPlan &h) { h.buffer("grad.b").begin = h.index("loss"); }},
    {"HalfInPlace", 2, "writes buffer 'y' over bytes of buffer 'y', an input of the same instruction",
     [](HandPlan &h) {
       h.launch("grad b").outputs[0] = h.view("y", {2, 4});
       h.launch("grad b").outputs[0]->offset = 16;
       h.launch("grad b").inputs[0]->shape = {2, 4};
     }},
    {"TwoOutputsOnePlace", 2, "writes buffer 'y' over bytes of buffer 'y', an output of the same instruction",
     [](HandPlan &h) {
       plan::LaunchT &launch = h.launch("y");
       launch.kernel = std::uint32_t(h.plan.kernels.size());
       h.plan.kernels.push_back("swiglu_grad");
       launch.inputs.clear();
       launch.outputs.clear();
       for (int i = 0; i < 3; ++i)
         launch.inputs.push_back(h.view("h"));
       for (int i = 0; i < 2; ++i)
         launch.outputs.push_back(h.view("y", {3, 4}));
     }},
    {"InPlaceWithoutLeave", 2,
     "writes buffer 'y' over bytes of buffer 'y', and it cannot compute output 0 in place of input 0",
     [](HandPlan &h) {
       h.plan.kernels.push_back("take_along");
       h.launch("grad b").kernel = std::uint32_t(h.plan.kernels.size() - 1);
       h.launch("grad b").outputs[0] = h.view("y");
     }},
    {"InPlaceOfAnotherType", 2, "writes buffer 'y' over bytes of buffer 'y', an input of the same instruction",
     [](HandPlan &h) {
       h.launch("grad b").outputs[0] = h.view("y");
       h.launch("grad b").outputs[0]->dtype = plan::DType::i32;
     }},
    {"CopyInPlace", 2, "writes buffer 'x' over bytes of buffer 'x', and it cannot compute output 0 in place of input 0",
     [](HandPlan &h) { h.at("copy x").operation.AsCopy()->source = h.view("x"); }},
    {"ScatterInPlace", 2, "an input of the same instruction",
     [](HandPlan &h) { h.collective("reduce b").segments[0]->destination = h.view("sum.b", {2, 4}); }},
    {"UpdateElsewhere", 2,
     "updates input 2 in place, expected output 1 at its bytes of buffer 'a.weight.momentum_buffer' but got buffer "
     "'shard.a'",
     [](HandPlan &h) { h.launch("update a").outputs[1]->buffer = h.bufferId("shard.a"); }},
    {"LivesOverlapOnStreams", 2, "without waiting for",
     [](HandPlan &h) {
       // By lifespans the reduced gradient is at the offset of its input; the streams do not wait.
       h.buffer("lr").offset = h.buffer("sum.a").offset;
       h.drop("compute waits: a reduced");
       h.drop("compute waits: b reduced");
     }},
};
INSTANTIATE_TEST_SUITE_P(P2, BadPlan, testing::ValuesIn(overlap), nameOf);

const Bad race[] = {
    {"ReadBeforeReduced", 3, "reads buffer 'shard.b' without waiting for instruction",
     [](HandPlan &h) {
       h.drop("compute waits: b reduced");
       h.drop("compute waits: a reduced");
     }},
    {"ReducedBeforeSummed", 3, "reads buffer 'sum.b' without waiting for",
     [](HandPlan &h) { h.drop("reduce waits: b summed"); }},
    {"RecordTooEarly", 3, "reads buffer 'shard.a' without waiting for",
     [](HandPlan &h) { h.exchange("reduce a", "a reduced"); }},
    {"CopyOnOtherStream", 3, "reads buffer 'x' without waiting for", [](HandPlan &h) { h.at("copy x").stream = 2; }},
    // Only the first of the two writes is ordered before the read.
    {"WriteAfterWrite", 3, "writes buffer 'lr' without waiting for instruction",
     [](HandPlan &h) {
       h.at("fill clip").operation.AsFill()->destination = h.view("lr");
       h.at("fill clip").stream = 2;
       for (const char *update : {"update a", "update b"})
         h.launch(update).inputs[5] = h.view("loss");
     }},
    {"WriteWhileRead", 3, "writes buffer 'sum.b' without waiting for",
     [](HandPlan &h) {
       // The reduction runs at the first micro-batch, the second adds to its input.
       for (const char *label : {"b summed", "reduce waits: b summed", "reduce b", "b reduced"})
         h.at(label).when = plan::When::first;
     }},
};
INSTANTIATE_TEST_SUITE_P(P3, BadPlan, testing::ValuesIn(race), nameOf);

const Bad gather[] = {
    {"ReadBeforeComplete", 4, "reads buffer 'gathered.b' without waiting for",
     [](HandPlan &h) { h.drop("compute waits: b gathered"); }},
    {"ReadBeforeGather", 4, "before any gather", [](HandPlan &h) { h.drop("gather a"); }},
    {"ReadAfterRelease", 4, "after its release",
     [](HandPlan &h) {
       h.exchange("grad b", "release b");
       h.buffer("gathered.b").end = h.index("grad b") + 1;
       h.buffer("grad.b").begin = h.buffer("y").end = h.index("grad b");
       h.buffer("y").end = h.index("grad b") + 1;
     }},
    {"ReleasedTwiceAtOnce", 1, "expected a release of buffers, each once",
     [](HandPlan &h) { h.at("release a").operation.AsRelease()->buffers.push_back(h.bufferId("gathered.a")); }},
    {"ReleasesNothing", 1, "expected a release of buffers, each once",
     [](HandPlan &h) { h.at("release a").operation.AsRelease()->buffers.clear(); }},
    {"ReleasedTwice", 4, "which is not gathered",
     [](HandPlan &h) { h.at("release a").operation.AsRelease()->buffers = {h.bufferId("gathered.b")}; }},
    {"ReleasesWhatIsNotGathered", 4, "part of no gathered unit",
     [](HandPlan &h) { h.at("release a").operation.AsRelease()->buffers = {h.bufferId("x")}; }},
    {"GatheredAgain", 4, "again before its release", [](HandPlan &h) { h.drop("release b"); }},
    {"ReleasedWhileRead", 4, "while it is read", [](HandPlan &h) { h.at("release b").stream = 1; }},
    {"ReleasedInFlight", 4, "releases buffer 'gathered.b' while it is gathered",
     [](HandPlan &h) {
       // Nothing reads it.
       h.launch("y").inputs[1] = h.view("h");
       h.launch("grad b").inputs[1] = h.view("y");
       h.drop("compute waits: b gathered");
     }},
    {"SourceWrittenInFlight", 4, "while its gather is in flight",
     [](HandPlan &h) {
       // A second gather at the end, while the update writes the shard.
       h.at("copy lr").operation.Set(plan::CollectiveT(h.collective("gather b")));
       h.at("copy lr").stream = h.at("copy lr").unit = 1;
       h.buffer("gathered.b").end = h.index("update b");
       h.buffer("gathered.b").offset = 1152;
       h.plan.arenas[0]->bytes = 1216;
       h.plan.arenas[0]->peak_live = 1216;
       h.launch("update b").inputs[3] = h.view("loss");
       h.launch("update a").inputs[3] = h.view("loss");
       h.buffer("loss").begin = h.index("loss");
     }},
};
INSTANTIATE_TEST_SUITE_P(P4, BadPlan, testing::ValuesIn(gather), nameOf);

const Bad events[] = {
    {"WaitWithoutRecord", 11, "which has no earlier record in the step", [](HandPlan &h) { h.drop("b gathered"); }},
    {"RecordedLater", 11, "which has no earlier record in the step",
     [](HandPlan &h) { h.exchange("reduce waits: b summed", "b summed"); }},
    {"RecordedInTheLastRepetitionOnly", 11, "which has no earlier record in the step",
     [](HandPlan &h) { h.at("reduce waits: b summed").when = plan::When::all; }},
};
INSTANTIATE_TEST_SUITE_P(P11, BadPlan, testing::ValuesIn(events), nameOf);

const Bad boundary[] = {
    {"StillGathered", 12, "still gathered at the end", [](HandPlan &h) { h.at("release b").when = plan::When::first; }},
    {"GatherDoesNotWaitForUpdate", 12, "of the step before", [](HandPlan &h) { h.drop("gather waits: step done"); }},
    {"OutputNotWritten", 12, "is not there at the end", [](HandPlan &h) { h.drop("copy loss"); }},
    {"OutputEndsEarly", 1,
     "port 'loss' of 'train_step', expected a buffer that is live in the whole step, and only in it, but 'host.loss'",
     [](HandPlan &h) { h.buffer("host.loss").end -= 1; }},
    {"InputBeginsLate", 1,
     "port 'lr' of 'train_step', expected a buffer that is live in the whole step, and only in it, but 'host.lr'",
     [](HandPlan &h) { h.buffer("host.lr").begin = h.index("copy lr"); }},
};
INSTANTIATE_TEST_SUITE_P(P12, BadPlan, testing::ValuesIn(boundary), nameOf);

} // namespace
} // namespace sluice::test
