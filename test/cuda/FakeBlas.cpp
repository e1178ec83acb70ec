//===- FakeBlas.cpp - cuBLASLt in plain loops ---------------------------------------------===//
//
// Written from cuBLASLt's documentation and not from Sluice's use of it: matrices are column-major with a leading
// dimension, D = alpha op(A) op(B) + beta C, a bias has one element for each row of D. Of an epilogue with gelu the
// matrix of gelu's inputs is of D's type; it is written before D is rounded, and its address and leading dimension are
// multiples of 16 bytes and of 8 elements.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/Numbers.h"
#include "test/cuda/Fake.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

namespace sluice::test {

bool fakeTimesAlgorithms = false;
bool fakeLacksGelu = false;

namespace {

using namespace cuda;

struct FakeDesc {
  int compute = 0, scale = 0;
  std::int32_t pointerMode = 0;
  std::int32_t transposeA = 0, transposeB = 0;
  std::uint32_t epilogue = blas::epilogueDefault;
  const void *bias = nullptr;
  std::int32_t biasType = -1;
  void *aux = nullptr;
  std::int64_t auxLeading = 0;
  /// SMs to use; 0: all.
  std::int32_t smCount = 0;
  bool usesAux() const {
    return epilogue == blas::epilogueGeluAux || epilogue == blas::epilogueGeluAuxBias ||
           epilogue == blas::epilogueGeluGrad;
  }
  bool usesBias() const { return epilogue == blas::epilogueBias || epilogue == blas::epilogueGeluAuxBias; }
};
struct FakeLayout {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int32_t batches = 1;
  std::int64_t stride = 0;
};
struct FakePreference {
  std::uint64_t workspace = 0;
  std::uint32_t reductions = 3;
};

DType dtypeOf(int type) {
  return type == blas::typeF64    ? DType::f64
         : type == blas::typeF16  ? DType::f16
         : type == blas::typeBf16 ? DType::bf16
                                  : DType::f32;
}

struct Matrix {
  const void *data;
  FakeLayout layout;
  bool transposed;
  std::uint64_t rows() const { return transposed ? layout.columns : layout.rows; }
  std::uint64_t columns() const { return transposed ? layout.rows : layout.columns; }
  double at(std::int64_t batch, std::uint64_t row, std::uint64_t column) const {
    if (transposed)
      std::swap(row, column);
    return cpu::loadNumber(data, dtypeOf(layout.type),
                           batch * layout.stride + static_cast<std::int64_t>(row) +
                               static_cast<std::int64_t>(column) * layout.leading);
  }
};

/// Of gelu in its tanh form: x / 2 (1 + tanh(u)).
double geluInner(double x) { return 0.79788456080286535588 * (x + 0.044715 * x * x * x); }
double gelu(double x) { return 0.5 * x * (1 + std::tanh(geluInner(x))); }
double geluSlope(double x) {
  const double t = std::tanh(geluInner(x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.79788456080286535588 * (1 + 3 * 0.044715 * x * x);
}

/// `value` rounded to a type of the library.
double asStored(double value, int type) {
  double bits = 0;
  cpu::storeNumber(&bits, dtypeOf(type), 0, value);
  return cpu::loadNumber(&bits, dtypeOf(type), 0);
}

void multiply(const FakeDesc &desc, const Matrix &a, const Matrix &b, double alpha, double beta, const Matrix &c,
              void *d, const FakeLayout &dLayout) {
  // The library on Hopper rounds the product before it adds it to D in place, if beta is 1 and in host memory.
  const bool addsRounded = beta == 1 && desc.pointerMode == 0 && c.data == d &&
                           (dLayout.type == blas::typeBf16 || dLayout.type == blas::typeF16);
  for (std::int64_t batch = 0; batch < dLayout.batches; ++batch)
    for (std::uint64_t column = 0; column < dLayout.columns; ++column)
      for (std::uint64_t row = 0; row < dLayout.rows; ++row) {
        double sum = 0;
        for (std::uint64_t k = 0; k < a.columns(); ++k)
          sum += a.at(batch, row, k) * b.at(batch, k, column);
        double value = alpha * sum;
        if (desc.usesBias())
          value += cpu::loadNumber(desc.bias, dtypeOf(desc.biasType < 0 ? dLayout.type : desc.biasType),
                                   static_cast<std::int64_t>(row));
        if (beta != 0)
          value = (addsRounded ? asStored(value, dLayout.type) : value) + beta * c.at(batch, row, column);
        const std::int64_t beside =
            static_cast<std::int64_t>(row) + static_cast<std::int64_t>(column) * desc.auxLeading;
        if (desc.epilogue == blas::epilogueGeluGrad) {
          value *= geluSlope(cpu::loadNumber(desc.aux, dtypeOf(dLayout.type), beside));
        } else if (desc.usesAux()) {
          cpu::storeNumber(desc.aux, dtypeOf(dLayout.type), beside, value);
          value = gelu(value);
        }
        cpu::storeNumber(d, dtypeOf(dLayout.type),
                         batch * dLayout.stride + static_cast<std::int64_t>(row) +
                             static_cast<std::int64_t>(column) * dLayout.leading,
                         value);
      }
}

/// Its algorithms: number 0 splits sums over blocks, each later one takes less time.
constexpr std::uint64_t algorithms = 4, algorithmTag = 0xa190;

/// The documentation's requirements on GELU's input; f64 has no such epilogue.
bool fitsAux(const FakeDesc &desc, const FakeLayout &d) {
  return !desc.usesAux() || (d.type != blas::typeF64 && d.batches == 1 && desc.aux &&
                             reinterpret_cast<std::uintptr_t>(desc.aux) % 16 == 0 && desc.auxLeading % 8 == 0 &&
                             desc.auxLeading >= static_cast<std::int64_t>(d.rows));
}

bool fits(const FakeLayout &layout) {
  return layout.leading >= static_cast<std::int64_t>(layout.rows) && layout.rows && layout.columns;
}

} // namespace

void fillFakeBlas(cuda::Blas &b) {
  b.create = [](blas::Handle *handle) -> Code {
    static int one;
    return *handle = &one, 0;
  };
  b.destroy = [](blas::Handle) -> Code { return 0; };
  b.descCreate = [](blas::MatmulDesc *desc, int compute, int scale) -> Code {
    auto *made = new FakeDesc;
    made->compute = compute;
    made->scale = scale;
    return *desc = made, 0;
  };
  b.descDestroy = [](blas::MatmulDesc desc) -> Code { return delete static_cast<FakeDesc *>(desc), 0; };
  b.descSet = [](blas::MatmulDesc desc, int attribute, const void *value, std::size_t bytes) -> Code {
    auto &set = *static_cast<FakeDesc *>(desc);
    void *to = attribute == blas::descTransposeA      ? static_cast<void *>(&set.transposeA)
               : attribute == blas::descTransposeB    ? static_cast<void *>(&set.transposeB)
               : attribute == blas::descPointerMode   ? static_cast<void *>(&set.pointerMode)
               : attribute == blas::descEpilogue      ? static_cast<void *>(&set.epilogue)
               : attribute == blas::descBiasType      ? static_cast<void *>(&set.biasType)
               : attribute == blas::descBiasPointer   ? static_cast<void *>(&set.bias)
               : attribute == blas::descSmCountTarget ? static_cast<void *>(&set.smCount)
               : attribute == blas::descAuxPointer    ? static_cast<void *>(&set.aux)
               : attribute == blas::descAuxLeading    ? static_cast<void *>(&set.auxLeading)
                                                      : nullptr;
    const bool isLong =
        attribute == blas::descBiasPointer || attribute == blas::descAuxPointer || attribute == blas::descAuxLeading;
    if (!to || bytes != (isLong ? 8 : 4))
      return 7;
    return std::memcpy(to, value, bytes), 0;
  };
  b.layoutCreate = [](blas::Layout *layout, int type, std::uint64_t rows, std::uint64_t columns,
                      std::int64_t leading) -> Code {
    auto *made = new FakeLayout;
    *made = {type, rows, columns, leading, 1, 0};
    return *layout = made, 0;
  };
  b.layoutDestroy = [](blas::Layout layout) -> Code { return delete static_cast<FakeLayout *>(layout), 0; };
  b.layoutSet = [](blas::Layout layout, int attribute, const void *value, std::size_t bytes) -> Code {
    auto &set = *static_cast<FakeLayout *>(layout);
    if (attribute == blas::layoutBatchCount && bytes == 4)
      return std::memcpy(&set.batches, value, 4), 0;
    if (attribute == blas::layoutBatchStride && bytes == 8)
      return std::memcpy(&set.stride, value, 8), 0;
    return 7;
  };
  b.preferenceCreate = [](blas::Preference *preference) -> Code { return *preference = new FakePreference, 0; };
  b.preferenceDestroy = [](blas::Preference preference) -> Code {
    return delete static_cast<FakePreference *>(preference), 0;
  };
  b.preferenceSet = [](blas::Preference preference, int attribute, const void *value, std::size_t bytes) -> Code {
    if (attribute >= blas::preferAlignmentA && attribute <= blas::preferAlignmentD && bytes == 4)
      return 0;
    if (attribute == blas::preferReductions && bytes == 4)
      return std::memcpy(&static_cast<FakePreference *>(preference)->reductions, value, 4), 0;
    if (attribute != blas::preferWorkspace || bytes != 8)
      return 7;
    return std::memcpy(&static_cast<FakePreference *>(preference)->workspace, value, 8), 0;
  };
  b.heuristic = [](blas::Handle, blas::MatmulDesc desc, blas::Layout a, blas::Layout b, blas::Layout c, blas::Layout d,
                   blas::Preference preference, int requested, blas::Heuristic *found, int *count) -> Code {
    for (blas::Layout layout : {a, b, c, d})
      if (!fits(*static_cast<FakeLayout *>(layout)))
        return 7;
    const auto &wanted = *static_cast<FakePreference *>(preference);
    *count = 0;
    if (!fitsAux(*static_cast<FakeDesc *>(desc), *static_cast<FakeLayout *>(d)) ||
        (fakeLacksGelu && static_cast<FakeDesc *>(desc)->usesAux()))
      return 15;
    for (std::uint64_t number = wanted.reductions == 0; number < algorithms && *count < requested; ++number) {
      blas::Heuristic &one = found[(*count)++] = {};
      one.algorithm.data[0] = algorithmTag;
      one.algorithm.data[7] = number;
      // Uses the complete workspace, so that a cap above that of the plan is detected.
      one.workspace = wanted.workspace;
    }
    return 0;
  };
  b.property = [](int property, int *value) -> Code {
    return *value = property == blas::propertyMajor ? 13 : property, 0;
  };
  b.check = [](blas::Handle, blas::MatmulDesc, blas::Layout, blas::Layout, blas::Layout, blas::Layout,
               const blas::Algorithm *algorithm, blas::Heuristic *result) -> Code {
    *result = {};
    return algorithm->data[0] == algorithmTag && algorithm->data[7] < algorithms ? 0 : 7;
  };
  b.matmul = [](blas::Handle, blas::MatmulDesc desc, const void *alpha, const void *a, blas::Layout aLayout,
                const void *b, blas::Layout bLayout, const void *beta, const void *c, blas::Layout cLayout, void *d,
                blas::Layout dLayout, const blas::Algorithm *algorithm, void *workspace, std::size_t workspaceBytes,
                Stream stream) -> Code {
    const FakeDesc described = *static_cast<FakeDesc *>(desc);
    const FakeLayout to = *static_cast<FakeLayout *>(dLayout), from = *static_cast<FakeLayout *>(cLayout);
    const Matrix left{a, *static_cast<FakeLayout *>(aLayout), described.transposeA != 0};
    const Matrix right{b, *static_cast<FakeLayout *>(bLayout), described.transposeB != 0};
    if (left.rows() != to.rows || right.columns() != to.columns || left.columns() != right.rows() ||
        from.rows != to.rows || from.columns != to.columns || left.layout.batches != to.batches ||
        right.layout.batches != to.batches || from.batches != to.batches)
      return fakeComplain("a product of layouts that do not fit"), 7;
    if (!fitsAux(described, to))
      return fakeComplain("a product with gelu's matrix where it may not be"), 7;
    // The library (13.1) returns an invalid value, also if the algorithm has no use for the workspace.
    if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
      return fakeComplain("a product whose workspace is not aligned to 256 bytes"), 7;
    const bool wide = described.scale == blas::typeF64;
    const double factor = wide ? *static_cast<const double *>(alpha) : *static_cast<const float *>(alpha);
    const double keep = wide ? *static_cast<const double *>(beta) : *static_cast<const float *>(beta);
    FakeCall call;
    call.kind = FakeCall::Kind::matmul;
    call.addresses = {d, a, b, c, described.bias, described.usesAux() ? described.aux : nullptr};
    call.op = static_cast<int>(algorithm->data[7]);
    call.smCount = described.smCount;
    call.counts = {to.rows, to.columns, left.columns(), static_cast<std::uint64_t>(to.batches)};
    const bool slow = fakeTimesAlgorithms && call.op > 0;
    return fakeEnqueue(stream, std::move(call), [=, number = call.op] {
      if (slow)
        std::this_thread::sleep_for(std::chrono::milliseconds(2 * (static_cast<int>(algorithms) - number)));
      if (workspace)
        std::memset(workspace, 0x77, workspaceBytes);
      multiply(described, left, right, factor, keep, {c, from, false}, d, to);
    });
  };
}

} // namespace sluice::test
