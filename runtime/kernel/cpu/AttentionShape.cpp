//===- AttentionShape.cpp - resolving the operands of attention ---------------===//
#include "runtime/kernel/cpu/AttentionShape.h"

#include <cmath>

namespace sluice::cpu {

namespace {

/// `first`: the first input after the others that is a mask, a bias or a seed, if there is one.
Result<AttentionShape> shapeOf(const KernelRequest &request, const Operand &q, const Operand &k, std::size_t first) {
  Check check(request);
  AttentionShape shape;
  shape.batch = q.extent[0];
  shape.queries = q.extent[1];
  shape.heads = q.extent[2];
  shape.size = q.extent[3];
  shape.keys = k.extent[1];
  shape.keyHeads = k.extent[2];
  if (shape.size < 1 || shape.size > maxHeadSize)
    return check.refuse("head size, expected 1 to ", maxHeadSize, " but got ", shape.size);
  shape.scale = request.attributes->number("scale", 1 / std::sqrt(static_cast<double>(shape.size)));
  shape.causal = request.attributes->integer("causal") != 0;
  if (shape.causal && shape.keys < shape.queries)
    return check.refuse("keys, expected at least ", shape.queries, " for causal rows but got ", shape.keys);
  std::int64_t window = request.attributes->integer("window");
  if (window < 0 || (window != 0 && !shape.causal))
    return check.refuse("window, expected 0, or a positive number with causal, but got ", window);
  shape.window = window == 0 ? shape.keys : std::min(window, shape.keys);
  shape.mask = request.attributes->integer("masked") != 0 ? first++ : 0;
  shape.bias = request.attributes->integer("biased") != 0 ? first++ : 0;
  if (request.attributes->number("dropout") != 0) {
    SLUICE_ASSIGN_OR_RETURN(shape.dropout, DropoutMask::of(request, "dropout", first));
  }
  shape.hasBiasGrad = request.outputs.size() > 3;
  return shape;
}

} // namespace

Result<AttentionShape> AttentionShape::ofForward(const KernelRequest &request) {
  return shapeOf(request, request.inputs[0], request.inputs[1], 3);
}

Result<AttentionShape> AttentionShape::ofGradient(const KernelRequest &request) {
  return shapeOf(request, request.inputs[1], request.inputs[2], 6);
}

} // namespace sluice::cpu
