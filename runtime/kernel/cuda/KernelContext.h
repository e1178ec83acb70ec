//===- KernelContext.h - the GPU for which kernels are prepared ----------------------------------===//
//
// The state that prepare functions of CUDA kernels share: device code, cuBLASLt, cuDNN, the size of the device. Each
// device of an executor has one; it outlives the kernels prepared with it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_KERNELCONTEXT_H
#define SLUICE_RUNTIME_KERNEL_CUDA_KERNELCONTEXT_H

#include "runtime/base/cuda/Code.h"
#include "runtime/kernel/cuda/Algorithms.h"
#include "runtime/kernel/cuda/DnnUse.h"

namespace sluice::cuda {

class KernelContext {
public:
  /// The current context is the device's. `tf32`: f32 products may round their inputs to TF32.
  static Result<std::unique_ptr<KernelContext>> create(const Table &table, int ordinal, bool tf32);
  /// Chooses the algorithms of products with `algorithms`, for the plan with this digest.
  Status useAlgorithms(std::shared_ptr<Algorithms> algorithms, const std::string &plan);
  /// Enables cuDNN. An error if the mode is `on` and cuDNN is absent.
  Status useDnn(std::shared_ptr<DnnUse> use);
  ~KernelContext();

  DeviceCode &code() const { return *loaded; }
  const Table &table() const { return loaded->table(); }
  blas::Handle blasHandle() const { return handle; }
  bool usesTf32() const { return tf32; }
  int multiprocessors() const { return count; }
  /// Blocks with this much shared memory that a multiprocessor runs at once; 0 if a block cannot have it.
  int blocksWith(std::int64_t sharedBytes) const {
    return static_cast<int>((mostShared + blockShared) / (sharedBytes + blockShared));
  }
  /// Its major number.
  int computeCapability() const { return major; }
  /// Null if the library's heuristic chooses.
  Algorithms *algorithms() const { return chosen.get(); }

  /// Null if cuDNN is disabled.
  DnnUse *dnnUse() const { return dnn.get(); }
  /// Created at the first call, because it takes device memory; or the reason for its absence.
  Result<dnn::Handle> dnnHandle();

private:
  /// Shared memory that each block takes for the system.
  static constexpr std::int64_t blockShared = 1024;

  std::shared_ptr<DeviceCode> loaded;
  blas::Handle handle = nullptr;
  std::shared_ptr<Algorithms> chosen;
  std::shared_ptr<DnnUse> dnn;
  dnn::Handle openedDnn = nullptr;
  std::string name;
  int count = 1, major = 0, mostShared = 0;
  bool tf32 = false;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_KERNELCONTEXT_H
