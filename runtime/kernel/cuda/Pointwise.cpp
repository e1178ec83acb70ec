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

template <Unary operation> Bound unaryOf(const KernelRequest &request) { return unary(request, operation); }
template <Binary operation> Bound binaryOf(const KernelRequest &request) { return binary(request, operation); }

Bound swigluGradOf(const KernelRequest &request) {
  using A = SwigluGradArgs;
  const auto &in = request.inputs;
  const auto &out = request.outputs;
  A args;
  const auto bind = bindViews(args, request, {&A::dy, &A::gate, &A::up}, {&A::dgate, &A::dup});
  return oneLaunch(request, symbol("swigluGrad", {&in[0], &in[1], &in[2], &out[0], &out[1]}),
                   gridFor(*request.cuda, out[0].elements()), args, bind);
}

bool usesTanh(const KernelRequest &request) {
  return request.attributes->choice<kernel::GeluForm>("approximate") == kernel::GeluForm::tanh;
}

} // namespace

CudaKernels pointwiseKernels() {
  static constexpr CudaKernel kernels[] = {
      {KernelId::negate, unaryOf<Unary::negate>},
      {KernelId::exp, unaryOf<Unary::exp>},
      {KernelId::log, unaryOf<Unary::log>},
      {KernelId::tanh, unaryOf<Unary::tanh>},
      {KernelId::erf, unaryOf<Unary::erf>},
      {KernelId::sin, unaryOf<Unary::sin>},
      {KernelId::cos, unaryOf<Unary::cos>},
      {KernelId::sqrt, unaryOf<Unary::sqrt>},
      {KernelId::rsqrt, unaryOf<Unary::rsqrt>},
      {KernelId::relu, unaryOf<Unary::relu>},
      {KernelId::sigmoid, unaryOf<Unary::sigmoid>},
      {KernelId::softplus, unaryOf<Unary::softplus>},
      {KernelId::silu, unaryOf<Unary::silu>},
      {KernelId::add, binaryOf<Binary::add>},
      {KernelId::subtract, binaryOf<Binary::subtract>},
      {KernelId::multiply, binaryOf<Binary::multiply>},
      {KernelId::divide, binaryOf<Binary::divide>},
      {KernelId::maximum, binaryOf<Binary::maximum>},
      {KernelId::relu_grad, binaryOf<Binary::reluGrad>},
      {KernelId::silu_grad, binaryOf<Binary::siluGrad>},
      {KernelId::swiglu, binaryOf<Binary::swiglu>},
      {KernelId::power,
       [](const KernelRequest &request) {
         return unary(request, Unary::power, request.attributes->number("exponent"));
       }},
      {KernelId::scale,
       [](const KernelRequest &request) { return unary(request, Unary::scale, request.attributes->number("factor")); }},
      {KernelId::gelu,
       [](const KernelRequest &request) {
         return unary(request, usesTanh(request) ? Unary::geluTanh : Unary::geluErf);
       }},
      {KernelId::gelu_grad,
       [](const KernelRequest &request) {
         return binary(request, usesTanh(request) ? Binary::geluTanhGrad : Binary::geluErfGrad);
       }},
      {KernelId::swiglu_grad, swigluGradOf},
      {KernelId::running_average,
       [](const KernelRequest &request) {
         const double momentum = request.attributes->number("momentum");
         return binary(request, Binary::runningAverage, 1 - momentum, momentum * request.attributes->number("factor"));
       }},
      {KernelId::compare,
       [](const KernelRequest &request) {
         return pointwise(request, "sluice_compare", static_cast<int>(request.attributes->integer("predicate")));
       }},
      {KernelId::select, [](const KernelRequest &request) { return pointwise(request, "sluice_select"); }},
      {KernelId::cast,
       [](const KernelRequest &request) -> Bound {
         const Operand &x = request.inputs[0], &y = request.outputs[0];
         // What computes in float casts in float.
         if (isFloat(x.dtype) && isFloat(y.dtype) && policyOf({&x, &y}) != "wide")
           return unary(request, Unary::identity);
         return pointwise(request, "sluice_cast");
       }},
      {KernelId::copy, [](const KernelRequest &request) { return pointwise(request, "sluice_strided"); }},
      {KernelId::constant,
       [](const KernelRequest &request) {
         return pointwise(request, "sluice_constant", 0, request.attributes->number("value"));
       }},
      {KernelId::accumulate,
       [](const KernelRequest &request) {
         return pointwise(request, "sluice_accumulate", request.attributes->integer("first") != 0);
       }},
      {KernelId::count_up, [](const KernelRequest &request) { return pointwise(request, "sluice_countUp"); }},
  };
  return kernels;
}

} // namespace sluice::cuda
