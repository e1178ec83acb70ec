//===- Prepare.h - prepare functions of CUDA kernels ------------------------------------------===//
//
// The CPU reference of the kernel has accepted the request (Registry.cpp), so its operands are valid. A kernel is a
// list of launches, each with a struct of arguments; every run sets their addresses.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_PREPARE_H
#define SLUICE_RUNTIME_KERNEL_CUDA_PREPARE_H

#include "runtime/base/cuda/Element.h"
#include "runtime/kernel/cpu/Bound.h"
#include "runtime/kernel/cuda/KernelContext.h"

#include <functional>
#include <type_traits>

namespace sluice::cuda {

using Bound = Result<std::unique_ptr<BoundKernel>>;

View viewOf(const Operand &operand);
/// Joins the first `dims` dims where their strides allow it: for kernels that number the elements along them.
View joined(const View &view, int dims);
/// The operand broadcast over `frame`.
View broadcastView(const Operand &operand, const Operand &frame);

/// "f32", "bf16", "mixed" or "wide": the policy of a kernel for these operands.
std::string policyOf(std::initializer_list<const Operand *> operands);
std::string symbol(std::string_view function, std::initializer_list<const Operand *> operands);

/// "f32", "bf16" or "f16" if that is the type of each operand, all are dense and have fewer than 2^31 elements: a
/// kernel of dense operands (Vector.h) computes the request. Else empty.
std::string storedAlike(std::initializer_list<const Operand *> operands);
/// The same with one of the pairs of types of SLUICE_STORED_PAIRS, "f32_bf16" say.
std::string storedPair(const Operand &from, const Operand &to);

/// Addresses of a run.
struct RunAddresses {
  std::span<void *const> inputs, outputs;
  void *workspace = nullptr;
  Stream stream = nullptr;
};

template <typename Args> using Bind = std::function<void(Args &, const RunAddresses &)>;

/// Sets views of the arguments to the first inputs and outputs of the request. The result sets their addresses in a
/// run, and that of the workspace.
template <typename Args, typename T = void>
Bind<Args> bindViews(Args &args, const KernelRequest &request, std::vector<View Args::*> inputs,
                     std::vector<View Args::*> outputs, T *Args::*workspace = nullptr) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    args.*inputs[i] = viewOf(request.inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    args.*outputs[i] = viewOf(request.outputs[i]);
  return [inputs = std::move(inputs), outputs = std::move(outputs), workspace](Args &args, const RunAddresses &run) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      (args.*inputs[i]).data = run.inputs[i];
    for (std::size_t i = 0; i < outputs.size(); ++i)
      (args.*outputs[i]).data = run.outputs[i];
    if (workspace)
      args.*workspace = static_cast<T *>(run.workspace);
  };
}

/// A kernel that runs a list of launches.
class LaunchList {
public:
  explicit LaunchList(KernelContext &context) : context(context) {}

  /// Adds a launch of `function`; `bind` writes a run's addresses into the arguments. After a failure nothing is added.
  template <typename Args>
  void add(const std::string &function, LaunchShape shape, const Args &args, std::type_identity_t<Bind<Args>> bind) {
    if (!failure.isOk())
      return;
    Result<Function> found = context.code().find(function);
    if (!found.isOk()) {
      failure = found.takeStatus();
      return;
    }
    steps.push_back([&code = context.code(), found = *found, shape, held = std::make_shared<Args>(args),
                     bind = std::move(bind)](const RunAddresses &run) {
      bind(*held, run);
      return code.launch(found, shape, held.get(), run.stream);
    });
  }
  void addStep(std::function<Status(const RunAddresses &)> step) { steps.push_back(std::move(step)); }
  KernelContext &owner() const { return context; }

  /// The kernel, or the first failure.
  Bound finish() &&;

private:
  KernelContext &context;
  Status failure;
  std::vector<std::function<Status(const RunAddresses &)>> steps;
};

/// A kernel that is one launch; the arguments are those of LaunchList::add.
template <typename Args>
Bound oneLaunch(const KernelRequest &request, const std::string &function, LaunchShape shape, const Args &args,
                std::type_identity_t<Bind<Args>> bind) {
  LaunchList list(*request.cuda);
  list.add(function, shape, args, std::move(bind));
  return std::move(list).finish();
}

/// A kernel that loads vectors (Vector.h), for runs whose addresses are all aligned to 16 bytes, and one for other
/// runs. If `vectors` is null, the other is the kernel.
Bound whereAligned(Bound vectors, Bound general);

/// Blocks for `count` elements, at most a few times as many as run at once; each thread then computes several elements.
LaunchShape gridFor(const KernelContext &context, std::int64_t count, int threads = 256);
/// Elements of a block for tensors that each have separate blocks, a multiple of `threadElements` for each of 256
/// threads: all blocks run at once, `blocksOfSm` on a multiprocessor, so that no few of them run last.
std::int64_t spanOfBlocks(const KernelContext &context, std::int64_t elements, int blocksOfSm, int threadElements);
/// One thread for each of `count`.
LaunchShape exactGrid(std::int64_t count, int threads = 256);
/// One block for each row.
LaunchShape rowGrid(std::int64_t rows, std::int64_t columns);

/// The kernels: one function per record, under its name, in the file of its family.
namespace kernels {
#define SLUICE_KERNEL(name, form, ...) Bound name(const KernelRequest &request);
#include "runtime/kernel/catalogue/catalogue.def"
} // namespace kernels

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_PREPARE_H
