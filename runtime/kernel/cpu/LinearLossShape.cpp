//===- LinearLossShape.cpp - the operands of a loss with its projection, resolved ---===//
#include "runtime/kernel/cpu/LinearLossShape.h"

#include <algorithm>

namespace sluice::cpu {

Result<LinearLossShape> LinearLossShape::of(const KernelRequest &request, const LinearLossOperands &operands) {
  const Operand &x = *operands.x, &weight = *operands.weight;
  Check check(request);
  LinearLossShape shape;
  for (const Operand *scalar : {operands.loss, operands.dloss})
    if (scalar) {
      SLUICE_ASSIGN_OR_RETURN(shape.loss, CrossEntropyShape::of(request, x, *operands.targets, *operands.lse, *scalar));
    }
  SLUICE_RETURN_IF_ERROR(check.dtype(weight, x.dtype));
  shape.columns = x.extent[x.rank - 1];
  shape.classes = shape.loss.classes = shape.loss.total = weight.extent[0];
  for (auto [gradient, like] : {std::pair(operands.dx, &x), std::pair(operands.dweight, &weight)})
    if (gradient) {
      // The gradient of a weight of 16 bits may be accumulated in f32.
      const bool isWide = gradient == operands.dweight && dtypeBytes(like->dtype) == 2 && gradient->dtype == DType::f32;
      if (!isWide)
        SLUICE_RETURN_IF_ERROR(check.dtype(*gradient, like->dtype));
    }
  shape.addsWeight = operands.dweight && request.adds[static_cast<std::size_t>(operands.dweight - &request.outputs[0])];
  shape.rows = operands.targets->elements();
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
