//===- Matmul.cpp - matrix products by oneDNN ---------------------------------===//
//
// Batches whose rows follow one another are one product. A residual is copied to c and the product added to it. Where
// the library has no bf16 product (no AVX-512), and for f16, operands are widened to f32 in panels that fit a cache,
// each panel's product is the library's f32 product, and the sum is rounded once. So are operands that are broadcast by
// a stride of 0, as the gradient of a sum is, which no library layout has. f64, other strides without a library layout
// and products for which the library has nothing better than a plain loop go to the reference.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/MatmulShape.h"
#include "runtime/kernel/cpu/Onednn.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace sluice::cpu {
namespace {

/// Turns batches with a common b into one product where the rows of a, c and the residual continue at one distance.
void fold(MatmulShape &s) {
  std::int64_t rows = s.m;
  for (int d = s.batchRank - 1; d >= 0; --d) {
    if (s.batchExtent[d] == 1)
      continue;
    if (s.bBatch[d] != 0 || s.aBatch[d] != rows * s.aM || s.cBatch[d] != rows * s.cM ||
        (s.residual >= 0 && s.rBatch[d] != rows * s.rM))
      return;
    rows *= s.batchExtent[d];
  }
  s.m = rows;
  s.batchRank = 0;
}

/// True if a panel can be copied from rows or columns whose elements follow one another or are all the same.
bool hasPanels(std::int64_t rows, std::int64_t columns, std::int64_t rowStride, std::int64_t columnStride) {
  const auto is01 = [](std::int64_t extent, std::int64_t stride) { return extent == 1 || stride == 0 || stride == 1; };
  return is01(columns, columnStride) || is01(rows, rowStride);
}

const char *bytesAt(const Operand &o, std::int64_t offset) {
  return o.as<char>() + offset * static_cast<std::int64_t>(dtypeBytes(o.dtype));
}

/// c = residual where there is one.
void placeResidual(const MatmulShape &s, Call &call, std::int64_t residualAt, std::int64_t cAt) {
  if (s.residual < 0)
    return;
  const Operand &residual = call.inputs[s.residual], &c = call.outputs[0];
  if (bytesAt(residual, residualAt) == bytesAt(c, cAt) && s.rM == s.cM)
    return;
  auto bytes = static_cast<std::int64_t>(dtypeBytes(c.dtype));
  forEach(call.threads, s.m, [&](std::int64_t row) {
    std::memcpy(const_cast<char *>(bytesAt(c, cAt + row * s.cM)), bytesAt(residual, residualAt + row * s.rM),
                static_cast<std::size_t>(s.n * bytes));
  });
}

/// Adds the bias to each row of c.
void addBias(const MatmulShape &s, Call &call, std::int64_t cAt) {
  const float *bias = call.inputs[s.bias].as<float>();
  float *c = call.outputs[0].as<float>() + cAt;
  forEach(call.threads, s.m, [&](std::int64_t row) { loops().f32.addTo(bias, c + row * s.cM, s.n); });
}

/// The library's product, batch by batch. With `biasFirst` the bias is added to c, where the residual is, before it.
Bound direct(const KernelRequest &request, const MatmulShape &s, bool biasFirst,
             std::unique_ptr<LibraryProduct> product) {
  std::shared_ptr<LibraryProduct> shared = std::move(product);
  return makeKernel(request, [s, biasFirst, shared](Call &call) {
    const Operand &a = call.inputs[0], &b = call.inputs[1], &c = call.outputs[0];
    const void *bias = s.bias < 0 || biasFirst ? nullptr : call.inputs[s.bias].data;
    Status status;
    walk<4>(s.batchRank, s.batchExtent, {s.aBatch, s.bBatch, s.cBatch, s.rBatch}, [&](auto &at) {
      if (!status.isOk())
        return;
      placeResidual(s, call, at[3], at[2]);
      if (biasFirst)
        addBias(s, call, at[2]);
      status = shared->run(bytesAt(a, at[0]), bytesAt(b, at[1]), bias, const_cast<char *>(bytesAt(c, at[2])),
                           call.workspace);
    });
    return status;
  });
}

/// The f32 products of full and last panels, by (last m, last n, last k) and whether it is the first along k.
struct PanelProducts {
  std::unique_ptr<LibraryProduct> of[2][2][2][2];
};

/// Widens rows at distance `stride` to rows of f32. With `innerStride` 0 the elements of a row are all the same.
template <typename T>
void widenPanel(const T *from, std::int64_t outer, std::int64_t inner, std::int64_t stride, std::int64_t innerStride,
                float *to, int threads) {
  forEach(threads, outer, [&](std::int64_t i) {
    float *row = to + i * (inner + widenSlack);
    const bool isRepeated = innerStride == 0;
    loops().of<T>().widen(from + i * stride, row, isRepeated ? 1 : inner);
    if (isRepeated)
      std::fill_n(row + 1, inner - 1, row[0]);
  });
}

template <typename T> struct Widened {
  MatmulShape s;
  std::shared_ptr<PanelProducts> products;

  /// A panel keeps the layout of its operand: by rows where the inner stride is 1, else by columns; by rows too where
  /// the inner stride is 0, if the other is not 1.
  static bool byRows(std::int64_t columns, std::int64_t rowStride, std::int64_t columnStride) {
    return columnStride == 1 || ((columns == 1 || columnStride == 0) && rowStride != 1);
  }

  Status panel(Call &call, const T *a, const T *b, std::int64_t cAt, std::int64_t rAt, std::int64_t m0,
               std::int64_t n0) const {
    std::int64_t m = std::min(widenM, s.m - m0), n = std::min(widenN, s.n - n0);
    float *panelA = static_cast<float *>(call.workspace);
    float *panelB = panelA + widenPanelFloats(std::min(s.m, widenM), std::min(s.k, widenK));
    float *panelC = panelB + widenPanelFloats(std::min(s.k, widenK), std::min(s.n, widenN));
    void *scratchpad = panelC + widenPanelFloats(std::min(s.m, widenM), std::min(s.n, widenN));
    for (std::int64_t k0 = 0; k0 < s.k; k0 += widenK) {
      std::int64_t k = std::min(widenK, s.k - k0);
      const T *fromA = a + m0 * s.aM + k0 * s.aK, *fromB = b + k0 * s.bK + n0 * s.bN;
      if (byRows(s.k, s.aM, s.aK))
        widenPanel(fromA, m, k, s.aM, s.aK, panelA, call.threads);
      else
        widenPanel(fromA, k, m, s.aK, s.aM, panelA, call.threads);
      // Panels of b are kept where there is one along k: m runs inside.
      if (m0 > 0 && s.k <= widenK)
        ;
      else if (byRows(s.n, s.bK, s.bN))
        widenPanel(fromB, k, n, s.bK, s.bN, panelB, call.threads);
      else
        widenPanel(fromB, n, k, s.bN, s.bK, panelB, call.threads);
      auto &product = products->of[m < widenM][n < widenN][k < widenK][k0 > 0];
      SLUICE_RETURN_IF_ERROR(product->run(panelA, panelB, nullptr, panelC, scratchpad));
    }
    finish(call, panelC, m, n, cAt + m0 * s.cM + n0, rAt + m0 * s.rM + n0, n0);
    return Status::ok();
  }

  /// Adds bias and residual and rounds once.
  void finish(Call &call, float *panelC, std::int64_t m, std::int64_t n, std::int64_t cAt, std::int64_t rAt,
              std::int64_t n0) const {
    const Operand &c = call.outputs[0];
    auto add = [](const Operand &o, std::int64_t offset, float *to, std::int64_t count) {
      withLoops(o.dtype, [&]<typename R>() { loops().of<R>().addTo(o.as<R>() + offset, to, count); });
    };
    forEach(call.threads, m, [&](std::int64_t row) {
      float *sums = panelC + row * (n + widenSlack);
      if (s.bias >= 0)
        add(call.inputs[s.bias], n0, sums, n);
      if (s.residual >= 0)
        add(call.inputs[s.residual], rAt + row * s.rM, sums, n);
      withLoops(c.dtype, [&]<typename R>() { loops().of<R>().narrow(sums, c.as<R>() + cAt + row * s.cM, n); });
    });
  }

  Status operator()(Call &call) const {
    Status status;
    walk<4>(s.batchRank, s.batchExtent, {s.aBatch, s.bBatch, s.cBatch, s.rBatch}, [&](auto &at) {
      const T *a = call.inputs[0].as<T>() + at[0], *b = call.inputs[1].as<T>() + at[1];
      for (std::int64_t n0 = 0; n0 < s.n; n0 += widenN)
        for (std::int64_t m0 = 0; m0 < s.m; m0 += widenM)
          if (status.isOk())
            status = panel(call, a, b, at[2], at[3], m0, n0);
    });
    return status;
  }
};

template <typename T> Bound widened(const KernelRequest &request, const MatmulShape &s) {
  std::uint64_t panels = widenWorkspace(s.m, s.n, s.k);
  // The cap of an f32 product has panels only where a stride is 0.
  if (std::is_same_v<T, float> && panels > request.workspace)
    return useReference();
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(panels));
  auto products = std::make_shared<PanelProducts>();
  for (int lastM = 0; lastM < 2; ++lastM)
    for (int lastN = 0; lastN < 2; ++lastN)
      for (int lastK = 0; lastK < 2; ++lastK)
        for (int later = 0; later < 2; ++later) {
          LibraryProduct::Problem p{};
          p.m = lastM ? s.m % widenM : widenM;
          p.n = lastN ? s.n % widenN : widenN;
          p.k = lastK ? s.k % widenK : widenK;
          bool occurs = p.m && p.n && p.k && p.m <= s.m && p.n <= s.n && p.k <= s.k &&
                        (later ? s.k > widenK : !lastK || s.k < widenK);
          if (!occurs)
            continue;
          bool aRows = Widened<T>::byRows(s.k, s.aM, s.aK), bRows = Widened<T>::byRows(s.n, s.bK, s.bN);
          p.aM = aRows ? p.k + widenSlack : 1, p.aK = aRows ? 1 : p.m + widenSlack;
          p.bK = bRows ? p.n + widenSlack : 1, p.bN = bRows ? 1 : p.k + widenSlack;
          p.cM = p.n + widenSlack;
          p.input = p.output = DType::f32;
          p.accumulate = later;
          p.threads = std::max(1, request.threads);
          p.scratchpad = request.workspace - panels;
          auto &product = products->of[lastM][lastN][lastK][later];
          SLUICE_ASSIGN_OR_RETURN(product, LibraryProduct::make(p));
          if (!product)
            return useReference();
        }
  return makeKernel(request, Widened<T>{s, products});
}

} // namespace

