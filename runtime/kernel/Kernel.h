//===- Kernel.h - what a kernel is given and how it is found ------------------===//
//
// A kernel is a function from operands (typed strided windows of arenas) and attributes to written outputs. It runs on
// the thread of its stream, takes scratch memory only from `workspace`, and neither allocates nor prints. Whatever a
// kernel needs beyond that (a oneDNN primitive, say) it makes in prepare(), once, at load.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_KERNEL_H
#define SLUICE_RUNTIME_KERNEL_KERNEL_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

inline constexpr int maxRank = 8;

/// A typed strided window of memory, as bound on this rank at load. `shape` is the storage extent that the plan
/// declares; `extent` is what is truly there on this rank (shape with padded dims cut to their valid extent): kernels
/// iterate over `extent` and never touch what lies beyond it.
struct Operand {
  void *data = nullptr;
  DType dtype = DType::f32;
  int rank = 0;
  std::array<std::int64_t, maxRank> shape{};
  std::array<std::int64_t, maxRank> extent{};
  /// In elements.
  std::array<std::int64_t, maxRank> strides{};
  /// Global coordinate of the first element in each dim, and global extents: for kernels keyed by global element index.
  std::array<std::int64_t, maxRank> origin{};
  std::array<std::int64_t, maxRank> global{};

  std::int64_t elements() const {
    std::int64_t count = 1;
    for (int d = 0; d < rank; ++d)
      count *= extent[d];
    return count;
  }
  /// True where the extent is dense row-major.
  bool isDense() const {
    std::int64_t expected = 1;
    for (int d = rank - 1; d >= 0; --d) {
      if (extent[d] != 1 && strides[d] != expected)
        return false;
      expected *= extent[d];
    }
    return true;
  }
  template <typename T> T *as() const { return static_cast<T *>(data); }
};

/// Attributes by name. Absent names give the fallback.
class Attributes {
public:
  struct Item {
    std::string_view name;
    std::int64_t integer = 0;
    double number = 0;
    std::vector<std::int64_t> list;
  };
  explicit Attributes(std::vector<Item> items = {}) : items(std::move(items)) {}
  std::int64_t integer(std::string_view name, std::int64_t fallback = 0) const {
    const Item *item = find(name);
    return item ? item->integer : fallback;
  }
  double number(std::string_view name, double fallback = 0) const {
    const Item *item = find(name);
    return item ? item->number : fallback;
  }
  std::span<const std::int64_t> list(std::string_view name) const {
    const Item *item = find(name);
    return item ? std::span<const std::int64_t>(item->list) : std::span<const std::int64_t>();
  }

private:
  const Item *find(std::string_view name) const {
    for (const Item &item : items)
      if (item.name == name)
        return &item;
    return nullptr;
  }
  std::vector<Item> items;
};

namespace cuda {
class KernelContext;
}

/// What a kernel is prepared for: fixed for the whole run.
struct KernelRequest {
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
  const Attributes *attributes = nullptr;
  /// Threads that the kernel may use (the plan's target.threads or fewer).
  int threads = 1;
  /// Cap of its scratch memory in bytes. Needing more is an error that names the kernel (StatusCode::refused).
  std::uint64_t workspace = 0;
  /// The GPU that it is made for; null for the CPU's kernels. Outlives the kernel.
  cuda::KernelContext *cuda = nullptr;
};

/// A kernel bound to its operands. Made at load, run many times, by one thread at a time.
class BoundKernel {
public:
  virtual ~BoundKernel() = default;
  /// `offset` repetitions: inputs or outputs with a repetition stride have moved; the executor passes the current
  /// data pointers, in the order of the request. `workspace` is 64-byte aligned and holds at least the cap.
  virtual Status run(std::span<void *const> inputs, std::span<void *const> outputs, void *workspace) = 0;
  /// The same as work of a stream. The CPU's kernels run at once, on the stream's own thread; a GPU's go on the stream.
  virtual Status enqueue(void *nativeStream, std::span<void *const> inputs, std::span<void *const> outputs,
                         void *workspace) {
    return run(inputs, outputs, workspace);
  }
};

/// Makes a bound kernel, or says why it cannot.
using PrepareFunction = Result<std::unique_ptr<BoundKernel>> (*)(const KernelRequest &request);

/// Which implementation to take.
enum class KernelFlavour : std::uint8_t { fast, reference };

/// The kernels of the CPU device by catalogue name; null where there is none. Flavour `reference` gives the plain
/// implementation that the fast one is tested against.
PrepareFunction findCpuKernel(std::string_view name, KernelFlavour flavour = KernelFlavour::fast);

/// Keeps the CPU's kernels of this process, the matrix library's among them, to an instruction set: "avx512", "avx2" or
/// "sse2". Bits depend on it, so that a plan's ranks take the plan's on unlike machines too. Called before kernels are
/// prepared; the first call decides for the process. Refused where the machine lacks it, another was taken before, or the
/// library was used and the machine has a larger one. Any thread may call it.
Status useInstructionSet(std::string_view isa);
/// The best instruction set of this machine: "avx512", "avx2" or "sse2".
std::string_view machineIsa();

/// The kernels of the CUDA device by catalogue name; null where there is none (docs/cuda.md lists them).
PrepareFunction findCudaKernel(std::string_view name);

/// What a plan's kernels are chosen for.
struct KernelTarget {
  /// "cpu" or "cuda".
  std::string_view device = "cpu";
  int threads = 1;
  /// "avx2" or "avx512".
  std::string_view isa;
};

/// Workspace cap in bytes that a plan declares for a launch on the target.
std::uint64_t workspaceCap(std::string_view name, std::span<const Operand> inputs, std::span<const Operand> outputs,
                           const Attributes &attributes, const KernelTarget &target);

/// That of the CUDA device. Pure arithmetic on shapes; needs no library (docs/cuda.md).
std::uint64_t cudaWorkspaceCap(std::string_view name, std::span<const Operand> inputs, std::span<const Operand> outputs,
                               const Attributes &attributes);

/// Workspace cap in bytes that a plan declares for a launch on the CPU: enough for every implementation of that kernel
/// for the target. Pure arithmetic on shapes; needs no library (docs/kernels.md). `isa` is "avx2" or "avx512".
std::uint64_t cpuWorkspaceCap(std::string_view name, std::span<const Operand> inputs, std::span<const Operand> outputs,
                              const Attributes &attributes, int threads, std::string_view isa);

/// One row of the catalogue.
struct CatalogueEntry {
  std::string_view name;
  int inputs;
  int outputs;
  /// The values of ReductionClass in runtime/plan/plan.fbs.
  std::uint8_t reduction;
};
std::span<const CatalogueEntry> catalogue();
const CatalogueEntry *findInCatalogue(std::string_view name);
std::uint32_t catalogueVersion();

} // namespace sluice

#endif // SLUICE_RUNTIME_KERNEL_KERNEL_H
