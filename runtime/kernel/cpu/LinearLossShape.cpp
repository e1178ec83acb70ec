//===- LinearLossShape.cpp - the operands of a loss with its projection, resolved ---===//
#include "runtime/kernel/cpu/LinearLossShape.h"

#include <algorithm>

namespace sluice::cpu {

Result<LinearLossShape> LinearLossShape::of(std::string_view kernel, const KernelRequest &request, const Operand &x,
                                            const Operand &weight, const Operand &targets, const Operand &lse,
                                            const Operand &loss) {
  Check check(kernel, request);
  for (const Operand *operand : {&x, &weight, &lse, &loss})
    SLUICE_RETURN_IF_ERROR(check.computable(*operand));
  SLUICE_RETURN_IF_ERROR(check.integer(targets));
  if (x.rank < 1)
    return check.rank(x, 1);
  SLUICE_RETURN_IF_ERROR(check.rank(weight, 2));
  SLUICE_RETURN_IF_ERROR(check.dim(weight, 1, x.extent[x.rank - 1]));
  SLUICE_RETURN_IF_ERROR(check.dtype(weight, x.dtype));
  for (const Operand *operand : {&targets, &lse}) {
    SLUICE_RETURN_IF_ERROR(check.rank(*operand, x.rank - 1));
    SLUICE_RETURN_IF_ERROR(check.dims(*operand, 0, x.rank - 1, x));
  }
  SLUICE_RETURN_IF_ERROR(check.scalar(loss));
  LinearLossShape shape;
  shape.columns = x.extent[x.rank - 1];
  shape.classes = weight.extent[0];
  shape.rows = targets.elements();
  std::int64_t chunk = integerAttribute(request, "rows", 1);
  if (chunk < 1)
    return check.refuse("rows, expected at least 1 but got " + std::to_string(chunk));
  shape.chunk = std::min(chunk, std::max<std::int64_t>(shape.rows, 1));
  shape.loss.classes = shape.loss.total = shape.classes;
  shape.loss.ignore = integerAttribute(request, "ignore_index", -100);
  shape.loss.mean = integerAttribute(request, "reduction", 0) == 0;
  shape.loss.smoothing = numberAttribute(request, "label_smoothing", 0);
  return shape;
}

} // namespace sluice::cpu
