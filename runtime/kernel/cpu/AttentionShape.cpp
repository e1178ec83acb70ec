//===- AttentionShape.cpp - resolving the operands of attention ---------------===//
#include "runtime/kernel/cpu/AttentionShape.h"

#include <cmath>

namespace sluice::cpu {

namespace {

/// Operands of `likeQ` have the extents of q, those of `likeK` the extents of k; `statistics` has [B, H, T].
Result<AttentionShape> shapeOf(const KernelRequest &request, const Operand &q, const Operand &k,
                               std::initializer_list<const Operand *> likeQ,
                               std::initializer_list<const Operand *> likeK, const Operand &statistics) {
  Check check(request);
  SLUICE_RETURN_IF_ERROR(check.rank(q, 4));
  SLUICE_RETURN_IF_ERROR(check.rank(k, 4));
  AttentionShape shape;
  shape.batch = q.extent[0];
  shape.queries = q.extent[1];
  shape.heads = q.extent[2];
  shape.size = q.extent[3];
  shape.keys = k.extent[1];
  shape.keyHeads = k.extent[2];
  SLUICE_RETURN_IF_ERROR(check.dim(k, 0, shape.batch));
  SLUICE_RETURN_IF_ERROR(check.dim(k, 3, shape.size));
  for (const Operand *operand : likeK)
    SLUICE_RETURN_IF_ERROR(check.extent(*operand, k));
  for (const Operand *operand : likeQ)
    SLUICE_RETURN_IF_ERROR(check.extent(*operand, q));
  SLUICE_RETURN_IF_ERROR(check.rank(statistics, 3));
  SLUICE_RETURN_IF_ERROR(check.dim(statistics, 0, shape.batch));
  SLUICE_RETURN_IF_ERROR(check.dim(statistics, 1, shape.heads));
  SLUICE_RETURN_IF_ERROR(check.dim(statistics, 2, shape.queries));
  if (shape.keyHeads < 1 || shape.heads % shape.keyHeads)
    return check.refuse("key heads, expected a divisor of ", shape.heads, " but got ", shape.keyHeads);
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
  return shape;
}

} // namespace

Result<AttentionShape> AttentionShape::ofForward(const KernelRequest &request) {
  const auto &in = request.inputs, &out = request.outputs;
  return shapeOf(request, in[0], in[1], {&out[0]}, {&in[2]}, out[1]);
}

Result<AttentionShape> AttentionShape::ofGradient(const KernelRequest &request) {
  const auto &in = request.inputs, &out = request.outputs;
  return shapeOf(request, in[1], in[2], {&in[0], &in[4], &out[0]}, {&in[3], &out[1], &out[2]}, in[5]);
}

} // namespace sluice::cpu
