//===- BlasProduct.cpp - one product of cuBLASLt ----------------------------------------------------------===//
#include "runtime/kernel/cuda/BlasProduct.h"
#include "runtime/base/Half.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace sluice::cuda {
namespace {

std::uint32_t alignmentOf(const Operand &operand) {
  std::uint32_t alignment = 16;
  while (reinterpret_cast<std::uintptr_t>(operand.data) % alignment != 0)
    alignment /= 2;
  return alignment;
}

/// Bytes from an operand's first element to its last.
std::uint64_t spanOf(const Operand &operand) {
  std::int64_t last = 0;
  for (int d = 0; d < operand.rank; ++d) {
    if (operand.extent[d] == 0)
      return 0;
    last += (operand.extent[d] - 1) * operand.strides[d];
  }
  return (static_cast<std::uint64_t>(last) + 1) * dtypeBytes(operand.dtype);
}

/// Normally distributed values, a sequence that repeats.
Status fillRandom(const Table &table, std::span<const Operand> operands, Stream stream) {
  constexpr std::size_t values = 1 << 16;
  for (const Operand &operand : operands) {
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    const std::uint64_t bytes = dtypeBytes(operand.dtype), span = spanOf(operand);
    std::vector<std::byte> pattern(values * bytes);
    for (std::size_t i = 0; i < values; ++i) {
      const auto put = [&](auto value) { std::memcpy(pattern.data() + i * bytes, &value, sizeof value); };
      const float value = normal(engine);
      operand.dtype == DType::f64    ? put(static_cast<double>(value))
      : operand.dtype == DType::bf16 ? put(floatToBf16(value))
      : operand.dtype == DType::f16  ? put(floatToF16(value))
                                     : put(value);
    }
    const auto to = reinterpret_cast<DevicePointer>(operand.data);
    for (std::uint64_t at = 0; at < span; at += pattern.size())
      SLUICE_RETURN_IF_ERROR(driverStatus(table,
                                          table.driver.copy(to + at, reinterpret_cast<DevicePointer>(pattern.data()),
                                                            std::min<std::uint64_t>(pattern.size(), span - at), stream),
                                          "cuMemcpyAsync"));
    SLUICE_RETURN_IF_ERROR(driverStatus(table, table.driver.streamSynchronize(stream), "cuStreamSynchronize"));
  }
  return {};
}

Status fillZero(const Table &table, const KernelRequest &request, Stream stream) {
  for (const std::span<const Operand> operands : {request.inputs.first(2), request.outputs})
    for (const Operand &operand : operands)
      SLUICE_RETURN_IF_ERROR(driverStatus(
          table, table.driver.fill8(reinterpret_cast<DevicePointer>(operand.data), 0, spanOf(operand), stream),
          "cuMemsetD8Async"));
  return driverStatus(table, table.driver.streamSynchronize(stream), "cuStreamSynchronize");
}

} // namespace

