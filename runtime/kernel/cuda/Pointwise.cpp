//===- Pointwise.cpp - element by element on a GPU --------------------------------------------------===//
#include "runtime/kernel/cuda/device/Pointwise.h"
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice::cuda {
namespace {

bool isDenseAlike(const Operand &a, const Operand &b) { return a.isDense() && cpu::sameExtent(a, b); }

/// A launch over the output with one to three inputs.
Bound pointwise(const KernelRequest &request, const std::string &function, int operation = 0, double p = 0,
                double q = 0) {
  const Operand &y = request.outputs[0];
  PointwiseArgs args;
  args.y = viewOf(y);
  args.operation = operation;
  args.p = p;
  args.q = q;
  args.dense = y.isDense();
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    args.x[i] = broadcastView(request.inputs[i], y);
    args.dense = args.dense && isDenseAlike(request.inputs[i], y);
  }
  return oneLaunch(request, function, gridFor(*request.cuda, y.elements()), args,
                   [](PointwiseArgs &args, const RunAddresses &run) {
                     args.y.data = run.outputs[0];
                     for (std::size_t i = 0; i < run.inputs.size(); ++i)
                       args.x[i].data = run.inputs[i];
                   });
}

Bound unary(const KernelRequest &request, Unary operation, double p = 0) {
  return pointwise(request, symbol("unary", {&request.inputs[0], &request.outputs[0]}), static_cast<int>(operation), p);
}

Bound binary(const KernelRequest &request, Binary operation, double p = 0, double q = 0) {
  const bool integers = !isFloat(request.outputs[0].dtype);
  return pointwise(request,
                   integers ? "sluice_binaryInteger"
                            : symbol("binary", {&request.inputs[0], &request.inputs[1], &request.outputs[0]}),
                   static_cast<int>(operation), p, q);
}

bool usesTanh(const KernelRequest &request) {
  return request.attributes->choice<kernel::GeluForm>("approximate") == kernel::GeluForm::tanh;
}

} // namespace

Bound kernels::negate(const KernelRequest &request) { return unary(request, Unary::negate); }
Bound kernels::exp(const KernelRequest &request) { return unary(request, Unary::exp); }
Bound kernels::log(const KernelRequest &request) { return unary(request, Unary::log); }
Bound kernels::tanh(const KernelRequest &request) { return unary(request, Unary::tanh); }
Bound kernels::erf(const KernelRequest &request) { return unary(request, Unary::erf); }
Bound kernels::sin(const KernelRequest &request) { return unary(request, Unary::sin); }
Bound kernels::cos(const KernelRequest &request) { return unary(request, Unary::cos); }
Bound kernels::sqrt(const KernelRequest &request) { return unary(request, Unary::sqrt); }
Bound kernels::rsqrt(const KernelRequest &request) { return unary(request, Unary::rsqrt); }
Bound kernels::relu(const KernelRequest &request) { return unary(request, Unary::relu); }
Bound kernels::sigmoid(const KernelRequest &request) { return unary(request, Unary::sigmoid); }
Bound kernels::softplus(const KernelRequest &request) { return unary(request, Unary::softplus); }
Bound kernels::silu(const KernelRequest &request) { return unary(request, Unary::silu); }
Bound kernels::add(const KernelRequest &request) { return binary(request, Binary::add); }
Bound kernels::subtract(const KernelRequest &request) { return binary(request, Binary::subtract); }
Bound kernels::multiply(const KernelRequest &request) { return binary(request, Binary::multiply); }
Bound kernels::divide(const KernelRequest &request) { return binary(request, Binary::divide); }
Bound kernels::maximum(const KernelRequest &request) { return binary(request, Binary::maximum); }
Bound kernels::relu_grad(const KernelRequest &request) { return binary(request, Binary::reluGrad); }
Bound kernels::silu_grad(const KernelRequest &request) { return binary(request, Binary::siluGrad); }
Bound kernels::swiglu(const KernelRequest &request) { return binary(request, Binary::swiglu); }

Bound kernels::power(const KernelRequest &request) {
  return unary(request, Unary::power, request.attributes->number("exponent"));
}
Bound kernels::scale(const KernelRequest &request) {
  return unary(request, Unary::scale, request.attributes->number("factor"));
}
Bound kernels::gelu(const KernelRequest &request) {
  return unary(request, usesTanh(request) ? Unary::geluTanh : Unary::geluErf);
}
Bound kernels::gelu_grad(const KernelRequest &request) {
  return binary(request, usesTanh(request) ? Binary::geluTanhGrad : Binary::geluErfGrad);
}
Bound kernels::swiglu_grad(const KernelRequest &request) {
  using A = SwigluGradArgs;
  const auto &in = request.inputs;
  const auto &out = request.outputs;
  A args;
  const auto bind = bindViews(args, request, {&A::dy, &A::gate, &A::up}, {&A::dgate, &A::dup});
  return oneLaunch(request, symbol("swigluGrad", {&in[0], &in[1], &in[2], &out[0], &out[1]}),
                   gridFor(*request.cuda, out[0].elements()), args, bind);
}

Bound kernels::running_average(const KernelRequest &request) {
  const double momentum = request.attributes->number("momentum");
  return binary(request, Binary::runningAverage, 1 - momentum, momentum * request.attributes->number("factor"));
}

Bound kernels::compare(const KernelRequest &request) {
  return pointwise(request, "sluice_compare", static_cast<int>(request.attributes->integer("predicate")));
}
Bound kernels::select(const KernelRequest &request) { return pointwise(request, "sluice_select"); }
/// Types that are computed in f32 are cast through f32.
Bound kernels::cast(const KernelRequest &request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (isFloat(x.dtype) && isFloat(y.dtype) && policyOf({&x, &y}) != "wide")
    return unary(request, Unary::identity);
  return pointwise(request, "sluice_cast");
}
Bound kernels::copy(const KernelRequest &request) { return pointwise(request, "sluice_strided"); }
Bound kernels::constant(const KernelRequest &request) {
  return pointwise(request, "sluice_constant", 0, request.attributes->number("value"));
}
Bound kernels::accumulate(const KernelRequest &request) {
  return pointwise(request, "sluice_accumulate", request.attributes->integer("first") != 0);
}
Bound kernels::count_up(const KernelRequest &request) { return pointwise(request, "sluice_countUp"); }

} // namespace sluice::cuda
