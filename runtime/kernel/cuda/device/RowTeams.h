//===- RowTeams.h - dense rows by teams of threads, copied ahead of their use -------------------------------===//
//
// For kernels that read each row of their operands once. A block has one or more teams of whole warps, which compute a
// row at a time: thread t of T has the vectors t, t + T, .. of the row (at most `vectors`) and adds their elements in
// order; a sum over the team is a butterfly in each warp, then the warps in order. While a team computes a row, its
// next row is copied to shared memory: the copies need no registers, and memory is busy also while the threads
// compute. A thread reads the vectors that it copied, so a team of one warp needs no barrier.
//
// Shared memory: sums of the warps, the weights that all teams use, then for each team two rows of each operand, and
// one of an operand that is used late.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ROWTEAMS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ROWTEAMS_H

#include "runtime/base/cuda/Vector.h"
#include "runtime/kernel/cuda/device/TensorCore.h"

namespace sluice::cuda {

/// Most warps of a block, most numbers that are added together, and bytes for the
/// sums of the warps: twice, so that one barrier per sum is enough.
inline constexpr int teamWarps = 8, teamSums = 3, teamSumsBytes = 2 * teamSums * teamWarps * 4;

/// Bytes of shared memory of a block with `weights` rows of weights and `rows` of each team.
constexpr int teamsShared(int teams, int rowBytes, int weights, int rows) {
  return teamSumsBytes + (weights + teams * rows) * rowBytes;
}

/// The address of a row.
template <typename S> SLUICE_DEVICE const void *rowOf(const void *data, unsigned row, unsigned columns) {
  return static_cast<const typename S::Memory *>(data) + std::uint64_t(row) * columns;
}
template <typename S> SLUICE_DEVICE void *rowOf(void *data, unsigned row, unsigned columns) {
  return static_cast<typename S::Memory *>(data) + std::uint64_t(row) * columns;
}

struct Team {
  Lane lane;
  unsigned threads, thread, index, teams;

  /// `threads` of a team; the block has several times as many.
  SLUICE_DEVICE Team(unsigned threads, Lane lane)
      : lane(lane), threads(threads), thread(static_cast<unsigned>(lane.thread()) % threads),
        index(static_cast<unsigned>(lane.thread()) / threads), teams(static_cast<unsigned>(lane.threads()) / threads) {}

  /// Over the team; `turn` alternates between 0 and 1. Teams of several warps: all threads of the block call it.
  template <typename Op, int count> SLUICE_DEVICE void reduce(float (&values)[count], Op op, unsigned turn) const {
    static_assert(count <= teamSums);
    for (float &value : values)
      value = lane.warpReduce(value, op);
    const unsigned warps = threads / warpSize;
    if (warps == 1)
      return;
    float *shared = lane.shared<float>() + turn * teamSums * teamWarps;
    if (lane.thread() % warpSize == 0)
      for (int i = 0; i < count; ++i)
        shared[i * teamWarps + lane.thread() / warpSize] = values[i];
    lane.sync();
    for (int i = 0; i < count; ++i) {
      const float *of = shared + static_cast<unsigned>(i) * teamWarps + index * warps;
      values[i] = of[0];
      for (unsigned w = 1; w < warps; ++w)
        values[i] = op(values[i], of[w]);
    }
  }

  /// Calls `body(v, at)` for the thread's vectors of a row of `count`.
  template <int vectors, typename Body> SLUICE_DEVICE void forVectors(unsigned count, Body body) const {
    SLUICE_UNROLL
    for (int v = 0; v < vectors; ++v)
      if (const unsigned at = static_cast<unsigned>(v) * threads + thread; at < count)
        body(v, at);
  }
};

/// The rows of `operands`, `weights` rows that all teams use, and unless null the rows of an operand that the body of
/// forRows uses late.
template <typename S, int operands, int weights> class TeamRows {
public:
  const unsigned columns, count, rowBytes;

  SLUICE_DEVICE TeamRows(Team team, unsigned columns, const void *const (&data)[operands], const void *late = nullptr)
      : columns(columns), count(columns / vectorWidth<S>), rowBytes(count * vectorBytes), team(team), lateData(late) {
    for (int o = 0; o < operands; ++o)
      of[o] = data[o];
  }

  SLUICE_DEVICE unsigned char *weight(int w) const {
    return team.lane.shared<unsigned char>() + teamSumsBytes + static_cast<unsigned>(w) * rowBytes;
  }
  /// The memory of a team.
  SLUICE_DEVICE unsigned char *ofTeam(unsigned index) const {
    return weight(weights) + index * (2 * operands + (lateData ? 1 : 0)) * rowBytes;
  }
  /// The copy of a row.
  SLUICE_DEVICE unsigned char *row(int operand, unsigned turn) const {
    return ofTeam(team.index) + (static_cast<unsigned>(operand) * 2 + turn) * rowBytes;
  }
  SLUICE_DEVICE unsigned char *late() const { return row(operands, 0); }
  /// Before a body reads late().
  SLUICE_DEVICE void waitForLate() const { waitForCopies<1>(team.lane); }

  /// Begins to copy a weight, for forRows.
  SLUICE_DEVICE void fetchWeight(int w, const void *data) const {
    for (unsigned at = static_cast<unsigned>(team.lane.thread()); at < count; at += team.threads * team.teams)
      fetchVector(weight(w), data, at, true);
  }

  /// Calls `body(row, real, turn)` for rows `begin` + the team's index, .. at distances of `step`. All teams of the
  /// block call it equally often: of a row that is not `real`, after the end, the copies are zeros. `turn` is 0 and 1
  /// by turns.
  template <int vectors, typename Body>
  SLUICE_DEVICE void forRows(unsigned begin, unsigned end, unsigned step, Body body) const {
    fetch<vectors>(begin, end, 0);
    fetchLate<vectors>(begin, end);
    fetch<vectors>(begin + step, end, 1);
    waitForCopies<2>(team.lane);
    team.lane.sync();
    unsigned turn = 0;
    for (unsigned first = begin; first < end; first += step) {
      body(first + team.index, first + team.index < end, turn);
      fetchLate<vectors>(first + step, end);
      fetch<vectors>(first + 2 * step, end, turn);
      // All but these two.
      waitForCopies<2>(team.lane);
      turn ^= 1;
    }
  }

private:
  SLUICE_DEVICE void fetchVector(unsigned char *to, const void *from, unsigned at, bool real) const {
    copyChunk(to + at * vectorBytes, static_cast<const unsigned char *>(from) + std::uint64_t(at) * vectorBytes, real,
              team.lane);
  }
  /// Begins to copy the team's row, unless all teams are after the end.
  template <int vectors>
  SLUICE_DEVICE void fetch(unsigned char *to, const void *data, unsigned first, unsigned end) const {
    const bool real = first + team.index < end;
    if (first < end)
      team.forVectors<vectors>(count, [&](int, unsigned at) {
        fetchVector(to, rowOf<S>(data, real ? first + team.index : first, columns), at, real);
      });
  }
  template <int vectors> SLUICE_DEVICE void fetch(unsigned first, unsigned end, unsigned turn) const {
    for (int o = 0; o < operands; ++o)
      fetch<vectors>(row(o, turn), of[o], first, end);
    commitCopies(team.lane);
  }
  template <int vectors> SLUICE_DEVICE void fetchLate(unsigned first, unsigned end) const {
    if (lateData)
      fetch<vectors>(late(), lateData, first, end);
    commitCopies(team.lane);
  }

  Team team;
  const void *of[operands];
  const void *lateData;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ROWTEAMS_H
