//===- Algorithms.h - measured choices of cuBLASLt's algorithms, kept in a file ---------------------------------===//
//
// Two measurements may choose differently, and two algorithms may add up in different orders, so a choice that is measured
// is kept: runs with one file give the same bits. A file holds for one plan, device and version of the library. Where there
// is none yet, each product's candidates are timed as it is prepared and write() leaves the choices; all of them add up a
// result in one place, without splitting its sum over blocks. A file for something else is left alone and not used.
//
// Thread-safe; one for all the devices of a process, so that virtual ranks take one choice. A file has a line for each:
//
//   sluice algorithms 1
//   plan DIGEST
//   device NAME
//   library VERSION
//   product PROBLEM WORKSPACE 8 WORDS OF THE ALGORITHM
//   end NUMBER OF PRODUCTS
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_ALGORITHMS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_ALGORITHMS_H

#include "runtime/base/Status.h"
#include "runtime/base/cuda/Api.h"

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace sluice::cuda {

/// What the choices of a file hold for. No line breaks.
struct AlgorithmsKey {
  std::string plan, device, library;
  bool operator==(const AlgorithmsKey &) const = default;
};

struct AlgorithmChoice {
  blas::Algorithm algorithm{};
  std::uint64_t workspace = 0;
};

class Algorithms {
public:
  /// `measures`: may a missing file be made? No where the ranks are several processes, which would choose apart.
  Algorithms(std::string path, bool measures) : path(std::move(path)), measures(measures) {}

  /// Reads the file, at the first call. Refused: a damaged file, and none where it may not be made.
  Status open(const AlgorithmsKey &key);
  /// What was measured for a product before, or is now. Nothing where the file holds for something else.
  Result<std::optional<AlgorithmChoice>> choose(const std::string &product,
                                                const std::function<Result<AlgorithmChoice>()> &measure);
  /// Writes what was measured; the file is there as a whole or not at all.
  Status write() const;
  /// Why the file is not used; empty where it is.
  std::string whyUnused() const;

private:
  Status read(const std::string &text);

  const std::string path;
  const bool measures;
  mutable std::mutex mutex;
  bool isOpen = false, measuring = false;
  AlgorithmsKey key;
  std::string unused;
  std::map<std::string, AlgorithmChoice> choices;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_ALGORITHMS_H
