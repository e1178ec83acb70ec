//===- DnnUse.h - which kernels of a run cuDNN computes ------------------------------------===//
//
// One object for the executors of a run: the mode, and for each kernel the engine that it uses or the reason why it
// uses none. Thread-safe.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DNNUSE_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DNNUSE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cuda {

/// `automatic`: use cuDNN if it is installed and has an engine; `on`: it is an error otherwise.
enum class DnnMode : std::uint8_t { automatic, on };

class DnnUse {
public:
  explicit DnnUse(DnnMode mode) : chosenMode(mode) {}

  DnnMode mode() const { return chosenMode; }
  /// A kernel uses an engine of cuDNN.
  void took(std::string_view kernel, std::int64_t engine, const std::string &version);
  /// A kernel that cuDNN could compute does not use it.
  void left(std::string_view kernel, const std::string &why);
  /// Notes for the user: the engines of each kernel, then each reason once. Empty if there is no such kernel.
  std::vector<std::string> notes() const;

private:
  const DnnMode chosenMode;
  mutable std::mutex mutex;
  std::string library;
  std::map<std::string, std::map<std::int64_t, int>> engines;
  std::map<std::string, std::map<std::string, int>> reasons;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DNNUSE_H
