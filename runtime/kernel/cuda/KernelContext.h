//===- KernelContext.h - the GPU that kernels are made for --------------------------------------===//
//
// What prepare functions of CUDA kernels need: the device code, cuBLASLt, and how large the device is. One a device of an
// executor; it outlives the kernels made with it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_KERNELCONTEXT_H
#define SLUICE_RUNTIME_KERNEL_CUDA_KERNELCONTEXT_H

#include "runtime/base/cuda/Code.h"

namespace sluice::cuda {

class KernelContext {
public:
  /// The current context is the device's. `tf32`: f32 products may round their inputs to TF32.
  static Result<std::unique_ptr<KernelContext>> create(const Table &table, int ordinal, bool tf32);
  ~KernelContext();

  DeviceCode &code() const { return *loaded; }
  const Table &table() const { return loaded->table(); }
  blas::Handle blasHandle() const { return handle; }
  bool usesTf32() const { return tf32; }
  int multiprocessors() const { return count; }

private:
  std::shared_ptr<DeviceCode> loaded;
  blas::Handle handle = nullptr;
  int count = 1;
  bool tf32 = false;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_KERNELCONTEXT_H
