//===- PlanCalls.h - compares a rank's calls with the plan --------------------------------===//
//
// One rank's calls of the fake are compared with the plan: on each stream the instructions in their order; a
// wait after the record that it is for and before the next one of that event; copies, fills and collectives by
// address, length, type, operation and group; a launch by all calls of its kernel, which is prepared here,
// separately from the executor, for the operands of the plan: device functions, grids, blocks, arguments, addresses.
// Operands, groups and counts are computed here only from the plan.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_PLANCALLS_H
#define SLUICE_TEST_CUDA_PLANCALLS_H

#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cuda/KernelContext.h"
#include "runtime/plan/Plan.h"
#include "test/cuda/Fake.h"

#include <deque>
#include <memory>
#include <tuple>

namespace sluice::test {

/// The message for two numbers that should be equal.
inline std::string differs(const std::string &what, const auto &wanted, const auto &got) {
  return what + ", expected " + std::to_string(wanted) + " but got " + std::to_string(got);
}

/// The value of SLUICE_CUDNN, "auto" or "on": executors and the kernels that are compared with them use
/// it.
std::shared_ptr<cuda::DnnUse> environmentDnn();

/// How much was compared.
struct CallCounts {
  std::uint64_t launches = 0, moves = 0, collectives = 0, events = 0, hostCalls = 0;
};

class PlanCalls {
public:
  /// For the executor that the calling thread created, whose number is `rank` (FakeCuda::setCaller).
  PlanCalls(const plan::PlanT &plan, int rank) : plan(plan), rank(rank) {}
  ~PlanCalls();

  /// Arenas, workspaces, streams and events are the plan's: one allocation each, priorities, kinds. "" or the
  /// error.
  std::string begin();
  /// Calls of one run of an entry point; recorded into a graph or issued.
  std::string compare(std::uint32_t entry, const std::vector<FakeCall> &calls, bool captured);
  /// All communicators that were used have the arena registered with them, or nothing.
  std::string checkRegistration(bool registers) const;

  CallCounts counts;

private:
  struct Bound {
    Operand operand;
    std::uint64_t stride = 0;
  };
  struct Run {
    const std::byte *to = nullptr, *from = nullptr;
    std::uint64_t bytes = 0;
    bool operator==(const Run &) const = default;
  };
  /// Positions of an event's records and of waits in the calls, in the plan's order.
  struct EventUse {
    std::vector<std::size_t> records;
    /// A wait and the number of records before it in the plan.
    std::vector<std::pair<std::size_t, std::size_t>> waits;
  };

  Bound bind(const plan::ViewT &view) const;
  bool isOfHost(const plan::InstructionT &instruction) const;
  /// The next call of the stream, which leaves its queue; null for an empty queue.
  const FakeCall *next(std::uint32_t stream);
  const FakeCall *peek(std::uint32_t stream) const;

  std::string compareEvent(const plan::InstructionT &instruction, std::uint32_t event, bool isRecord, bool carried);
  std::string compareLaunch(const plan::InstructionT &instruction, const plan::LaunchT &launch,
                            std::uint32_t repetition);
  std::string compareMove(const plan::InstructionT &instruction, const Bound &to, const Bound *from,
                          std::uint32_t repetition);
  std::string compareCollective(const plan::InstructionT &instruction, const plan::CollectiveT &collective,
                                std::uint32_t repetition);
  std::string compareInstruction(const plan::InstructionT &instruction, std::uint32_t repetition);
  std::string checkOrderOfEvents() const;
  std::string checkReductions() const;
  Result<std::vector<FakeCall>> callsOf(const plan::InstructionT &instruction, const plan::LaunchT &launch,
                                        std::uint32_t repetition);

  const plan::PlanT &plan;
  const int rank;
  std::byte *arenas[2] = {};
  std::vector<std::byte *> workspaces;
  std::vector<cuda::Stream> streams;
  std::map<cuda::Event, std::uint32_t> events;
  std::map<std::pair<std::vector<std::uint32_t>, std::uint32_t>, const void *> communicators;

  /// The context of the kernels that are prepared here.
  std::unique_ptr<cuda::KernelContext> kernels;
  cuda::Stream scratch = nullptr;
  std::map<const plan::LaunchT *, std::unique_ptr<BoundKernel>> made;

  /// Of the current run.
  std::uint32_t firstEvent = 0;
  const std::vector<FakeCall> *all = nullptr;
  std::map<std::uint32_t, std::deque<std::size_t>> queues;
  std::map<std::uint32_t, EventUse> uses;
  /// Elements of a unit's reductions, by unit, pass and repetition.
  std::map<std::tuple<std::int32_t, std::uint32_t, std::uint32_t>, std::uint64_t> reduced;
};

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_PLANCALLS_H
