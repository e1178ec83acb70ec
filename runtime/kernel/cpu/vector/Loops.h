//===- Loops.h - the vectorised inner loops, by instruction set ---------------===//
//
// The loops in this folder are compiled once per instruction set and chosen at run time; nothing is built with
// -march=native. A loop works on contiguous memory and does not depend on operands. Arithmetic is f32; T is float, Bf16
// or F16. Pointers need no alignment.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_VECTOR_LOOPS_H
#define SLUICE_RUNTIME_KERNEL_CPU_VECTOR_LOOPS_H

#include "runtime/kernel/cpu/Numbers.h"

#include <string_view>
#include <utility>

namespace sluice::cpu {

/// Coefficients of one Adam or AdamW update, in f32.
struct AdamStep {
  float clip, decay, oneMinusBeta1, beta2, oneMinusBeta2, inverseRootCorrection2, epsilon, stepSize;
  /// Weight decay added to the gradient (Adam); `decay` multiplies the parameter (AdamW).
  float gradientDecay;
};

struct SgdStep {
  /// `gain` is the factor of a gradient that is added to the momentum.
  float clip, weightDecay, momentum, gain, learningRate;
  bool nesterov;
};

/// A small dense product: c[m, n] (+)= a[m, k] b[k, n]. `a` has any strides; `b` is packed in panels of `panel` columns
/// at distance `bPanel` floats, each k rows of `panel` floats; `c` has rows of `ldc` floats with room for full panels.
struct TileProduct {
  std::int64_t m, n, k;
  const float *a;
  std::int64_t aM, aK;
  const float *b;
  std::int64_t bPanel;
  float *c;
  std::int64_t ldc;
  bool accumulate;
};

/// Rows that a tile of scores has at most.
inline constexpr int mostScoreRows = 6;

/// Rows of scores against running maxima: p = exp(scale x - maximum') with the larger maximum'; 0 for a score of
/// -infinity.
struct ScoreRows {
  /// The rows at distance `pitch` floats; memory after the last element can be read as a vector.
  float *x;
  std::int64_t pitch;
  int rows;
  /// Columns that each row reads; the others of [from, to) become 0.
  std::int64_t begin[mostScoreRows], end[mostScoreRows], from, to;
  float scale;
  /// Per row: the updated maximum and sum of p, and the factor for earlier values.
  float *maximum, *sum, factor[mostScoreRows];
};

/// Operations of the binary loop; maskPositive: a where b > 0, else 0.
enum class BinaryLoop : std::uint8_t { add, subtract, multiply, divide, maximum, maskPositive };
/// Operations of the unary loop.
enum class UnaryLoop : std::uint8_t { negate, exp, relu, scale, sqrt, rsqrt, tanh, erf, sigmoid, softplus, log };

/// Loops over elements of type T.
template <typename T> struct TypedLoops {
  void (*gelu)(const T *x, T *y, std::int64_t count, bool tanhForm);
  void (*geluGrad)(const T *dy, const T *x, T *dx, std::int64_t count, bool tanhForm);
  void (*softmaxRow)(const T *x, T *y, std::int64_t count);
  void (*softmaxGradRow)(const T *dy, const T *y, T *dx, std::int64_t count);
  /// Logarithm of the sum of exponentials.
  double (*logSumRow)(const T *x, std::int64_t count);
  /// The sum of the elements.
  double (*rowSum)(const T *x, std::int64_t count);
  /// dx = exp(x - logSum) * factor - less
  void (*softmaxScaledRow)(const T *x, T *dx, std::int64_t count, double logSum, float factor, float less);
  void (*layerNormRow)(const T *x, const T *weight, const T *bias, T *y, float *mean, float *rstd, std::int64_t count,
                       double epsilon);
  /// Adds to dweight and dbias, in the order of T's pairs (orderPairs); `addend`, unless null, to dx.
  void (*layerNormGradRow)(const T *dy, const T *x, const T *weight, float mean, float rstd, const T *addend, T *dx,
                           float *dweight, float *dbias, std::int64_t count);
  void (*silu)(const T *x, T *y, std::int64_t count);
  void (*siluGrad)(const T *dy, const T *x, T *dx, std::int64_t count);
  void (*swiglu)(const T *gate, const T *up, T *y, std::int64_t count);
  void (*swigluGrad)(const T *dy, const T *gate, const T *up, T *dgate, T *dup, std::int64_t count);
  void (*rmsNormRow)(const T *x, const T *weight, T *y, float *rstd, std::int64_t count, double epsilon);
  /// Adds to dweight, in the order of T's pairs (orderPairs); `addend`, unless null, to dx.
  void (*rmsNormGradRow)(const T *dy, const T *x, const T *weight, float rstd, const T *addend, T *dx, float *dweight,
                         std::int64_t count);
  /// Moves sums by columns from the order of T's pairs to that of the columns.
  void (*orderPairs)(float *sums, std::int64_t count);
  /// y[i] = x[i] c[i] - x[i + half] s[i], y[i + half] = x[i + half] c[i] + x[i] s[i]; y may be x.
  void (*rotateRow)(const T *x, T *y, const float *cosines, const float *sines, std::int64_t half);
  void (*adam)(const AdamStep &step, float *parameter, const T *gradient, float *average, float *square,
               std::int64_t count);
  void (*sgd)(const SgdStep &step, float *parameter, const T *gradient, float *buffer, std::int64_t count);
  /// Sum of squares, in f64.
  double (*squareSum)(const T *x, std::int64_t count);
  void (*widen)(const T *x, float *y, std::int64_t count);
  void (*narrow)(const float *x, T *y, std::int64_t count);
  /// y = x factor
  void (*scaleTo)(const float *x, float factor, T *y, std::int64_t count);
  /// y += x
  void (*addTo)(const T *x, float *y, std::int64_t count);
  /// Rows in panels, for a product that sums over `size`: panel p holds, for each d, the elements of rows p * panel and
  /// on, zeros beyond the last row.
  void (*packRows)(const T *x, std::int64_t pitch, std::int64_t rows, std::int64_t size, float *out);
  /// Rows in panels over `size`, for a product that sums over rows: panel p holds, for each row, its elements p * panel
  /// and on, zeros beyond the last.
  void (*packColumns)(const T *x, std::int64_t pitch, std::int64_t rows, std::int64_t size, float *out);
  float (*dotRow)(const T *x, const T *y, std::int64_t count);
  /// c[i] = op(a[i * aStep], b[i * bStep]); steps 0 or 1.
  void (*binary)(BinaryLoop op, const T *a, int aStep, const T *b, int bStep, T *c, std::int64_t count);
  /// y[i] = op(x[i]); `factor` is that of scale.
  void (*unary)(UnaryLoop op, const T *x, T *y, std::int64_t count, float factor);
  /// Over rows at distance `pitch`: sums += x - shift, squares += (x - shift)^2.
  void (*shiftedSums)(const T *x, std::int64_t pitch, std::int64_t rows, const float *shift, float *sums,
                      float *squares, std::int64_t count);
  /// y = x * scale + shift
  void (*scaleShiftRow)(const T *x, const float *scale, const float *shift, T *y, std::int64_t count);
  /// sums += dy, products += dy (x - mean)
  void (*channelGradSums)(const T *dy, const T *x, const float *mean, float *sums, float *products, std::int64_t count);
  /// dx = dy * a + x * b + c
  void (*channelGradRow)(const T *dy, const T *x, const float *a, const float *b, const float *c, T *dx,
                         std::int64_t count);
};

struct Loops {
  std::string_view isa;
  TypedLoops<float> f32;
  TypedLoops<Bf16> bf16;
  TypedLoops<F16> f16;
  /// Columns of a packed panel, and rows that the tile product takes at once.
  int panel, rows;
  void (*tileProduct)(const TileProduct &problem);
  void (*scoreRows)(ScoreRows &rows);
  /// p = exp(scale s - logSum) in place of s; ds = scale p (dp - delta) in place of dp.
  void (*scoreGradRow)(float *s, float *dp, std::int64_t count, std::int64_t padded, float scale, float logSum,
                       float delta);
  /// Cosines, and sines times `direction`, of position * frequencies[i].
  void (*rotations)(const double *frequencies, double position, float direction, float *cosines, float *sines,
                    std::int64_t count);

  template <typename T> const TypedLoops<T> &of() const;
};

template <> inline const TypedLoops<float> &Loops::of<float>() const { return f32; }
template <> inline const TypedLoops<Bf16> &Loops::of<Bf16>() const { return bf16; }
template <> inline const TypedLoops<F16> &Loops::of<F16>() const { return f16; }

/// True for the types that there are loops over.
inline bool hasLoops(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16; }
/// body.operator()<T>() with the element type of `dtype`, one that has loops.
template <typename Body> auto withLoops(DType dtype, Body body) {
  if (dtype == DType::bf16)
    return body.template operator()<Bf16>();
  if (dtype == DType::f16)
    return body.template operator()<F16>();
  return body.template operator()<float>();
}

/// The chosen loops, else the best that this machine runs.
const Loops &loops();
/// For the process. Kernels that are already bound may use either (useInstructionSet in runtime/kernel/Kernel.h).
void chooseLoops(const Loops &all);
/// "baseline", "avx2" or "avx512"; null where this machine does not run it.
const Loops *loopsFor(std::string_view isa);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_VECTOR_LOOPS_H
