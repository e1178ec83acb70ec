//===- Bound.h - bound kernels, and checks of their requests ------------------===//
//
// Requests come from plans, which are untrusted. prepareByRecord checks counts, element types and attributes; each
// prepare function checks relations between operands, such as equal extents, with Check, so that a kernel never
// accesses memory outside its operands.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_BOUND_H
#define SLUICE_RUNTIME_KERNEL_CPU_BOUND_H

#include "runtime/base/Text.h"
#include "runtime/kernel/cpu/Walk.h"

#include <initializer_list>
#include <string>

namespace sluice::cpu {

using Bound = Result<std::unique_ptr<BoundKernel>>;

/// Operands of a run, with the data pointers of this run.
struct Call {
  std::vector<Operand> inputs, outputs;
  int threads = 1;
  void *workspace = nullptr;
};

/// A kernel that is one function of its call.
template <typename Function> class FunctionKernel final : public BoundKernel {
public:
  FunctionKernel(const KernelRequest &request, Function body) : body(std::move(body)) {
    call.inputs.assign(request.inputs.begin(), request.inputs.end());
    call.outputs.assign(request.outputs.begin(), request.outputs.end());
    call.threads = request.threads < 1 ? 1 : request.threads;
  }
  Status run(std::span<void *const> inputs, std::span<void *const> outputs, void *workspace) override {
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      call.inputs[i].data = inputs[i];
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
      call.outputs[i].data = outputs[i];
    call.workspace = workspace;
    return body(call);
  }

private:
  Call call;
  Function body;
};

/// The result of a fast form that does not accept the operands.
inline Bound useReference() { return std::unique_ptr<BoundKernel>(); }

template <typename Function> Bound makeKernel(const KernelRequest &request, Function body) {
  return Bound(std::unique_ptr<BoundKernel>(new FunctionKernel<Function>(request, std::move(body))));
}

/// Checks of a request. Every method returns ok or a refusal that names the kernel and the operand.
class Check {
public:
  explicit Check(const KernelRequest &request) : request(request) {}

  Status dtype(const Operand &operand, DType expected) const;
  Status rank(const Operand &operand, int expected) const;
  /// Extent of one dim.
  Status dim(const Operand &operand, int dim, std::int64_t expected) const;
  Status workspace(std::uint64_t needed) const;
  /// The attribute `dim`, a dim of the operand.
  Result<int> dimOf(const Operand &operand) const;
  template <typename... Parts> Status refuse(const Parts &...parts) const { return refuseText(concat(parts...)); }

private:
  Status refuseText(const std::string &problem) const;
  std::string name(const Operand &operand) const;
  const KernelRequest &request;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_BOUND_H
