//===- BlasProduct.h - one product of cuBLASLt ------------------------------------------------------------===//
//
// Descriptors, epilogue and algorithm of a product. The library's matrices are column-major and Sluice's row-major, so
// the library computes c^T = op(b)^T op(a)^T, with b as its first operand. The algorithm is the choice of the library's
// heuristic within the plan's workspace, or the fastest of its candidates (Algorithms.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_BLASPRODUCT_H
#define SLUICE_RUNTIME_KERNEL_CUDA_BLASPRODUCT_H

#include "runtime/kernel/cuda/Prepare.h"

#include <optional>

namespace sluice::cuda {

/// A matrix of the library: stored rows x columns with a leading dimension, read directly or transposed.
struct Stored {
  std::int64_t rows = 0, columns = 0, leading = 0;
  std::int32_t operation = blas::operationN;
};
/// The matrix of `rows` x `columns` whose element (i, j) is at i rowStride + j columnStride.
std::optional<Stored> storedAs(std::int64_t rows, std::int64_t columns, std::int64_t rowStride,
                               std::int64_t columnStride);
std::optional<int> libraryType(DType dtype);

/// The tanh form of GELU after a product, which also writes GELU's input `x`; or its gradient, which reads `x`.
struct GeluEpilogue {
  const Operand &x;
  bool isGrad;
};

class BlasProduct {
public:
  explicit BlasProduct(KernelContext &context) : context(context) {}
  ~BlasProduct();
  BlasProduct(const BlasProduct &) = delete;
  BlasProduct &operator=(const BlasProduct &) = delete;

  /// The number of batches, and the strides between them.
  struct Batch {
    std::int32_t count = 1;
    std::int64_t first = 0, second = 0, residual = 0, result = 0;
  };
  /// Operands of a run; null: absent.
  struct Addresses {
    const void *first = nullptr, *second = nullptr, *residual = nullptr, *bias = nullptr;
    void *result = nullptr, *gelu = nullptr;
  };

  /// Prepares a request of `matmul`. `residualData`: null without a residual. GELU's input has the layout `geluStored`.
  /// False if the library has no algorithm with that epilogue.
  Result<bool> make(const KernelRequest &request, const Stored &first, const Stored &second, const Stored &residual,
                    const Stored &result, const Batch &batch, bool bias, const void *residualData,
                    const GeluEpilogue *gelu, const Stored &geluStored);

  Status run(const Addresses &at, void *workspace, Stream stream);

private:
  template <typename T> Status set(int attribute, T value) {
    return blasStatus(context.table().blas.descSet(desc, attribute, &value, sizeof value),
                      "cublasLtMatmulDescSetAttribute");
  }
  Status setEpilogue(const KernelRequest &request, bool bias, const GeluEpilogue *gelu, const Stored &geluStored);
  Status take(const KernelRequest &request, const AlgorithmChoice &kept);
  Result<AlgorithmChoice> measure(const KernelRequest &request, const Addresses &at);
  Status time(const KernelRequest &request, const Addresses &at, const std::vector<blas::Heuristic> &candidates,
              Stream stream, AlgorithmChoice &best);
  Status choose(const KernelRequest &request);
  Status findCandidates(const KernelRequest &request, bool several, std::vector<blas::Heuristic> &candidates);

  KernelContext &context;
  blas::MatmulDesc desc = nullptr;
  /// 1 in device memory if alpha and beta are there, else null.
  const void *factors = nullptr;
  blas::Layout layouts[4] = {};
  blas::Algorithm algorithm{};
  std::size_t workspaceBytes = 0;
  bool wide = false;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_BLASPRODUCT_H