Bound fast::matmul(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(MatmulShape s, MatmulShape::of(request));
  const Operand &a = request.inputs[0], &c = request.outputs[0];
  fold(s);
  bool fits = s.m && s.n && s.k && s.batches() && hasPanels(s.m, s.k, s.aM, s.aK) && hasPanels(s.k, s.n, s.bK, s.bN) &&
              (s.cN == 1 || s.n == 1) && (s.m == 1 || s.cM >= s.n) && a.dtype != DType::f64 && c.dtype != DType::f64;
  for (int i : {s.bias, s.residual})
    fits = fits && (i < 0 || (contiguousRows(request.inputs[i]) && request.inputs[i].dtype != DType::f64));
  if (!fits)
    return useReference();
  bool sameTypes = s.residual < 0 || request.inputs[s.residual].dtype == c.dtype;
  bool f32 =
      a.dtype == DType::f32 && c.dtype == DType::f32 && (s.bias < 0 || request.inputs[s.bias].dtype == DType::f32);
  // The library has no f16.
  bool bf16 =
      a.dtype == DType::bf16 && c.dtype != DType::f16 && (s.bias < 0 || request.inputs[s.bias].dtype != DType::f16);
  const bool hasLayout = hasLibraryLayout(s.m, s.k, s.aM, s.aK) && hasLibraryLayout(s.k, s.n, s.bK, s.bN);
  if (hasLayout && sameTypes && (f32 || (bf16 && loops().isa == "avx512"))) {
    LibraryProduct::Problem p{s.m, s.n, s.k, s.aM, s.aK, s.bK, s.bN, s.cM, a.dtype, c.dtype};
    p.accumulate = s.residual >= 0;
    // A bias and a sum together cost the library a scratchpad of the size of c; in f32 the bias is added to c first.
    bool biasFirst = f32 && s.bias >= 0 && s.residual >= 0;
    p.bias = s.bias >= 0 && !biasFirst;
    if (p.bias)
      p.biasType = request.inputs[s.bias].dtype;
    p.threads = std::max(1, request.threads);
    p.scratchpad = request.workspace;
    auto product = LibraryProduct::make(p);
    if (product.isOk() && *product)
      return direct(request, s, biasFirst, std::move(*product));
    if (!product.isOk() && f32)
      return Check(request).refuse(product.status().message());
    if (f32)
      return useReference();
  }
  if (f32 && sameTypes && !hasLayout)
    return widened<float>(request, s);
  if (a.dtype == DType::bf16)
    return widened<Bf16>(request, s);
  if (a.dtype == DType::f16)
    return widened<F16>(request, s);
  return useReference();
}

} // namespace sluice::cpu
