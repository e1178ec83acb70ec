//===- MatmulShape.cpp - resolving the operands of a matrix product -----------===//
#include "runtime/kernel/cpu/MatmulShape.h"

namespace sluice::cpu {
namespace {

/// Strides of the batch dims of `operand` over those of `c`.
void batchStrides(const Operand &operand, const Operand &c, Dims &strides) {
  int missing = c.rank - operand.rank;
  for (int d = 0; d < operand.rank - 2; ++d)
    if (operand.extent[d] != 1)
      strides[missing + d] = operand.strides[d];
}

} // namespace

Result<MatmulShape> MatmulShape::of(const KernelRequest &request) {
  Check check(request);
  MatmulShape shape;
  bool transposeA = request.attributes->integer("transpose_a"), transposeB = request.attributes->integer("transpose_b");
  // matmul_gelu_grad has no bias, and only matmul has a residual.
  bool hasBias = request.attributes->integer("bias", 0), hasResidual = request.attributes->integer("residual", 0);
  const Operand &a = request.inputs[0], &b = request.inputs[1], &c = request.outputs[0];
  SLUICE_RETURN_IF_ERROR(check.dtype(b, a.dtype));
  shape.m = c.extent[c.rank - 2];
  shape.n = c.extent[c.rank - 1];
  shape.k = a.extent[transposeA ? a.rank - 2 : a.rank - 1];
  shape.aM = a.strides[transposeA ? a.rank - 1 : a.rank - 2];
  shape.aK = a.strides[transposeA ? a.rank - 2 : a.rank - 1];
  shape.bK = b.strides[transposeB ? b.rank - 1 : b.rank - 2];
  shape.bN = b.strides[transposeB ? b.rank - 2 : b.rank - 1];
  shape.cM = c.strides[c.rank - 2];
  shape.cN = c.strides[c.rank - 1];
  shape.batchRank = c.rank - 2;
  shape.batchExtent = c.extent;
  shape.cBatch = c.strides;
  batchStrides(a, c, shape.aBatch);
  batchStrides(b, c, shape.bBatch);
  if (hasBias) {
    shape.bias = 2;
    const Operand &bias = request.inputs[2];
    shape.biasN = bias.strides[0];
  }
  if (hasResidual) {
    shape.residual = 2 + hasBias;
    const Operand &residual = request.inputs[shape.residual];
    shape.rBatch = residual.strides;
    shape.rM = residual.strides[c.rank - 2];
    shape.rN = residual.strides[c.rank - 1];
  }
  return shape;
}

} // namespace sluice::cpu
