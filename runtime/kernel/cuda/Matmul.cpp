//===- Matmul.cpp - matrix products by cuBLASLt -------------------------------------------------------------===//
//
// The library's matrices are column-major, ours row-major: c^T = op(b)^T op(a)^T is computed, so that b comes first. A
// bias is the product's epilogue, a residual its C. What the library does not take (no dense dim, a mix of types, nothing to
// add up) a kernel of ours does. The library chooses the algorithm by its heuristic, within the plan's workspace, or the fastest of
// its candidates is taken (Algorithms.h).
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/MatmulShape.h"
#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/kernel/cuda/device/Product.h"

#include <algorithm>
#include <optional>

namespace sluice::cuda {
namespace {

using cpu::MatmulShape;

/// A matrix of the library: stored rows x columns with a leading dimension, read as it is or transposed.
struct Stored {
  std::int64_t rows = 0, columns = 0, leading = 0;
  std::int32_t operation = blas::operationN;
};

/// The matrix of `rows` x `columns` whose element (i, j) lies at i rowStride + j columnStride.
std::optional<Stored> storedAs(std::int64_t rows, std::int64_t columns, std::int64_t rowStride, std::int64_t columnStride) {
  // The stride of a dim of one element says nothing.
  if (rowStride == 1 || rows == 1) {
    const std::int64_t leading = columns == 1 ? rows : columnStride;
    if (leading >= rows)
      return Stored{rows, columns, leading, blas::operationN};
  }
  if (columnStride == 1 || columns == 1) {
    const std::int64_t leading = rows == 1 ? columns : rowStride;
    if (leading >= columns)
      return Stored{columns, rows, leading, blas::operationT};
  }
  return std::nullopt;
}

std::optional<int> libraryType(DType dtype) {
  switch (dtype) {
  case DType::f32:
    return blas::typeF32;
  case DType::f64:
    return blas::typeF64;
  case DType::bf16:
    return blas::typeBf16;
  case DType::f16:
    return blas::typeF16;
  default:
    return std::nullopt;
  }
}

/// Descriptors of one product; freed with the kernel.
class Product {
public:
  explicit Product(KernelContext &context) : context(context) {}
  ~Product() {
    const Blas &blas = context.table().blas;
    if (desc)
      blas.descDestroy(desc);
    for (blas::Layout layout : layouts)
      if (layout)
        blas.layoutDestroy(layout);
  }
  Product(const Product &) = delete;
  Product &operator=(const Product &) = delete;

  /// Of batches one behind the other.
  struct Batch {
    std::int32_t count = 1;
    std::int64_t first = 0, second = 0, residual = 0, result = 0;
  };

