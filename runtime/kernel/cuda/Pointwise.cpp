//===- Pointwise.cpp - element by element on a GPU --------------------------------------------------===//
#include "runtime/kernel/cuda/device/Pointwise.h"
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice::cuda {
namespace {

bool isDenseAlike(const Operand &a, const Operand &b) { return a.isDense() && cpu::sameExtent(a, b); }

/// A launch over the output with one to three inputs.
Bound pointwise(std::string_view name, const KernelRequest &request, const std::string &function, int operation,
                double p = 0, double q = 0) {
  SLUICE_RETURN_IF_ERROR(checkAsReference(name, request));
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
  return oneLaunch<PointwiseArgs>(request, function, gridFor(*request.cuda, y.elements()), args,
                                  [](PointwiseArgs &args, const RunAddresses &run) {
                                    args.y.data = run.outputs[0];
                                    for (std::size_t i = 0; i < run.inputs.size(); ++i)
                                      args.x[i].data = run.inputs[i];
                                  });
}

Bound unary(std::string_view name, const KernelRequest &request, Unary operation, double p = 0) {
  SLUICE_RETURN_IF_ERROR(checkAsReference(name, request));
  return pointwise(name, request, symbol("unary", {&request.inputs[0], &request.outputs[0]}),
                   static_cast<int>(operation), p);
}

Bound binary(std::string_view name, const KernelRequest &request, Binary operation, double p = 0, double q = 0) {
  SLUICE_RETURN_IF_ERROR(checkAsReference(name, request));
  const bool integers = !isFloat(request.outputs[0].dtype);
  return pointwise(name, request,
                   integers ? "sluice_binaryInteger"
                            : symbol("binary", {&request.inputs[0], &request.inputs[1], &request.outputs[0]}),
                   static_cast<int>(operation), p, q);
}

Bound swigluGradOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("swiglu_grad", request));
  const auto &in = request.inputs;
  const auto &out = request.outputs;
  const SwigluGradArgs args{viewOf(in[0]), viewOf(in[1]), viewOf(in[2]), viewOf(out[0]), viewOf(out[1])};
  return oneLaunch<SwigluGradArgs>(request, symbol("swigluGrad", {&in[0], &in[1], &in[2], &out[0], &out[1]}),
                                   gridFor(*request.cuda, out[0].elements()), args,
                                   [](SwigluGradArgs &args, const RunAddresses &run) {
                                     args.dy.data = run.inputs[0];
                                     args.gate.data = run.inputs[1];
                                     args.up.data = run.inputs[2];
                                     args.dgate.data = run.outputs[0];
                                     args.dup.data = run.outputs[1];
                                   });
}

bool usesTanh(const KernelRequest &request) {
  return request.attributes->choice<kernel::GeluForm>("approximate") == kernel::GeluForm::tanh;
}

#define SLUICE_UNARY(name, operation)                                                                                  \
  {KernelId::name, [](const KernelRequest &request) { return unary(#name, request, Unary::operation); }}
#define SLUICE_BINARY(name, operation)                                                                                 \
  {KernelId::name, [](const KernelRequest &request) { return binary(#name, request, Binary::operation); }}

} // namespace

CudaKernels pointwiseKernels() {
  static constexpr CudaKernel kernels[] = {
      SLUICE_UNARY(negate, negate),
      SLUICE_UNARY(exp, exp),
      SLUICE_UNARY(log, log),
      SLUICE_UNARY(tanh, tanh),
      SLUICE_UNARY(erf, erf),
      SLUICE_UNARY(sin, sin),
      SLUICE_UNARY(cos, cos),
      SLUICE_UNARY(sqrt, sqrt),
      SLUICE_UNARY(rsqrt, rsqrt),
      SLUICE_UNARY(relu, relu),
      SLUICE_UNARY(sigmoid, sigmoid),
      SLUICE_UNARY(softplus, softplus),
      SLUICE_UNARY(silu, silu),
      SLUICE_BINARY(add, add),
      SLUICE_BINARY(subtract, subtract),
      SLUICE_BINARY(multiply, multiply),
      SLUICE_BINARY(divide, divide),
      SLUICE_BINARY(maximum, maximum),
      SLUICE_BINARY(relu_grad, reluGrad),
      SLUICE_BINARY(silu_grad, siluGrad),
      SLUICE_BINARY(swiglu, swiglu),
      {KernelId::power,
       [](const KernelRequest &request) {
         return unary("power", request, Unary::power, request.attributes->number("exponent"));
       }},
      {KernelId::scale,
       [](const KernelRequest &request) {
         return unary("scale", request, Unary::scale, request.attributes->number("factor"));
       }},
      {KernelId::gelu,
       [](const KernelRequest &request) {
         return unary("gelu", request, usesTanh(request) ? Unary::geluTanh : Unary::geluErf);
       }},
      {KernelId::gelu_grad,
       [](const KernelRequest &request) {
         return binary("gelu_grad", request, usesTanh(request) ? Binary::geluTanhGrad : Binary::geluErfGrad);
       }},
      {KernelId::swiglu_grad, swigluGradOf},
      {KernelId::running_average,
       [](const KernelRequest &request) {
         const double momentum = request.attributes->number("momentum");
         return binary("running_average", request, Binary::runningAverage, 1 - momentum,
                       momentum * request.attributes->number("factor"));
       }},
      {KernelId::compare,
       [](const KernelRequest &request) {
         return pointwise("compare", request, "sluice_compare",
                          static_cast<int>(request.attributes->integer("predicate")));
       }},
      {KernelId::select, [](const KernelRequest &request) { return pointwise("select", request, "sluice_select", 0); }},
      {KernelId::cast,
       [](const KernelRequest &request) -> Bound {
         SLUICE_RETURN_IF_ERROR(checkAsReference("cast", request));
         const Operand &x = request.inputs[0], &y = request.outputs[0];
         // What computes in float casts in float.
         if (isFloat(x.dtype) && isFloat(y.dtype) && policyOf({&x, &y}) != "wide")
           return unary("cast", request, Unary::identity);
         return pointwise("cast", request, "sluice_cast", 0);
       }},
      {KernelId::copy, [](const KernelRequest &request) { return pointwise("copy", request, "sluice_strided", 0); }},
      {KernelId::constant,
       [](const KernelRequest &request) {
         return pointwise("constant", request, "sluice_constant", 0, request.attributes->number("value"));
       }},
      {KernelId::accumulate,
       [](const KernelRequest &request) {
         return pointwise("accumulate", request, "sluice_accumulate", request.attributes->integer("first") != 0);
       }},
      {KernelId::count_up,
       [](const KernelRequest &request) { return pointwise("count_up", request, "sluice_countUp", 0); }},
  };
  return kernels;
}

} // namespace sluice::cuda
