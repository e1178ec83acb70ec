//===- OffloadTest.cpp - plans with host memory and an error ---------------------------===//
//
// Wrong variants of a compiled plan that keeps parameters and optimizer states in host memory: a missing wait for a
// copy, an operand in the wrong memory space, overlapping copies. The checker refuses each for the expected property.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Steps.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Serialize.h"

#include <functional>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

class OffloadPlan {
public:
  OffloadPlan() {
    auto file = readCheckedPlan(compilePlan("offload-offload", "zoo transformer --set layers=3 --set dropout=0",
                                            "mesh.shard = 2\nsharding.reshard_after_forward = true\n"
                                            "memory.offload = [\"parameters\", \"optimizer\"]\n"));
    if (file.isOk())
      plan = std::move(file->plan);
  }

  /// All instructions of the training step.
  std::vector<plan::InstructionT *> instructions() {
    std::vector<plan::InstructionT *> found;
    for (auto &section : plan.entries[findEntry(plan, "train_step")]->sections)
      for (auto &instruction : section->instructions)
        found.push_back(instruction.get());
    return found;
  }
  const std::string &streamOf(const plan::InstructionT &instruction) { return plan.streams[instruction.stream]->name; }
  plan::BufferT &bufferOf(const plan::ViewT &view) { return *plan.buffers[view.buffer]; }

  /// Removes all waits of one stream for records of a different one; returns their number.
  int dropWaits(const std::string &from, const std::string &of) {
    std::vector<bool> recorded(plan.entries[findEntry(plan, "train_step")]->events);
    for (plan::InstructionT *instruction : instructions())
      if (const plan::RecordT *record = instruction->operation.AsRecord())
        recorded[record->event] = streamOf(*instruction) == of;
    int dropped = 0;
    for (plan::InstructionT *instruction : instructions())
      if (const plan::WaitT *wait = instruction->operation.AsWait();
          wait && streamOf(*instruction) == from && recorded[wait->event]) {
        plan::RecordT nothing;
        nothing.event = plan.entries[findEntry(plan, "train_step")]->events++;
        instruction->operation.Set(std::move(nothing));
        ++dropped;
      }
    return dropped;
  }

  /// The number of the violated property; 0 for none.
  int refused(std::string &message) {
    serializePlan(plan);
    CheckReport report;
    const Status status = checkPlan(plan, &report);
    message = status.message();
    const auto refused =
        std::ranges::find(report.properties, CheckReport::Outcome::refused, &CheckReport::Property::outcome);
    return status.isOk() ? 0 : static_cast<int>(refused - report.properties.begin()) + 1;
  }

  plan::PlanT plan;
};

TEST(Offload, AcceptsTheCompiledPlan) {
  OffloadPlan offload;
  ASSERT_FALSE(offload.plan.entries.empty());
  std::string message;
  EXPECT_EQ(offload.refused(message), 0) << message;
}

TEST(Offload, RefusesMissingWaits) {
  // The missing waits: of a gather for its shard, of a copy for the reduction after compute, of the host for gradients
  // after compute, of the next step's copy for the host's update.
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"gather", "fetch"}, {"offload", "compute"}, {"compute", "offload"}, {"host", "compute"}, {"fetch", "host"}};
  for (const auto &[from, of] : pairs) {
    OffloadPlan offload;
    ASSERT_FALSE(offload.plan.entries.empty());
    EXPECT_GT(offload.dropWaits(from, of), 0) << from << " for " << of;
    std::string message;
    const int property = offload.refused(message);
    EXPECT_TRUE(property == 2 || property == 3 || property == 12)
        << from << " for " << of << ": P" << property << " " << message;
    EXPECT_NE(message.find("without waiting for"), std::string::npos) << message;
  }
}

TEST(Offload, RefusesOperandsInTheWrongSpace) {
  OffloadPlan offload;
  ASSERT_FALSE(offload.plan.entries.empty());
  for (plan::InstructionT *instruction : offload.instructions())
    if (const plan::CopyT *copy = instruction->operation.AsCopy(); copy && offload.streamOf(*instruction) == "fetch") {
      // The gather reads the shard in host memory, from which it should be copied.
      for (plan::InstructionT *other : offload.instructions())
        if (plan::CollectiveT *collective = other->operation.AsCollective())
          for (auto &segment : collective->segments)
            if (segment->source->buffer == copy->destination->buffer)
              segment->source->buffer = copy->source->buffer;
      break;
    }
  std::string message;
  EXPECT_EQ(offload.refused(message), 1);
  EXPECT_NE(message.find("expected operands in the memory of stream 'gather', device"), std::string::npos) << message;
}

TEST(Offload, RefusesOverlappingCopies) {
  OffloadPlan offload;
  ASSERT_FALSE(offload.plan.entries.empty());
  // Gradients of two units at one host offset: both are live until the update.
  plan::BufferT *first = nullptr;
  for (plan::InstructionT *instruction : offload.instructions())
    if (const plan::CopyT *copy = instruction->operation.AsCopy();
        copy && offload.streamOf(*instruction) == "offload") {
      plan::BufferT &target = offload.bufferOf(*copy->destination);
      if (first && first != &target) {
        target.offset = first->offset;
        break;
      }
      first = &target;
    }
  ASSERT_NE(first, nullptr);
  std::string message;
  EXPECT_EQ(offload.refused(message), 2) << message;
}

TEST(Offload, RefusesAParameterThatIsNotCopiedBack) {
  // Only states on the host: a parameter is copied there for its update and back once.
  auto file = readCheckedPlan(compilePlan("offload-states", "zoo transformer --set layers=1 --set dropout=0",
                                          "mesh.shard = 2\nmemory.offload = [\"optimizer\"]\n"));
  ASSERT_TRUE(file.isOk()) << file.status().message();
  plan::PlanT &plan = file->plan;
  plan::EntryT &entry = *plan.entries[findEntry(plan, "train_step")];
  for (auto &section : entry.sections)
    for (auto &instruction : section->instructions)
      if (const plan::CopyT *copy = instruction->operation.AsCopy();
          copy && plan.buffers[copy->destination->buffer]->entry == -1) {
        plan::RecordT nothing;
        nothing.event = entry.events++;
        instruction->operation.Set(std::move(nothing));
        instruction->unit = -1;
        serializePlan(plan);
        CheckReport report;
        EXPECT_FALSE(checkPlan(plan, &report).isOk());
        EXPECT_EQ(report[10], CheckReport::Outcome::refused);
        return;
      }
  FAIL() << "expected a copy into a parameter";
}

} // namespace
} // namespace sluice::numeric
