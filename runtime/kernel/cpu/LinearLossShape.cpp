//===- LinearLossShape.cpp - the operands of a loss with its projection, resolved ---===//
#include "runtime/kernel/cpu/LinearLossShape.h"
#include "runtime/kernel/catalogue/Choices.h"

#include <algorithm>

namespace sluice::cpu {

Result<LinearLossShape> LinearLossShape::of(const KernelRequest &request, const Operand &x, const Operand &weight,
                                            const Operand &targets, const Operand &lse, const Operand &loss) {
  Check check(request);
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
  std::int64_t chunk = request.attributes->integer("rows");
  if (chunk < 1)
    return check.refuse("rows, expected at least 1 but got ", chunk);
  shape.chunk = std::min(chunk, std::max<std::int64_t>(shape.rows, 1));
  shape.loss.classes = shape.loss.total = shape.classes;
  shape.loss.ignore = request.attributes->integer("ignore_index");
  shape.loss.mean = request.attributes->choice<kernel::LossReduction>("reduction") == kernel::LossReduction::mean;
  shape.loss.smoothing = request.attributes->number("label_smoothing");
  return shape;
}

} // namespace sluice::cpu
