//===- HandPlan.h - a small correct plan, which tests change -----------------------===//
//
// Two ranks, two units of one parameter each ('a' of 3 rows, so padded; 'b' of 4), two micro-batches with gradients
// accumulated and reduced at the last, streams for compute, gather and reduction, and an update. Instructions and
// buffers are found by name. The plan is not executed.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_HANDPLAN_H
#define SLUICE_TEST_UNIT_PLAN_HANDPLAN_H

#include "test/unit/PlanBuilder.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::test {

class HandPlan : private PlanBuilder {
public:
  /// `carries`: the first gather waits for the update of its parameter in the previous step; that update is then
  /// before the update of the other unit.
  explicit HandPlan(bool carries = false);

  using PlanBuilder::plan;

  plan::InstructionT &at(const std::string &label);
  std::uint32_t index(const std::string &label) const { return labels.at(label); }
  plan::BufferT &buffer(const std::string &name) { return *plan.buffers[buffers.at(name)]; }
  std::uint32_t bufferId(const std::string &name) const { return buffers.at(name); }
  plan::LaunchT &launch(const std::string &label) { return *at(label).operation.AsLaunch(); }
  plan::CollectiveT &collective(const std::string &label) { return *at(label).operation.AsCollective(); }
  plan::EntryT &entry() { return *plan.entries[0]; }
  plan::SectionT &section(std::size_t s) { return *entry().sections[s]; }
  plan::ParameterT &parameter(const std::string &name);

  /// Replaces an instruction by one without effect: a record of an event without a wait.
  void drop(const std::string &label);
  /// Exchanges two instructions of one section.
  void exchange(const std::string &first, const std::string &second);
  /// Adds a launch like one that is in the plan after it: of its unit, phase and stream. Later instructions and
  /// lifespans move by one.
  void insertAfter(const std::string &label, plan::LaunchT launch);
  /// Adds a function to the unsharded program that trains these parameters: the sum of x times all of them.
  void addFunction(const std::string &name, const std::vector<std::string> &parameters);
  /// Sets digest and versions.
  void seal();

  std::unique_ptr<plan::ViewT> view(const std::string &name, Shape shape = {}) const;

private:
  void addBuffer(const std::string &name, plan::BufferClass bufferClass, Shape shape, std::uint64_t offset,
                 plan::Space space = plan::Space::device, plan::DType dtype = plan::DType::f32);
  void addParameter(const std::string &name, std::int64_t rows, std::uint32_t unit);
  /// Names the instruction that was added last.
  plan::InstructionT &label(const std::string &label, plan::Phase phase, int unit);
  void addLaunch(const std::string &label, plan::Phase phase, int unit, const std::string &kernel,
                 std::vector<plan::ViewT> inputs, std::vector<plan::ViewT> outputs);
  void addCollective(const std::string &label, plan::Phase phase, int unit, plan::CollectiveKind kind,
                     plan::ViewT source, plan::ViewT destination);
  void addRecord(const std::string &label, const std::string &stream, plan::Phase phase);
  plan::WaitT &addWait(const std::string &record, const std::string &stream, plan::Phase phase);
  void addRelease(const std::string &label, const std::string &name, int unit);
  void addCopy(const std::string &label, plan::Phase phase, plan::ViewT source, plan::ViewT destination);
  plan::ViewT window(const std::string &name, Shape shape = {}) const;
  plan::ViewT shard(const std::string &name, std::int64_t rows) const;
  std::uint32_t streamId(const std::string &name) const;
  void setLifespan(const std::string &name, const std::string &first, const std::string &last);
  void addTables();
  void addProgram();
  void addForward();
  void addBackward();
  void addUpdate();
  void addLifespans();

  const bool carries;
  std::map<std::string, std::uint32_t> labels;
  std::map<std::string, std::uint32_t> buffers;
  std::map<std::string, std::uint32_t> events;
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_HANDPLAN_H
