//===- Convolution.cpp - convolutions by oneDNN -----------------------------------===//
//
// Dense f32 images go to the library as they are. bf16 ones are widened to f32 in workspace, since the library has no bf16
// convolution for every processor, and the result is rounded once. f64, strided operands and what the library has only a
// plain loop for go to the reference.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/OnednnConvolution.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Registry.h"
#include "runtime/kernel/cpu/Workspace.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

using Kind = LibraryConvolution::Kind;

/// Which operands are x, weight, bias and y; the output is one of them.
struct Roles {
  const Operand *x, *weight, *bias, *y;
};

Roles rolesOf(Kind kind, std::span<const Operand> inputs, std::span<const Operand> outputs) {
  switch (kind) {
  case Kind::forward:
    return {&inputs[0], &inputs[1], inputs.size() > 2 ? &inputs[2] : nullptr, &outputs[0]};
  case Kind::inputGrad:
    return {&outputs[0], &inputs[1], nullptr, &inputs[0]};
  case Kind::weightGrad:
    return {&inputs[1], &outputs[0], nullptr, &inputs[0]};
  }
  return {};
}

std::int64_t widenedFloats(const Operand *operand) { return operand ? roundUp(operand->elements(), 16) : 0; }

void convert(int threads, const Operand &from, float *to, bool widens) {
  std::int64_t elements = from.elements();
  forEach(threads, (elements + stretch - 1) / stretch, [&](std::int64_t piece) {
    std::int64_t begin = piece * stretch, count = std::min(stretch, elements - begin);
    if (widens)
      loops().bf16.widen(from.as<Bf16>() + begin, to + begin, count);
    else
      loops().bf16.narrow(to + begin, from.as<Bf16>() + begin, count);
  });
}

Bound direct(const KernelRequest &request, Kind kind, std::shared_ptr<LibraryConvolution> library) {
  return makeKernel(request, [kind, library](Call &call) {
    Roles r = rolesOf(kind, call.inputs, call.outputs);
    return library->run(r.x->data, r.weight->data, r.bias ? r.bias->data : nullptr, r.y->data, call.workspace);
  });
}

Bound widened(const KernelRequest &request, Kind kind, std::shared_ptr<LibraryConvolution> library) {
  return makeKernel(request, [kind, library](Call &call) {
    Roles r = rolesOf(kind, call.inputs, call.outputs);
    float *next = static_cast<float *>(call.workspace), *places[4] = {};
    const Operand *operands[4] = {r.x, r.weight, r.bias, r.y}, *output = &call.outputs[0];
    for (int i = 0; i < 4; ++i) {
      places[i] = next;
      next += widenedFloats(operands[i]);
      if (operands[i] && operands[i] != output)
        convert(call.threads, *operands[i], places[i], true);
    }
    SLUICE_RETURN_IF_ERROR(library->run(places[0], places[1], places[2], places[3], next));
    for (int i = 0; i < 4; ++i)
      if (operands[i] == output)
        convert(call.threads, *output, places[i], false);
    return Status::ok();
  });
}

Bound prepare(const KernelRequest &request, Kind kind, std::string_view name, PrepareFunction reference) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference(request));
  Roles r = rolesOf(kind, request.inputs, request.outputs);
  DType type = r.x->dtype;
  bool isEmpty = false;
  for (const Operand *operand : {r.x, r.weight, r.bias, r.y}) {
    if (!operand)
      continue;
    isEmpty = isEmpty || operand->elements() == 0;
    if (!operand->isDense() || operand->dtype != type)
      return plain;
  }
  if (isEmpty || (type != DType::f32 && type != DType::bf16))
    return plain;
  SLUICE_ASSIGN_OR_RETURN(ConvolutionShape shape,
                          ConvolutionShape::of(Check(name, request), request, *r.x, *r.weight, *r.y));
  std::uint64_t taken = 0;
  if (type == DType::bf16)
    for (const Operand *operand : {r.x, r.weight, r.bias, r.y})
      taken += static_cast<std::uint64_t>(widenedFloats(operand)) * 4;
  if (taken > request.workspace)
    return Check(name, request).workspace(taken);
  auto library = LibraryConvolution::make(kind, shape, r.bias != nullptr, request.threads, request.workspace - taken);
  if (!library.isOk())
    return plain;
  std::shared_ptr<LibraryConvolution> shared = std::move(*library);
  return type == DType::f32 ? direct(request, kind, shared) : widened(request, kind, shared);
}

constexpr FastKernel kernels[] = {
    {"conv2d", [](const KernelRequest &request) { return prepare(request, Kind::forward, "conv2d", reference::conv2d); }},
    {"conv2d_input_grad",
     [](const KernelRequest &request) {
       return prepare(request, Kind::inputGrad, "conv2d_input_grad", reference::conv2d_input_grad);
     }},
    {"conv2d_weight_grad",
     [](const KernelRequest &request) {
       return prepare(request, Kind::weightGrad, "conv2d_weight_grad", reference::conv2d_weight_grad);
     }},
};

} // namespace

FastKernels convolutionKernels() { return kernels; }

} // namespace sluice::cpu
