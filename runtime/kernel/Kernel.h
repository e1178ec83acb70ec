//===- Kernel.h - the request of a kernel, and how to find one ---------------------===//
//
// A kernel is a function from operands (typed strided windows of arenas) and attributes to written outputs. It runs on
// the thread of its stream, takes scratch memory only from `workspace`, and neither allocates nor prints. Its prepare
// function creates what it needs in addition, such as a oneDNN primitive, once, at load.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_KERNEL_H
#define SLUICE_RUNTIME_KERNEL_KERNEL_H

#include "runtime/kernel/catalogue/Catalogue.h"

#include <array>
#include <memory>

namespace sluice {

namespace cuda {
class KernelContext;
}

/// The request that a kernel is prepared for, fixed for the run.
struct KernelRequest {
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
  const Attributes *attributes = nullptr;
  /// Threads that the kernel may use (the plan's target.threads or fewer).
  int threads = 1;
  /// Cap of its scratch memory in bytes. Needing more is an error that names the kernel (StatusCode::refused).
  std::uint64_t workspace = 0;
  /// The GPU of the kernel; null for CPU kernels. Outlives the kernel.
  cuda::KernelContext *cuda = nullptr;
  /// SMs that matrix products leave free.
  std::uint32_t smMargin = 0;
  /// False: a product takes its library's first choice of algorithm, because its operands have no addresses yet.
  bool measuresAlgorithm = true;
  /// Set by prepareByRecord.
  const KernelRecord *record = nullptr;
  /// Set by prepareByRecord: the outputs that hold a sum, to which the kernel adds its result.
  std::array<bool, 4> adds = {};
};

/// A kernel bound to its operands. Prepared at load, run many times, by one thread at a time.
class BoundKernel {
public:
  virtual ~BoundKernel() = default;
  /// The data pointers are those of the current repetition, in the order of the request. `workspace` holds at least the
  /// cap and is aligned to 64 bytes, on a GPU to 256, which cuBLASLt requires.
  virtual Status run(std::span<void *const> inputs, std::span<void *const> outputs, void *workspace) = 0;
  /// The same as work of a stream. A CPU kernel runs immediately, on the stream's thread; a GPU kernel is enqueued.
  virtual Status enqueue(void *nativeStream, std::span<void *const> inputs, std::span<void *const> outputs,
                         void *workspace) {
    return run(inputs, outputs, workspace);
  }
};

/// Returns a bound kernel, or the reason of the refusal.
using PrepareFunction = Result<std::unique_ptr<BoundKernel>> (*)(const KernelRequest &request);

/// Checks a request against the record, then calls the implementation with the record's number of operands, its element
/// types, and every attribute that has a fallback. An implementation that reads an attribute which the record does not
/// declare is an internal error.
Result<std::unique_ptr<BoundKernel>> prepareByRecord(const KernelRecord &record, PrepareFunction implementation,
                                                     const KernelRequest &request);

/// The request for tensor `index` of a list (computesEach).
KernelRequest requestOf(const KernelRequest &list, std::size_t index);
/// Prepares the tensors of a list one by one; they run in their order.
Result<std::unique_ptr<BoundKernel>> prepareEach(PrepareFunction implementation, const KernelRequest &list);

/// The implementation of a kernel.
enum class KernelFlavour : std::uint8_t { fast, reference };

/// The kernels of the CPU device by catalogue name; null for an unknown name. Flavour `reference` is the plain
/// implementation that the fast one is tested against. Both refuse a request that differs from the kernel's record.
PrepareFunction findCpuKernel(std::string_view name, KernelFlavour flavour = KernelFlavour::fast);
PrepareFunction findCpuKernel(KernelId id, KernelFlavour flavour = KernelFlavour::fast);

/// Limits the CPU kernels of this process, the matrix library included, to an instruction set: "avx512", "avx2" or
/// "sse4". Results depend on it to the bit, so all ranks of a plan use the plan's, on different machines too. Called
/// before kernels are prepared; the first call decides for the process. Refused if the machine lacks it, the process
/// uses a different one, or the library was used and the machine has a larger one. Thread-safe.
Status useInstructionSet(std::string_view isa);
/// The best instruction set of this machine: "avx512", "avx2" or "sse4".
std::string_view machineIsa();

/// The kernels of the CUDA device by catalogue name; null for an unknown name.
PrepareFunction findCudaKernel(std::string_view name);
PrepareFunction findCudaKernel(KernelId id);

} // namespace sluice

#endif // SLUICE_RUNTIME_KERNEL_KERNEL_H
