//===- DenseNorms.h - norms over dense rows ------------------------------------------------------===//
//
// The fast form of the norms of Rows.h, by teams of threads (RowTeams.h).
//
// Gradients: block r computes run r of the rows (CudaWorkspace.h). Team t of T has rows t, t + T, .. of the run, whose
// terms of dweight and dbias each thread adds in order of rows in float; then the teams are added in order, and the
// runs as by the second stage of Columns.h. The sums of dx over rows are added in the same order, by each team in
// shared memory, because there are no registers left for them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSENORMS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSENORMS_H

#include "runtime/kernel/cuda/device/Columns.h"
#include "runtime/kernel/cuda/device/RowTeams.h"

namespace sluice::cuda {

struct DenseNormArgs {
  /// dy, x, weight, bias -> y or dx. `addend`, unless null, is added to dx.
  const void *dy = nullptr, *x = nullptr, *weight = nullptr, *bias = nullptr, *addend = nullptr;
  void *y = nullptr;
  /// Of each row; written by the norm, read by its gradient.
  float *mean = nullptr, *rstd = nullptr;
  /// [2 or 3][runs][columns]
  float *partial = nullptr;
  /// dsum: the sums of dx over rows, if there is `sumsDx`.
  View dweight, dbias, dsum;
  int sumsDx = 0;
  /// 1 if they hold sums, to which the gradients are added.
  int addsWeight = 0, addsBias = 0, addsSum = 0;
  unsigned rows = 0, columns = 0, runs = 0;
  /// Elements of a vector.
  unsigned width = 0;
  float epsilon = 0;
  /// Threads of a team (RowTeams.h).
  unsigned team = 0;
};

/// x, weight, [bias] -> y, [mean], rstd
template <typename S, int vectors, bool centred> SLUICE_DEVICE void denseNorm(const DenseNormArgs &args, Lane lane) {
  constexpr int n = vectorWidth<S>;
  // The rounding of the mean is corrected where x has as many digits.
  constexpr bool corrects = centred && n == vectorWidth<StoredF32>;
  const Team team(args.team, lane);
  const float share = 1 / static_cast<float>(args.columns);
  const TeamRows<S, 1, centred ? 2 : 1> rows(team, args.columns, {args.x});
  rows.fetchWeight(0, args.weight);
  if (centred)
    rows.fetchWeight(1, args.bias);
  const unsigned step = static_cast<unsigned>(lane.blocks()) * team.teams;
  rows.template forRows<vectors>(
      static_cast<unsigned>(lane.block()) * team.teams, args.rows, step, [&](unsigned row, bool real, unsigned turn) {
        // Squares; where it corrects also the sum of the differences.
        float x[vectors][n], mean[1] = {}, sums[corrects ? 2 : 1] = {}, shift = 0;
        team.forVectors<vectors>(rows.count, [&](int v, unsigned at) {
          loadVector<S>(rows.row(0, turn), at, x[v]);
          for (int k = 0; k < n; ++k)
            mean[0] += x[v][k];
        });
        if constexpr (centred) {
          team.reduce(mean, Add(), 0);
          mean[0] *= share;
          team.forVectors<vectors>(rows.count, [&](int v, unsigned) {
            for (int k = 0; k < n; ++k) {
              x[v][k] -= mean[0];
              if constexpr (corrects)
                sums[1] += x[v][k];
            }
          });
        }
        team.forVectors<vectors>(rows.count, [&](int v, unsigned) {
          for (int k = 0; k < n; ++k)
            sums[0] += x[v][k] * x[v][k];
        });
        team.reduce(sums, Add(), centred ? 1 : turn);
        if constexpr (corrects) {
          // The mean of the differences corrects the rounding of a mean far above the deviation.
          shift = sums[1] * share;
          sums[0] -= shift * sums[1];
        }
        const float rstd = 1 / rootOf(sums[0] * share + args.epsilon);
        if (!real)
          return;
        team.forVectors<vectors>(rows.count, [&](int v, unsigned at) {
          float weight[n], bias[n];
          loadVector<S>(rows.weight(0), at, weight);
          if (centred)
            loadVector<S>(rows.weight(1), at, bias);
          for (int k = 0; k < n; ++k)
            x[v][k] = centred ? (x[v][k] * rstd - shift * rstd) * weight[k] + bias[k] : x[v][k] * rstd * weight[k];
          storeVector<S>(rowOf<S>(args.y, row, args.columns), at, x[v]);
        });
        if (team.thread == 0) {
          if (centred)
            args.mean[row] = mean[0] + shift;
          args.rstd[row] = rstd;
        }
      });
}

/// The terms of a row's columns: the first four elements of all vectors, then the next four, so that neighbours are
/// stored together.
template <int vectors, int n>
SLUICE_DEVICE void storeTerms(float *to, const float (&terms)[vectors][n], unsigned count, Team team) {
  team.forVectors<vectors>(count, [&](int v, unsigned at) {
    for (int part = 0; part < n / 4; ++part) {
      const float *from = terms[v] + 4 * part;
      const float four[4] = {from[0], from[1], from[2], from[3]};
      storeVector<StoredF32>(to, static_cast<unsigned>(part) * count + at, four);
    }
  });
}
/// Adds the elements of a vector, as they are stored in dx, to sums in the order of storeTerms.
template <typename S, int n> SLUICE_DEVICE void addTerms(float *to, const float (&of)[n], unsigned count, unsigned at) {
  for (int part = 0; part < n / 4; ++part) {
    const unsigned vector = static_cast<unsigned>(part) * count + at;
    const float *from = of + 4 * part;
    float sum[4], terms[4] = {from[0], from[1], from[2], from[3]};
    if constexpr (bytesOfStored<S> != 4)
      for (int k = 0; k < 4; k += 2)
        S::widenWord(S::narrowWord(terms[k], terms[k + 1]), terms[k], terms[k + 1]);
    loadVector<StoredF32>(to, vector, sum);
    for (int k = 0; k < 4; ++k)
      sum[k] += terms[k];
    storeVector<StoredF32>(to, vector, sum);
  }
}
SLUICE_DEVICE unsigned columnOfTerm(unsigned term, unsigned columns, unsigned n) {
  const unsigned count = columns / n;
  return term / 4 % count * n + term / 4 / count * 4 + term % 4;
}

/// dy, x, weight, [mean,] rstd, [addend] -> dx, and the run's part of dweight and dbias
template <typename S, int vectors, bool centred>
SLUICE_DEVICE void denseNormGrad(const DenseNormArgs &args, Lane lane) {
  constexpr int n = vectorWidth<S>, sums = centred ? 2 : 1;
  // The rounding of the mean is corrected where x has as many digits.
  constexpr bool corrects = centred && n == vectorWidth<StoredF32>;
  const unsigned run = static_cast<unsigned>(lane.block());
  const unsigned length = (args.rows + args.runs - 1) / args.runs, begin = run * length;
  const unsigned end = begin + length < args.rows ? begin + length : args.rows;
  const float share = 1 / static_cast<float>(args.columns);
  const Team team(args.team, lane);
  const TeamRows<S, 2, 1> rows(team, args.columns, {args.dy, args.x}, args.addend);
  rows.fetchWeight(0, args.weight);
  // Of the next row, loaded while a row is computed.
  float nextMean = 0, nextRstd = 0;
  const auto loadStatistics = [&](unsigned row) {
    nextMean = centred && row < end ? args.mean[row] : 0;
    nextRstd = row < end ? args.rstd[row] : 0;
  };
  loadStatistics(begin + team.index);
  float ofWeight[vectors][n] = {}, ofBias[vectors][n] = {};
  // The teams' sums of dx, after their rows.
  const auto sumsOf = [&](unsigned index) {
    return reinterpret_cast<float *>(rows.ofTeam(team.teams)) + index * args.columns;
  };
  const bool sumsDx = centred && args.sumsDx;
  if (sumsDx) {
    const float zeros[vectors][n] = {};
    storeTerms<vectors, n>(sumsOf(team.index), zeros, rows.count, team);
  }
  rows.template forRows<vectors>(begin, end, team.teams, [&](unsigned row, bool real, unsigned turn) {
    const float mean = nextMean, rstd = nextRstd;
    loadStatistics(row + team.teams);
    // dy * weight by h; their sum; the differences to the mean.
    float of[corrects ? 3 : sums] = {};
    team.forVectors<vectors>(rows.count, [&](int v, unsigned at) {
      float dy[n], x[n], weight[n];
      loadVector<S>(rows.row(0, turn), at, dy);
      loadVector<S>(rows.row(1, turn), at, x);
      loadVector<S>(rows.weight(0), at, weight);
      for (int k = 0; k < n; ++k) {
        const float h = (x[k] - mean) * rstd, g = dy[k] * weight[k];
        ofWeight[v][k] += dy[k] * h;
        ofBias[v][k] += dy[k];
        of[0] += g * h;
        if constexpr (centred)
          of[1] += g;
        if constexpr (corrects)
          of[2] += x[k] - mean;
      }
    });
    team.reduce(of, Add(), turn);
    float shift = 0, offset = 0;
    if constexpr (corrects) {
      shift = of[2] * share;
      of[0] -= shift * rstd * of[1];
    }
    const float slope = of[0] * share * rstd * rstd;
    if constexpr (centred)
      offset = of[1] * share * rstd - shift * slope;
    if (!real)
      return;
    if (args.addend)
      rows.waitForLate();
    // Loaded again: the registers are for the terms of dweight and dbias.
    team.forVectors<vectors>(rows.count, [&](int v, unsigned at) {
      float dy[n], x[n], weight[n];
      loadVector<S>(rows.row(0, turn), at, dy);
      loadVector<S>(rows.row(1, turn), at, x);
      loadVector<S>(rows.weight(0), at, weight);
      for (int k = 0; k < n; ++k) {
        if constexpr (corrects)
          ofWeight[v][k] -= dy[k] * (shift * rstd);
        x[k] = dy[k] * weight[k] * rstd - ((x[k] - mean) * slope + offset);
      }
      if (args.addend) {
        loadVector<S>(rows.late(), at, dy);
        for (int k = 0; k < n; ++k)
          x[k] += dy[k];
      }
      storeVector<S>(rowOf<S>(args.y, row, args.columns), at, x);
      if (sumsDx)
        addTerms<S>(sumsOf(team.index), x, rows.count, at);
    });
  });
  // The teams' terms in the memory of their rows, then their sums.
  const auto termsOf = [&](unsigned index) { return reinterpret_cast<float *>(rows.ofTeam(index)); };
  lane.sync();
  storeTerms<vectors, n>(termsOf(team.index), ofWeight, rows.count, team);
  if (centred)
    storeTerms<vectors, n>(termsOf(team.index) + args.columns, ofBias, rows.count, team);
  lane.sync();
  const unsigned fours = args.columns / 4;
  for (int s = 0; s < sums + (sumsDx ? 1 : 0); ++s)
    for (unsigned at = static_cast<unsigned>(lane.thread()); at < fours; at += team.threads * team.teams) {
      const auto termsAt = [&](unsigned t) {
        return s < sums ? termsOf(t) + static_cast<unsigned>(s) * args.columns : sumsOf(t);
      };
      float total[4], of[4];
      loadVector<StoredF32>(termsAt(0), at, total);
      for (unsigned t = 1; t < team.teams; ++t) {
        loadVector<StoredF32>(termsAt(t), at, of);
        for (int k = 0; k < 4; ++k)
          total[k] += of[k];
      }
      storeVector<StoredF32>(args.partial + (std::uint64_t(s) * args.runs + run) * args.columns, at, total);
    }
}

/// dweight, dbias and the sums of dx, each by a set of blocks.
SLUICE_DEVICE void denseNormGradEnd(const DenseNormArgs &args, Lane lane) {
  const unsigned tiles = (args.columns + warpSize - 1) / warpSize, block = static_cast<unsigned>(lane.block());
  const unsigned which = block / tiles;
  const unsigned term = block % tiles * warpSize + static_cast<unsigned>(lane.thread()) % warpSize;
  const bool real = term < args.columns;
  const float *partial = args.partial + std::uint64_t(which) * args.runs * args.columns;
  const float sum = sumOfRuns(partial, args.runs, args.columns, term, real, lane);
  const View &to = which == 0 ? args.dweight : which == 1 ? args.dbias : args.dsum;
  if (real && lane.thread() < warpSize)
    writeResult(to, columnOfTerm(term, args.columns, args.width) * to.strides[0], sum,
                which == 0   ? args.addsWeight
                : which == 1 ? args.addsBias
                             : args.addsSum);
}

template <typename S, int vectors> SLUICE_DEVICE void denseLayerNorm(const DenseNormArgs &args, Lane lane) {
  denseNorm<S, vectors, true>(args, lane);
}
template <typename S, int vectors> SLUICE_DEVICE void denseRmsNorm(const DenseNormArgs &args, Lane lane) {
  denseNorm<S, vectors, false>(args, lane);
}
template <typename S, int vectors> SLUICE_DEVICE void denseLayerNormGrad(const DenseNormArgs &args, Lane lane) {
  denseNormGrad<S, vectors, true>(args, lane);
}
template <typename S, int vectors> SLUICE_DEVICE void denseRmsNormGrad(const DenseNormArgs &args, Lane lane) {
  denseNormGrad<S, vectors, false>(args, lane);
}

} // namespace sluice::cuda

