//===- DenseSoftmax.h - softmax over dense rows --------------------------------------------------===//
//
// The fast form of the softmax of Rows.h, by teams of threads (RowTeams.h). The result may be in the memory of an
// operand.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSESOFTMAX_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSESOFTMAX_H

#include "runtime/kernel/cuda/device/DenseNorms.h"
#include "runtime/kernel/cuda/device/Exponential.h"

namespace sluice::cuda {

struct DenseSoftmaxArgs {
  /// x -> y, or dy, y -> dx.
  const void *first = nullptr, *second = nullptr;
  void *result = nullptr;
  unsigned rows = 0, columns = 0;
  /// Threads of a team.
  unsigned team = 0;
  /// No byte of the arguments is left without a value: tests compare them.
  unsigned padding = 0;
};

/// Leaves NaN to the sum of the row.
struct LargestNumber {
  SLUICE_DEVICE float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <typename S, int vectors> SLUICE_DEVICE void denseSoftmax(const DenseSoftmaxArgs &args, Lane lane) {
  constexpr int n = vectorWidth<S>;
  const Team team(args.team, lane);
  const TeamRows<S, 1, 0> rows(team, args.columns, {args.first});
  const unsigned step = static_cast<unsigned>(lane.blocks()) * team.teams;
  rows.template forRows<vectors>(static_cast<unsigned>(lane.block()) * team.teams, args.rows, step,
                                 [&](unsigned row, bool real, unsigned turn) {
                                   float x[vectors][n], largest[1] = {-infinityOf(0.0F)}, sum[1] = {};
                                   team.forVectors<vectors>(rows.count, [&](int v, unsigned at) {
                                     loadVector<S>(rows.row(0, turn), at, x[v]);
                                     for (int k = 0; k < n; ++k)
                                       largest[0] = fmaxf(largest[0], x[v][k]);
                                   });
                                   team.reduce(largest, LargestNumber(), 0);
                                   team.forVectors<vectors>(rows.count, [&](int v, unsigned) {
                                     for (int k = 0; k < n; ++k) {
                                       x[v][k] = probabilityOf<S>(x[v][k] - largest[0]);
                                       sum[0] += x[v][k];
                                     }
                                   });
                                   team.reduce(sum, Add(), 1);
                                   if (!real)
                                     return;
                                   // A division of each element would take longer than its memory.
                                   const float factor = 1 / sum[0];
                                   team.forVectors<vectors>(rows.count, [&](int v, unsigned at) {
                                     for (int k = 0; k < n; ++k)
                                       x[v][k] *= factor;
                                     storeVector<S>(rowOf<S>(args.result, row, args.columns), at, x[v]);
                                   });
                                 });
}

template <typename S, int vectors> SLUICE_DEVICE void denseSoftmaxGrad(const DenseSoftmaxArgs &args, Lane lane) {
  constexpr int n = vectorWidth<S>;
  const Team team(args.team, lane);
  const TeamRows<S, 2, 0> rows(team, args.columns, {args.first, args.second});
  const unsigned step = static_cast<unsigned>(lane.blocks()) * team.teams;
  rows.template forRows<vectors>(static_cast<unsigned>(lane.block()) * team.teams, args.rows, step,
                                 [&](unsigned row, bool real, unsigned turn) {
                                   float sum[1] = {};
                                   const auto load = [&](unsigned at, float (&dy)[n], float (&y)[n]) {
                                     loadVector<S>(rows.row(0, turn), at, dy);
                                     loadVector<S>(rows.row(1, turn), at, y);
                                   };
                                   team.forVectors<vectors>(rows.count, [&](int, unsigned at) {
                                     float dy[n], y[n];
                                     load(at, dy, y);
                                     for (int k = 0; k < n; ++k)
                                       sum[0] += dy[k] * y[k];
                                   });
                                   team.reduce(sum, Add(), turn);
                                   if (!real)
                                     return;
                                   team.forVectors<vectors>(rows.count, [&](int, unsigned at) {
                                     float dy[n], y[n];
                                     load(at, dy, y);
                                     for (int k = 0; k < n; ++k)
                                       y[k] *= dy[k] - sum[0];
                                     storeVector<S>(rowOf<S>(args.result, row, args.columns), at, y);
                                   });
                                 });
}

} // namespace sluice::cuda

#define SLUICE_DENSE_SOFTMAX_KERNELS(X)                                                                                \
  SLUICE_ROW_PARTS(X, denseSoftmax, DenseSoftmaxArgs, 4, 6, 8)                                                         \
  SLUICE_ROW_PARTS(X, denseSoftmaxGrad, DenseSoftmaxArgs, 2, 3, 4)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_DENSESOFTMAX_H
