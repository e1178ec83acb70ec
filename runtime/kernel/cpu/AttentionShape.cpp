//===- AttentionShape.cpp - resolving the operands of attention ---------------===//
#include "runtime/kernel/cpu/AttentionShape.h"

#include <cmath>

namespace sluice::cpu {

Result<AttentionShape> AttentionShape::of(const KernelRequest &request, const Operand &q, const Operand &k,
                                          const Operand &v, std::initializer_list<const Operand *> likeQ,
                                          const Operand &statistics) {
  Check check(request);
  for (const Operand *operand : {&q, &k, &v})
    SLUICE_RETURN_IF_ERROR(check.rank(*operand, 4));
  AttentionShape shape;
  shape.batch = q.extent[0];
  shape.queries = q.extent[1];
  shape.heads = q.extent[2];
  shape.size = q.extent[3];
  shape.keys = k.extent[1];
  shape.keyHeads = k.extent[2];
  SLUICE_RETURN_IF_ERROR(check.dim(k, 0, shape.batch));
  SLUICE_RETURN_IF_ERROR(check.dim(k, 3, shape.size));
  SLUICE_RETURN_IF_ERROR(check.extent(v, k));
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

} // namespace sluice::cpu