/// Kernels of one type with a, b or c vectors of a thread.
#define SLUICE_ROW_PARTS_OF(X, name, Args, S, stored, a, b, c)                                                         \
  X(sluice_##name##a##_##stored, name<S SLUICE_COMMA a>, Args)                                                         \
  X(sluice_##name##b##_##stored, name<S SLUICE_COMMA b>, Args)                                                         \
  X(sluice_##name##c##_##stored, name<S SLUICE_COMMA c>, Args)
/// Kernels of 16-bit types with 2, 3 or 4 vectors of a thread, and of f32 with a, b or c.
#define SLUICE_ROW_PARTS(X, name, Args, a, b, c)                                                                       \
  SLUICE_ROW_PARTS_OF(X, name, Args, StoredF32, f32, a, b, c)                                                          \
  SLUICE_ROW_PARTS_OF(X, name, Args, StoredBf16, bf16, 2, 3, 4)                                                        \
  SLUICE_ROW_PARTS_OF(X, name, Args, StoredF16, f16, 2, 3, 4)
#define SLUICE_DENSE_NORM_KERNELS(X)                                                                                   \
  SLUICE_ROW_PARTS(X, denseLayerNorm, DenseNormArgs, 4, 6, 8)                                                          \
  SLUICE_ROW_PARTS(X, denseRmsNorm, DenseNormArgs, 4, 6, 8)                                                            \
  SLUICE_ROW_PARTS(X, denseLayerNormGrad, DenseNormArgs, 2, 3, 4)                                                      \
  SLUICE_ROW_PARTS(X, denseRmsNormGrad, DenseNormArgs, 2, 3, 4)                                                        \
  X(sluice_denseNormGradEnd, denseNormGradEnd, DenseNormArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSENORMS_H
