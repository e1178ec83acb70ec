//===- Prepare.h - making CUDA kernels --------------------------------------------------------===//
//
// A request is checked by preparing the reference of the CPU for it: what that one refuses, this one refuses in the
// same words, and what it accepts has sound operands. Then a kernel is a list of launches, each with its struct of
// arguments, whose addresses are set anew at every run.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_PREPARE_H
#define SLUICE_RUNTIME_KERNEL_CUDA_PREPARE_H

#include "runtime/base/cuda/Element.h"
#include "runtime/kernel/cpu/Bound.h"
#include "runtime/kernel/cuda/KernelContext.h"

#include <functional>

namespace sluice::cuda {

using Bound = Result<std::unique_ptr<BoundKernel>>;

/// Refuses what the CPU's reference of that name refuses.
Status checkAsReference(std::string_view name, const KernelRequest &request);

View viewOf(const Operand &operand);
/// With the first `dims` dims as few as say the same: for kernels that number what lies along them.
View joined(const View &view, int dims);
/// With the strides that repeat it over `frame`.
View broadcastView(const Operand &operand, const Operand &frame);

/// "f32", "bf16", "mixed" or "wide": which policy of a kernel takes these operands.
std::string policyOf(std::initializer_list<const Operand *> operands);
std::string symbol(std::string_view function, std::initializer_list<const Operand *> operands);

/// Addresses of a run.
struct RunAddresses {
  std::span<void *const> inputs, outputs;
  void *workspace = nullptr;
  Stream stream = nullptr;
};

/// A kernel as a list of launches.
class LaunchList final : public BoundKernel {
public:
  explicit LaunchList(KernelContext &context) : context(context) {}

  /// Adds a launch of `function`; `bind` writes a run's addresses into the arguments.
  template <typename Args>
  Status add(const std::string &function, LaunchShape shape, const Args &args,
             std::function<void(Args &, const RunAddresses &)> bind) {
    SLUICE_ASSIGN_OR_RETURN(Function found, context.code().find(function));
    auto held = std::make_shared<Args>(args);
    steps.push_back([this, found, shape, held, bind = std::move(bind)](const RunAddresses &run) {
      bind(*held, run);
      return context.code().launch(found, shape, held.get(), run.stream);
    });
    return {};
  }
  /// Adds what is no launch.
  void addStep(std::function<Status(const RunAddresses &)> step) { steps.push_back(std::move(step)); }

  Status run(std::span<void *const>, std::span<void *const>, void *) override {
    return internalError("a kernel of the cuda device was run without a stream");
  }
  Status enqueue(void *nativeStream, std::span<void *const> inputs, std::span<void *const> outputs,
                 void *workspace) override {
    const RunAddresses run{inputs, outputs, workspace, nativeStream};
    for (const auto &step : steps)
      SLUICE_RETURN_IF_ERROR(step(run));
    return {};
  }
  KernelContext &owner() const { return context; }

private:
  KernelContext &context;
  std::vector<std::function<Status(const RunAddresses &)>> steps;
};

/// A kernel that is one launch; the arguments are those of LaunchList::add.
template <typename Args>
Bound oneLaunch(const KernelRequest &request, const std::string &function, LaunchShape shape, const Args &args,
                std::function<void(Args &, const RunAddresses &)> bind) {
  auto list = std::make_unique<LaunchList>(*request.cuda);
  SLUICE_RETURN_IF_ERROR(list->add<Args>(function, shape, args, std::move(bind)));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

/// Blocks for `count` elements, so many that the device is full a few times; each thread then takes several.
LaunchShape gridFor(const KernelContext &context, std::int64_t count, int threads = 256);
/// One thread for each of `count`.
LaunchShape exactGrid(std::int64_t count, int threads = 256);
/// One block for each row.
LaunchShape rowGrid(std::int64_t rows, std::int64_t columns);

/// The implementation of a record.
struct CudaKernel {
  KernelId id;
  PrepareFunction prepare;
};
using CudaKernels = std::span<const CudaKernel>;

CudaKernels pointwiseKernels();
CudaKernels creationKernels();
CudaKernels movementKernels();
CudaKernels reductionKernels();
CudaKernels matmulKernels();
CudaKernels rowKernels();
CudaKernels attentionKernels();
CudaKernels indexedKernels();
CudaKernels optimizerKernels();
CudaKernels convolutionKernels();
CudaKernels poolingKernels();
CudaKernels batchNormKernels();
CudaKernels linearLossKernels();

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_PREPARE_H
