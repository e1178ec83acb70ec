//===- LinearLossShape.cpp - the operands of a loss with its projection, resolved ---===//
#include "runtime/kernel/cpu/LinearLossShape.h"

#include <algorithm>

namespace sluice::cpu {

Result<LinearLossShape> LinearLossShape::of(const KernelRequest &request, const Operand &x, const Operand &weight,
                                            const Operand &targets, const Operand &lse, const Operand &loss) {
  Check check(request);
  LinearLossShape shape;
  SLUICE_ASSIGN_OR_RETURN(shape.loss, CrossEntropyShape::of(request, x, targets, lse, loss));
  SLUICE_RETURN_IF_ERROR(check.rank(weight, 2));
  SLUICE_RETURN_IF_ERROR(check.dim(weight, 1, x.extent[x.rank - 1]));
  SLUICE_RETURN_IF_ERROR(check.dtype(weight, x.dtype));
  shape.columns = x.extent[x.rank - 1];
  shape.classes = shape.loss.classes = shape.loss.total = weight.extent[0];
  shape.rows = targets.elements();
  std::int64_t chunk = request.attributes->integer("rows");
  if (chunk < 1)
    return check.refuse("rows, expected at least 1 but got ", chunk);
  shape.chunk = std::min(chunk, std::max<std::int64_t>(shape.rows, 1));
  return shape;
}

Operand matrixOf(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t rowStride,
                 std::int64_t columnStride) {
  Operand operand;
  operand.dtype = dtype;
  operand.rank = 2;
  operand.shape = operand.extent = operand.global = {rows, columns};
  operand.strides = {rowStride, columnStride};
  return operand;
}

} // namespace sluice::cpu
