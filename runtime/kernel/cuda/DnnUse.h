//===- DnnUse.h - what of a run is computed by cuDNN
//---------------------------------------------------------------===//
//
// One for the executors of a run: whether cuDNN is asked for, and which kernels took which of its engines or did not
// and why. Thread-safe.
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

/// `automatic`: where cuDNN is there and has an engine; `on`: that it is not there, or has none, is an error.
enum class DnnMode : std::uint8_t { automatic, on };

class DnnUse {
public:
  explicit DnnUse(DnnMode mode) : chosenMode(mode) {}

  DnnMode mode() const { return chosenMode; }
  /// A kernel was made that runs one of cuDNN's engines.
  void took(std::string_view kernel, std::int64_t engine, const std::string &version);
  /// A kernel that cuDNN could have is one of our own.
  void left(std::string_view kernel, const std::string &why);
  /// What a user should know: "cudnn 9.19.0 computes 3 of 4 kernels ...", then each reason once. Nothing where no
  /// kernel asked.
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
