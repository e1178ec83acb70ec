//===- AttentionShape.cpp - resolving the operands of attention ---------------===//
#include "runtime/kernel/cpu/AttentionShape.h"

#include <cmath>

namespace sluice::cpu {

namespace {

/// `first`: the first input after the others that is a mask, a bias, documents or a seed, if there is one.
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
  shape.documents = request.attributes->integer("packed") != 0 ? first++ : 0;
  if (shape.documents != 0 && (shape.changesScores() || shape.keys != shape.queries))
    return check.refuse("documents, expected neither mask nor bias, and ", shape.queries, " keys but got ", shape.keys);
  shape.allKeys = shape.keys;
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

/// The tokens [begin, begin + count) of a row: dim 1 of [B, T, H, D], dim 2 of [B, H, T].
static Operand tokensOf(Operand operand, std::int64_t b, std::int64_t begin, std::int64_t count) {
  if (operand.rank < 3)
    return operand;
  const int t = operand.rank == 4 ? 1 : 2;
  const std::int64_t offset = b * operand.strides[0] + begin * operand.strides[t];
  operand.data = static_cast<std::byte *>(operand.data) + offset * static_cast<std::int64_t>(dtypeBytes(operand.dtype));
  operand.origin[0] += b;
  operand.origin[t] += begin;
  operand.extent[0] = 1;
  operand.extent[t] = count;
  return operand;
}

std::vector<DocumentAttention> documentsOf(const AttentionShape &shape, const Call &call) {
  std::vector<DocumentAttention> documents;
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t begin = 0, end = 0; begin < shape.queries; begin = end) {
      const std::int64_t document = shape.documentOf(call, b, begin);
      while (end < shape.queries && shape.documentOf(call, b, end) == document)
        ++end;
      const std::int64_t count = end - begin;
      DocumentAttention &one = documents.emplace_back(DocumentAttention{shape, call});
      one.shape.batch = 1;
      one.shape.queries = one.shape.keys = count;
      one.shape.window = std::min(shape.window, count);
      one.shape.keyOrigin = begin;
      for (std::vector<Operand> *operands : {&one.call.inputs, &one.call.outputs})
        for (Operand &operand : *operands)
          operand = tokensOf(operand, b, begin, count);
    }
  return documents;
}

} // namespace sluice::cpu