  /// `residualData`: null where there is no residual.
  Status make(const KernelRequest &request, const Stored &first, const Stored &second, const Stored &residual,
              const Stored &result, const Batch &batch, bool bias, const void *residualData) {
    const Blas &blas = context.table().blas;
    const DType in = request.inputs[0].dtype, out = request.outputs[0].dtype;
    wide = in == DType::f64;
    const int compute = wide ? blas::computeF64 : in == DType::f32 && context.usesTf32() ? blas::computeTf32 : blas::computeF32;
    SLUICE_RETURN_IF_ERROR(
        blasStatus(blas.descCreate(&desc, compute, wide ? blas::typeF64 : blas::typeF32), "cublasLtMatmulDescCreate"));
    SLUICE_RETURN_IF_ERROR(set(blas::descTransposeA, first.operation));
    SLUICE_RETURN_IF_ERROR(set(blas::descTransposeB, second.operation));
    if (bias) {
      SLUICE_RETURN_IF_ERROR(set(blas::descEpilogue, blas::epilogueBias));
      SLUICE_RETURN_IF_ERROR(set(blas::descBiasType, static_cast<std::int32_t>(*libraryType(out))));
      SLUICE_RETURN_IF_ERROR(setBias(request.inputs[2].data));
    }
    const Stored *const stored[] = {&first, &second, &residual, &result};
    const std::int64_t strides[] = {batch.first, batch.second, batch.residual, batch.result};
    for (int i = 0; i < 4; ++i) {
      SLUICE_RETURN_IF_ERROR(blasStatus(blas.layoutCreate(&layouts[i], *libraryType(i < 2 ? in : out),
                                                          static_cast<std::uint64_t>(stored[i]->rows),
                                                          static_cast<std::uint64_t>(stored[i]->columns), stored[i]->leading),
                                        "cublasLtMatrixLayoutCreate"));
      if (batch.count == 1)
        continue;
      SLUICE_RETURN_IF_ERROR(blasStatus(blas.layoutSet(layouts[i], blas::layoutBatchCount, &batch.count, sizeof batch.count),
                                        "cublasLtMatrixLayoutSetAttribute"));
      SLUICE_RETURN_IF_ERROR(blasStatus(blas.layoutSet(layouts[i], blas::layoutBatchStride, &strides[i], sizeof strides[i]),
                                        "cublasLtMatrixLayoutSetAttribute"));
    }
    if (!context.algorithms())
      return choose(request);
    // Whatever the choice may depend on, in a word.
    std::string problem = std::string(dtypeName(in)) + "," + std::string(dtypeName(out)) + "," + std::to_string(compute) + (bias ? ",bias" : "") +
                          (residualData ? ",residual" : "");
    for (int i = 0; i < 4; ++i)
      problem += "," + std::to_string(stored[i]->rows) + "x" + std::to_string(stored[i]->columns) + "/" + std::to_string(stored[i]->leading) +
                 (stored[i]->operation == blas::operationT ? "t" : "") +
                 (batch.count == 1 ? "" : "*" + std::to_string(batch.count) + "@" + std::to_string(strides[i]));
    for (const Operand *operand : {&request.inputs[1], &request.inputs[0], &request.outputs[0]})
      problem += "," + std::to_string(alignmentOf(*operand));
    problem += "," + std::to_string(request.workspace);
    SLUICE_ASSIGN_OR_RETURN(const std::optional<AlgorithmChoice> kept, context.algorithms()->choose(problem, [&] {
      return measure(request, bias ? request.inputs[2].data : nullptr, residualData);
    }));
    return kept ? take(request, *kept) : choose(request);
  }

