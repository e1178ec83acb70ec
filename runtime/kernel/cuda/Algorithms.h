//===- Algorithms.h - measured choices of cuBLASLt's algorithms, kept in a file ---------------------------------===//
//
// Two measurements may choose different algorithms, and two algorithms may add in different orders, so measured choices
// are stored: runs with one file give the same bits. A file is valid for one plan, device and version of the library.
// If there is no file, the candidates of each product are timed when it is prepared, and finish() writes the choices;
// no candidate splits a sum over blocks. A file that is not valid is neither used nor changed.
//
// Thread-safe; one object for all devices of a process, so that virtual ranks use the same choices. If ranks are
// processes, rank 0 reads or measures, and sends its choices to the others after it has prepared its kernels; they wait
// for them at their first product. A product that rank 0 does not have uses the library's heuristic. The lines of a
// file:
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

/// The plan, device and library that a file's choices are valid for. No line breaks.
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
  /// Broadcasts the text of rank 0 to every process; each calls it once.
  using Share = std::function<Status(std::string &text)>;

  /// `share` is empty where all ranks are in this process.
  explicit Algorithms(std::string path, Share share = {}, bool isRoot = true)
      : path(std::move(path)), share(std::move(share)), isRoot(isRoot) {}

  /// At the first call rank 0 reads the file, if there is one. Refused: a damaged file.
  Status open(const AlgorithmsKey &key);
  /// The choice measured for a product before, or now. Absent if the file is not valid for this run.
  Result<std::optional<AlgorithmChoice>> choose(const std::string &product,
                                                const std::function<Result<AlgorithmChoice>()> &measure);
  /// Once all kernels are prepared: sends the choices to the other processes and writes the measured ones; the file is
  /// complete or absent.
  Status finish();
  /// The reason why the file is not used; empty if it is used.
  std::string whyUnused() const;

private:
  Status read(const std::string &text);
  Status receive();
  std::string print() const;

  const std::string path;
  const Share share;
  const bool isRoot;
  mutable std::mutex mutex;
  bool isOpen = false, measuring = false, received = false;
  AlgorithmsKey key;
  std::string unused;
  std::map<std::string, AlgorithmChoice> choices;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_ALGORITHMS_H
