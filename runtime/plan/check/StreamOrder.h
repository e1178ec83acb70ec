//===- StreamOrder.h - the order of instructions by streams and events -------------===//
//
// Issued instructions, over several steps, and a vector clock per stream: how much of each stream is done before the
// next instruction on it. Only stream order and pairs of record and wait order two instructions.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_STREAMORDER_H
#define SLUICE_RUNTIME_PLAN_CHECK_STREAMORDER_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sluice::check {

/// Index of an issued instruction; `before` for the state before the first.
using Instance = std::int32_t;
inline constexpr Instance before = -1;

struct Issued {
  std::uint32_t issue;
  std::uint32_t stream;
  /// Position on its stream, from 1.
  std::uint32_t time;
  std::uint32_t repetition;
  std::uint32_t step;
};

class StreamOrder {
public:
  /// How much of each stream was done when an event was recorded; empty: not recorded.
  using Clock = std::vector<std::uint32_t>;

  explicit StreamOrder(std::size_t streams) : streams(streams), clock(streams * streams, 0) {}

  /// Records of the current step become those of the previous step.
  void beginStep(std::uint32_t number, std::uint32_t events) {
    step = number;
    recordsBefore = std::move(records);
    records.assign(events, {});
  }

  /// Issues the next instruction of a stream, which is the current one until the next issue.
  Instance issue(std::uint32_t issue, std::uint32_t stream, std::uint32_t repetition) {
    const Instance next = Instance(issued.size());
    issued.push_back({issue, stream, ++clock[stream * streams + stream], repetition, step});
    return next;
  }
  const Issued &operator[](Instance id) const { return issued[std::size_t(id)]; }
  Instance current() const { return Instance(issued.size()) - 1; }
  std::uint32_t currentStep() const { return step; }

  /// By the current instruction.
  void record(std::uint32_t event) {
    const auto own = clock.begin() + std::ptrdiff_t(issued.back().stream * streams);
    records[event].assign(own, own + std::ptrdiff_t(streams));
  }
  const Clock &recordOf(std::uint32_t event) const { return records[event]; }
  const Clock &recordOfStepBefore(std::uint32_t event) const { return recordsBefore[event]; }
  void wait(const Clock &record) {
    std::uint32_t *own = clock.data() + issued.back().stream * streams;
    for (std::size_t s = 0; s < streams; ++s)
      own[s] = std::max(own[s], record[s]);
  }

  /// True if it is done before the current instruction.
  bool happened(Instance id) const {
    return id == before || clock[issued.back().stream * streams + issued[id].stream] >= issued[id].time;
  }
  /// The time of the last instruction of a stream that is done before the current instruction.
  std::uint32_t doneOn(std::size_t stream) const { return clock[issued.back().stream * streams + stream]; }

private:
  std::size_t streams;
  /// clock[s][t]: how many instructions of stream t are done before the next of stream s begins.
  Clock clock;
  /// By event: the latest of this step, and of the previous one.
  std::vector<Clock> records, recordsBefore;
  std::vector<Issued> issued;
  std::uint32_t step = 0;
};

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_STREAMORDER_H