  Status run(const void *first, const void *second, const void *residual, const void *bias, void *result, void *workspace,
             Stream stream) {
    const Table &table = context.table();
    if (bias)
      SLUICE_RETURN_IF_ERROR(setBias(bias));
    const float one = 1, keep = residual ? 1 : 0;
    const double wideOne = 1, wideKeep = keep;
    return blasStatus(table.blas.matmul(context.blasHandle(), desc, wide ? static_cast<const void *>(&wideOne) : &one, first,
                                        layouts[0], second, layouts[1], wide ? static_cast<const void *>(&wideKeep) : &keep,
                                        residual ? residual : result, residual ? layouts[2] : layouts[3], result, layouts[3],
                                        &algorithm, workspace, workspaceBytes, stream),
                      "cublasLtMatmul");
  }

private:
  template <typename T> Status set(int attribute, T value) {
    return blasStatus(context.table().blas.descSet(desc, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
  Status setBias(const void *address) { return set(blas::descBiasPointer, address); }

  static std::uint32_t alignmentOf(const Operand &operand) {
    std::uint32_t alignment = 16;
    while (reinterpret_cast<std::uintptr_t>(operand.data) % alignment != 0)
      alignment /= 2;
    return alignment;
  }

  /// A choice that was kept; the library says whether it is one of its own.
  Status take(const KernelRequest &request, const AlgorithmChoice &kept) {
    blas::Heuristic result{};
    const Code code = context.table().blas.check(context.blasHandle(), desc, layouts[0], layouts[1], layouts[2], layouts[3], &kept.algorithm, &result);
    if (code != 0 || result.workspace > request.workspace || kept.workspace > request.workspace || result.workspace > kept.workspace)
      return refusedError("kernel 'matmul' algorithm of the file of algorithms, expected one of this cublasLt within " +
                          std::to_string(request.workspace) + " bytes but got another");
    algorithm = kept.algorithm;
    workspaceBytes = static_cast<std::size_t>(kept.workspace);
    return {};
  }

  /// The fastest of the library's candidates, each timed a few times on the operands' memory, in which nothing is yet.
  Result<AlgorithmChoice> measure(const KernelRequest &request, const void *bias, const void *residual) {
    std::vector<blas::Heuristic> candidates;
    SLUICE_RETURN_IF_ERROR(findCandidates(request, true, candidates));
    const Driver &driver = context.table().driver;
    const auto checked = [&](Code code, std::string_view call) { return driverStatus(context.table(), code, call); };
    DevicePointer scratch = 0;
    Stream stream = nullptr;
    Event begin = nullptr, end = nullptr;
    AlgorithmChoice best;
    float least = 0;
    const auto time = [&]() -> Status {
      if (request.workspace > 0)
        SLUICE_RETURN_IF_ERROR(checked(driver.allocate(&scratch, request.workspace), "cuMemAlloc of scratch memory to time products with"));
      SLUICE_RETURN_IF_ERROR(checked(driver.streamCreate(&stream, streamNonBlocking, 0), "cuStreamCreateWithPriority"));
      SLUICE_RETURN_IF_ERROR(checked(driver.eventCreate(&begin, eventDefault), "cuEventCreate"));
      SLUICE_RETURN_IF_ERROR(checked(driver.eventCreate(&end, eventDefault), "cuEventCreate"));
      for (const blas::Heuristic &candidate : candidates) {
        algorithm = candidate.algorithm;
        workspaceBytes = candidate.workspace;
        float own = 0;
        // The first time loads its code.
        for (int n = 0; n < 4; ++n) {
          float milliseconds = 0;
          SLUICE_RETURN_IF_ERROR(checked(driver.eventRecord(begin, stream), "cuEventRecord"));
          SLUICE_RETURN_IF_ERROR(run(request.inputs[1].data, request.inputs[0].data, residual, bias, request.outputs[0].data,
                                     reinterpret_cast<void *>(scratch), stream));
          SLUICE_RETURN_IF_ERROR(checked(driver.eventRecord(end, stream), "cuEventRecord"));
          SLUICE_RETURN_IF_ERROR(checked(driver.streamSynchronize(stream), "cuStreamSynchronize"));
          SLUICE_RETURN_IF_ERROR(checked(driver.eventElapsed(&milliseconds, begin, end), "cuEventElapsedTime"));
          own = n < 2 ? milliseconds : std::min(own, milliseconds);
        }
        if (&candidate == &candidates.front() || own < least) {
          least = own;
          best = {candidate.algorithm, candidate.workspace};
        }
      }
      return {};
    };
    Status timed = time();
    if (begin)
      driver.eventDestroy(begin);
    if (end)
      driver.eventDestroy(end);
    if (stream)
      driver.streamDestroy(stream);
    if (scratch)
      driver.release(scratch);
    SLUICE_RETURN_IF_ERROR(timed);
    return best;
  }

  /// The library's first choice that fits the workspace.
  Status choose(const KernelRequest &request) {
    std::vector<blas::Heuristic> candidates;
    SLUICE_RETURN_IF_ERROR(findCandidates(request, false, candidates));
    algorithm = candidates[0].algorithm;
    workspaceBytes = candidates[0].workspace;
    return {};
  }

  /// The first choice, or `several` that add a sum up in one place. At least one.
  Status findCandidates(const KernelRequest &request, bool several, std::vector<blas::Heuristic> &candidates) {
    const Blas &blas = context.table().blas;
    blas::Preference preference = nullptr;
    SLUICE_RETURN_IF_ERROR(blasStatus(blas.preferenceCreate(&preference), "cublasLtMatmulPreferenceCreate"));
    const std::uint64_t most = request.workspace;
    Code code = blas.preferenceSet(preference, blas::preferWorkspace, &most, sizeof most);
    const Operand *const operands[] = {&request.inputs[1], &request.inputs[0], &request.outputs[0], &request.outputs[0]};
    for (int i = 0; i < 4 && code == 0; ++i) {
      // As the addresses are; the library would take them for better.
      const std::uint32_t alignment = alignmentOf(*operands[i]);
      code = blas.preferenceSet(preference, blas::preferAlignmentA + i, &alignment, sizeof alignment);
    }
    const std::uint32_t inOnePlace = 0;
    if (several && code == 0)
      code = blas.preferenceSet(preference, blas::preferReductions, &inOnePlace, sizeof inOnePlace);
    candidates.resize(several ? 8 : 1);
    int count = 0;
    if (code == 0)
      code = blas.heuristic(context.blasHandle(), desc, layouts[0], layouts[1], layouts[2], layouts[3], preference,
                            static_cast<int>(candidates.size()), candidates.data(), &count);
    blas.preferenceDestroy(preference);
    SLUICE_RETURN_IF_ERROR(blasStatus(code, "cublasLtMatmulAlgoGetHeuristic"));
    candidates.resize(static_cast<std::size_t>(std::clamp(count, 0, static_cast<int>(candidates.size()))));
    std::erase_if(candidates, [&](const blas::Heuristic &one) { return one.state != 0 || one.workspace > most; });
    if (candidates.empty())
      return refusedError("kernel 'matmul' workspace, expected an algorithm of cublasLt within " + std::to_string(most) +
                          " bytes but it has none");
    return {};
  }

  KernelContext &context;
  blas::MatmulDesc desc = nullptr;
  blas::Layout layouts[4] = {};
  blas::Algorithm algorithm{};
  std::size_t workspaceBytes = 0;
  bool wide = false;
};

/// Any strides, by our own kernel.
Bound plainProduct(const KernelRequest &request, const MatmulShape &s) {
  ProductArgs args;
  args.a = viewOf(request.inputs[0]);
  args.b = viewOf(request.inputs[1]);
  args.c = viewOf(request.outputs[0]);
  args.hasBias = s.bias >= 0;
  args.hasResidual = s.residual >= 0;
  if (args.hasBias)
    args.bias = viewOf(request.inputs[static_cast<std::size_t>(s.bias)]);
  if (args.hasResidual)
    args.residual = viewOf(request.inputs[static_cast<std::size_t>(s.residual)]);
  args.m = s.m, args.n = s.n, args.k = s.k;
  args.aM = s.aM, args.aK = s.aK, args.bK = s.bK, args.bN = s.bN, args.cM = s.cM, args.cN = s.cN;
  args.rM = s.rM, args.rN = s.rN, args.biasN = s.biasN;
  args.batchRank = s.batchRank;
  args.batches = s.batches();
  for (int d = 0; d < s.batchRank; ++d) {
    args.batchExtent[d] = s.batchExtent[d];
    args.aBatch[d] = s.aBatch[d], args.bBatch[d] = s.bBatch[d], args.cBatch[d] = s.cBatch[d], args.rBatch[d] = s.rBatch[d];
  }
  const Operand &bias = request.inputs[static_cast<std::size_t>(std::max(s.bias, 0))];
  const Operand &residual = request.inputs[static_cast<std::size_t>(std::max(s.residual, 0))];
  return oneLaunch<ProductArgs>(
      request, symbol("product", {&request.inputs[0], &request.inputs[1], &request.outputs[0], &bias, &residual}),
      gridFor(*request.cuda, args.batches * args.m * args.n), args,
      [s](ProductArgs &args, const RunAddresses &run) {
        args.a.data = run.inputs[0];
        args.b.data = run.inputs[1];
        args.c.data = run.outputs[0];
        if (s.bias >= 0)
          args.bias.data = run.inputs[static_cast<std::size_t>(s.bias)];
        if (s.residual >= 0)
          args.residual.data = run.inputs[static_cast<std::size_t>(s.residual)];
      });
}

/// Batch dims of more than one element, neighbours that lie alike joined.
struct BatchDim {
  std::int64_t extent, a, b, c, r;
};
std::vector<BatchDim> batchDims(const MatmulShape &s) {
  std::vector<BatchDim> dims;
  for (int d = s.batchRank - 1; d >= 0; --d) {
    if (s.batchExtent[d] == 1)
      continue;
    const BatchDim dim{s.batchExtent[d], s.aBatch[d], s.bBatch[d], s.cBatch[d], s.residual >= 0 ? s.rBatch[d] : 0};
    if (!dims.empty()) {
      BatchDim &inner = dims.back();
      if (dim.a == inner.a * inner.extent && dim.b == inner.b * inner.extent && dim.c == inner.c * inner.extent &&
          dim.r == inner.r * inner.extent) {
        inner.extent *= dim.extent;
        continue;
      }
    }
    dims.push_back(dim);
  }
  return dims;
}

bool libraryTakes(const KernelRequest &request, const MatmulShape &s) {
  const DType in = request.inputs[0].dtype, out = request.outputs[0].dtype;
  const bool half = in == DType::bf16 || in == DType::f16;
  if (!libraryType(in) || !(in == out || (half && out == DType::f32)))
    return false;
  for (const int extra : {s.bias, s.residual})
    if (extra >= 0 && request.inputs[static_cast<std::size_t>(extra)].dtype != out)
      return false;
  return s.m > 0 && s.n > 0 && s.k > 0 && s.batches() > 0 && (s.bias < 0 || s.biasN == 1 || s.n == 1);
}

Bound matmul(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("matmul", request));
  SLUICE_ASSIGN_OR_RETURN(MatmulShape s, MatmulShape::of(request));
  if (!libraryTakes(request, s))
    return plainProduct(request, s);
  std::vector<BatchDim> dims = batchDims(s);
  // Batches whose rows follow one another, with one b for all, are one product.
  if (!dims.empty() && dims[0].b == 0 && dims[0].a == s.m * s.aM && dims[0].c == s.m * s.cM &&
      (s.residual < 0 || dims[0].r == s.m * s.rM)) {
    s.m *= dims[0].extent;
    dims.erase(dims.begin());
  }
  const auto first = storedAs(s.n, s.k, s.bN, s.bK), second = storedAs(s.k, s.m, s.aK, s.aM);
  const auto result = storedAs(s.n, s.m, s.cN, s.cM);
  const auto residual = s.residual >= 0 ? storedAs(s.n, s.m, s.rN, s.rM) : result;
  if (!first || !second || !result || result->operation != blas::operationN || !residual || residual->operation != blas::operationN)
    return plainProduct(request, s.batchRank == 0 ? s : *MatmulShape::of(request));
  Product::Batch batch;
  if (!dims.empty()) {
    batch = {static_cast<std::int32_t>(dims[0].extent), dims[0].b, dims[0].a, dims[0].r, dims[0].c};
    if (s.residual < 0)
      batch.residual = batch.result;
    dims.erase(dims.begin());
  }
  auto product = std::make_shared<Product>(*request.cuda);
  SLUICE_RETURN_IF_ERROR(product->make(request, *first, *second, *residual, *result, batch, s.bias >= 0,
                                       s.residual >= 0 ? request.inputs[static_cast<std::size_t>(s.residual)].data : nullptr));
  // The dims that are left, one product each.
  std::vector<BatchDim> offsets = {{1, 0, 0, 0, 0}};
  for (const BatchDim &dim : dims) {
    std::vector<BatchDim> more;
    for (std::int64_t i = 0; i < dim.extent; ++i)
      for (const BatchDim &at : offsets)
        more.push_back({1, at.a + i * dim.a, at.b + i * dim.b, at.c + i * dim.c, at.r + i * dim.r});
    offsets = std::move(more);
  }
  const auto in = static_cast<std::int64_t>(dtypeBytes(request.inputs[0].dtype));
  const auto out = static_cast<std::int64_t>(dtypeBytes(request.outputs[0].dtype));
  auto list = std::make_unique<LaunchList>(*request.cuda);
  list->addStep([product, offsets = std::move(offsets), in, out, bias = s.bias, residual = s.residual](const RunAddresses &run) {
    const auto input = [&](int i) { return static_cast<char *>(run.inputs[static_cast<std::size_t>(i)]); };
    for (const BatchDim &at : offsets)
      SLUICE_RETURN_IF_ERROR(product->run(input(1) + at.b * in, input(0) + at.a * in, residual >= 0 ? input(residual) + at.r * out : nullptr,
                                          bias >= 0 ? input(bias) : nullptr, static_cast<char *>(run.outputs[0]) + at.c * out,
                                          run.workspace, run.stream));
    return Status::ok();
  });
  return std::unique_ptr<BoundKernel>(std::move(list));
}

} // namespace

CudaKernels matmulKernels() {
  static constexpr CudaKernel kernels[] = {{"matmul", matmul}};
  return kernels;
}

} // namespace sluice::cuda