std::optional<Stored> storedAs(std::int64_t rows, std::int64_t columns, std::int64_t rowStride,
                               std::int64_t columnStride) {
  // The stride of a dim of one element has no meaning.
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

BlasProduct::~BlasProduct() {
  const Blas &blas = context.table().blas;
  if (desc)
    blas.descDestroy(desc);
  for (blas::Layout layout : layouts)
    if (layout)
      blas.layoutDestroy(layout);
}

/// Sets addresses before the heuristic runs, because it depends on their alignment.
Status BlasProduct::setEpilogue(const KernelRequest &request, bool bias, const GeluEpilogue *gelu,
                                const Stored &geluStored) {
  const std::uint32_t activation = !gelu ? 0 : gelu->isGrad ? blas::epilogueGeluGrad : blas::epilogueGeluAux;
  if (bias || gelu)
    SLUICE_RETURN_IF_ERROR(set(blas::descEpilogue, activation | (bias ? blas::epilogueBias : 0)));
  if (bias) {
    SLUICE_RETURN_IF_ERROR(set(blas::descBiasType, static_cast<std::int32_t>(*libraryType(request.outputs[0].dtype))));
    SLUICE_RETURN_IF_ERROR(set(blas::descBiasPointer, static_cast<const void *>(request.inputs[2].data)));
  }
  if (gelu) {
    SLUICE_RETURN_IF_ERROR(set(blas::descAuxLeading, geluStored.leading));
    SLUICE_RETURN_IF_ERROR(set(blas::descAuxPointer, gelu->x.data));
  }
  return {};
}

Result<bool> BlasProduct::make(const KernelRequest &request, const Stored &first, const Stored &second,
                               const Stored &residual, const Stored &result, const Batch &batch, bool bias,
                               const void *residualData, const GeluEpilogue *gelu, const Stored &geluStored) {
  const Blas &blas = context.table().blas;
  const DType in = request.inputs[0].dtype, out = request.outputs[0].dtype;
  wide = in == DType::f64;
  const int compute = wide                                     ? blas::computeF64
                      : in == DType::f32 && context.usesTf32() ? blas::computeTf32
                                                               : blas::computeF32;
  SLUICE_RETURN_IF_ERROR(
      blasStatus(blas.descCreate(&desc, compute, wide ? blas::typeF64 : blas::typeF32), "cublasLtMatmulDescCreate"));
  // With a beta of 1 on the host and C and D at one address, the library (13.1, Hopper) rounds the product to bf16 or
  // f16 and then adds it to D. It rounds once if C and D have two addresses, or if it does not know beta; bits must not
  // depend on where a plan places the residual.
  if (residualData && dtypeBytes(out) == 2) {
    SLUICE_ASSIGN_OR_RETURN(const DevicePointer one, context.code().global("sluice_one"));
    factors = reinterpret_cast<const void *>(one);
    SLUICE_RETURN_IF_ERROR(set(blas::descPointerMode, blas::pointersOnDevice));
  }
  SLUICE_RETURN_IF_ERROR(set(blas::descTransposeA, first.operation));
  SLUICE_RETURN_IF_ERROR(set(blas::descTransposeB, second.operation));
  SLUICE_RETURN_IF_ERROR(setEpilogue(request, bias, gelu, geluStored));
  const auto sms =
      static_cast<std::int32_t>(std::max(context.multiprocessors() - std::int64_t(request.smMargin), std::int64_t(1)));
  if (request.smMargin != 0)
    SLUICE_RETURN_IF_ERROR(set(blas::descSmCountTarget, sms));
  const Stored *const stored[] = {&first, &second, &residual, &result};
  const std::int64_t strides[] = {batch.first, batch.second, batch.residual, batch.result};
  for (int i = 0; i < 4; ++i) {
    SLUICE_RETURN_IF_ERROR(blasStatus(
        blas.layoutCreate(&layouts[i], *libraryType(i < 2 ? in : out), static_cast<std::uint64_t>(stored[i]->rows),
                          static_cast<std::uint64_t>(stored[i]->columns), stored[i]->leading),
        "cublasLtMatrixLayoutCreate"));
    if (batch.count == 1)
      continue;
    SLUICE_RETURN_IF_ERROR(
        blasStatus(blas.layoutSet(layouts[i], blas::layoutBatchCount, &batch.count, sizeof batch.count),
                   "cublasLtMatrixLayoutSetAttribute"));
    SLUICE_RETURN_IF_ERROR(
        blasStatus(blas.layoutSet(layouts[i], blas::layoutBatchStride, &strides[i], sizeof strides[i]),
                   "cublasLtMatrixLayoutSetAttribute"));
  }
  // Without an algorithm for the epilogue the caller launches GELU separately, whatever a file of algorithms contains.
  if (gelu && !choose(request).isOk())
    return false;
  if (!context.algorithms() || !request.measuresAlgorithm) {
    SLUICE_RETURN_IF_ERROR(gelu ? Status::ok() : choose(request));
    return true;
  }
  // Everything that the choice may depend on, without blanks.
  std::string problem = std::string(dtypeName(in)) + "," + std::string(dtypeName(out)) + "," + std::to_string(compute) +
                        (bias ? ",bias" : "") + (residualData ? ",residual" : "") +
                        (request.smMargin != 0 ? ",sms" + std::to_string(sms) : "");
  if (gelu)
    problem += (gelu->isGrad ? ",gelu_grad/" : ",gelu/") + std::to_string(geluStored.leading);
  for (int i = 0; i < 4; ++i)
    problem += "," + std::to_string(stored[i]->rows) + "x" + std::to_string(stored[i]->columns) + "/" +
               std::to_string(stored[i]->leading) + (stored[i]->operation == blas::operationT ? "t" : "") +
               (batch.count == 1 ? "" : "*" + std::to_string(batch.count) + "@" + std::to_string(strides[i]));
  for (const Operand *operand : {&request.inputs[1], &request.inputs[0], &request.outputs[0]})
    problem += "," + std::to_string(alignmentOf(*operand));
  problem += "," + std::to_string(request.workspace);
  const Addresses at{
      request.inputs[1].data,  request.inputs[0].data,       residualData, bias ? request.inputs[2].data : nullptr,
      request.outputs[0].data, gelu ? gelu->x.data : nullptr};
  SLUICE_ASSIGN_OR_RETURN(const std::optional<AlgorithmChoice> kept,
                          context.algorithms()->choose(problem, [&] { return measure(request, at); }));
  SLUICE_RETURN_IF_ERROR(kept ? take(request, *kept) : choose(request));
  return true;
}

Status BlasProduct::run(const Addresses &at, void *workspace, Stream stream) {
  const Table &table = context.table();
  if (at.bias)
    SLUICE_RETURN_IF_ERROR(set(blas::descBiasPointer, at.bias));
  if (at.gelu)
    SLUICE_RETURN_IF_ERROR(set(blas::descAuxPointer, at.gelu));
  const float one = 1, keep = at.residual ? 1 : 0;
  const double wideOne = 1, wideKeep = keep;
  const void *const alpha = factors ? factors : wide ? static_cast<const void *>(&wideOne) : &one;
  const void *const beta = factors ? factors : wide ? static_cast<const void *>(&wideKeep) : &keep;
  return blasStatus(table.blas.matmul(context.blasHandle(), desc, alpha, at.first, layouts[0], at.second, layouts[1],
                                      beta, at.residual ? at.residual : at.result,
                                      at.residual ? layouts[2] : layouts[3], at.result, layouts[3], &algorithm,
                                      workspace, workspaceBytes, stream),
                    "cublasLtMatmul");
}

/// Takes a stored choice if the library accepts it.
Status BlasProduct::take(const KernelRequest &request, const AlgorithmChoice &kept) {
  blas::Heuristic result{};
  const Code code = context.table().blas.check(context.blasHandle(), desc, layouts[0], layouts[1], layouts[2],
                                               layouts[3], &kept.algorithm, &result);
  if (code != 0 || result.workspace > request.workspace || kept.workspace > request.workspace ||
      result.workspace > kept.workspace)
    return refusedError("kernel 'matmul': the file's algorithm is not one of this cublasLt within " +
                        std::to_string(request.workspace) + " bytes");
  algorithm = kept.algorithm;
  workspaceBytes = static_cast<std::size_t>(kept.workspace);
  return {};
}

/// The fastest of the library's candidates, each timed a few times on the operands' memory. This memory is zero when
/// kernels are prepared, and a GPU multiplies zeros with less power and so at a higher clock: the inputs are random
/// while products are timed, and all operands are zero afterwards.
Result<AlgorithmChoice> BlasProduct::measure(const KernelRequest &request, const Addresses &at) {
  std::vector<blas::Heuristic> candidates;
  SLUICE_RETURN_IF_ERROR(findCandidates(request, true, candidates));
  const Driver &driver = context.table().driver;
  Stream stream = nullptr;
  SLUICE_RETURN_IF_ERROR(
      driverStatus(context.table(), driver.streamCreate(&stream, streamNonBlocking, 0), "cuStreamCreateWithPriority"));
  AlgorithmChoice best;
  Status timed = fillRandom(context.table(), request.inputs.first(2), stream);
  if (timed.isOk())
    timed = time(request, at, candidates, stream, best);
  Status cleared = fillZero(context.table(), request, stream);
  driver.streamDestroy(stream);
  SLUICE_RETURN_IF_ERROR(timed);
  SLUICE_RETURN_IF_ERROR(cleared);
  return best;
}

Status BlasProduct::time(const KernelRequest &request, const Addresses &at,
                         const std::vector<blas::Heuristic> &candidates, Stream stream, AlgorithmChoice &best) {
  const Driver &driver = context.table().driver;
  const auto checked = [&](Code code, std::string_view call) { return driverStatus(context.table(), code, call); };
  DevicePointer scratch = 0;
  Event begin = nullptr, end = nullptr;
  float least = 0;
  const auto run = [&]() -> Status {
    if (request.workspace > 0)
      SLUICE_RETURN_IF_ERROR(
          checked(driver.allocate(&scratch, request.workspace), "cuMemAlloc of scratch memory to time products with"));
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
        SLUICE_RETURN_IF_ERROR(this->run(at, reinterpret_cast<void *>(scratch), stream));
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
  Status timed = run();
  if (begin)
    driver.eventDestroy(begin);
  if (end)
    driver.eventDestroy(end);
  if (scratch)
    driver.release(scratch);
  return timed;
}

/// The library's first choice that fits the workspace.
Status BlasProduct::choose(const KernelRequest &request) {
  std::vector<blas::Heuristic> candidates;
  SLUICE_RETURN_IF_ERROR(findCandidates(request, false, candidates));
  algorithm = candidates[0].algorithm;
  workspaceBytes = candidates[0].workspace;
  return {};
}

/// At least one candidate: the library's first choice, or `several` that do not split a sum over blocks.
Status BlasProduct::findCandidates(const KernelRequest &request, bool several,
                                   std::vector<blas::Heuristic> &candidates) {
  const Blas &blas = context.table().blas;
  blas::Preference preference = nullptr;
  SLUICE_RETURN_IF_ERROR(blasStatus(blas.preferenceCreate(&preference), "cublasLtMatmulPreferenceCreate"));
  const std::uint64_t most = request.workspace;
  Code code = blas.preferenceSet(preference, blas::preferWorkspace, &most, sizeof most);
  const Operand *const operands[] = {&request.inputs[1], &request.inputs[0], &request.outputs[0], &request.outputs[0]};
  for (int i = 0; i < 4 && code == 0; ++i) {
    // The library's defaults assume better alignment than the addresses have.
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

} // namespace sluice::cuda
