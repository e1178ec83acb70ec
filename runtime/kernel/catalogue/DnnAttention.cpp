//===- DnnAttention.cpp - attention that cuDNN computes ---------------------------===//
#include "runtime/kernel/catalogue/DnnAttention.h"

#include <algorithm>
#include <initializer_list>

namespace sluice::cuda {
namespace {

/// 2 GiB of scores, as of 2 x 4,096 tokens with 32 heads, and a little for the rest.
constexpr std::uint64_t mostWorkspace = std::uint64_t(2064) << 20;
/// Tiles of queries and keys of the engine for sm_90.
constexpr std::uint64_t queryTile = 64, keyTile = 128;
/// A counter of the engine, rounded up.
constexpr std::uint64_t counters = 256;

constexpr std::uint64_t roundedUp(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace

std::string dnnAttentionProblem(std::span<const Operand> inputs, std::span<const Operand> outputs) {
  // The results of attention are out and lse.
  if (inputs.size() != (outputs.size() == 2 ? 3 : 6))
    return "a mask, a bias, documents or dropout of attention";
  const DType type = inputs[0].dtype;
  const std::int64_t size = inputs[0].extent[3], keys = inputs[inputs.size() == 3 ? 1 : 2].extent[1];
  bool areAlike = type == DType::bf16 || type == DType::f16, areRows = true;
  for (const std::span<const Operand> operands : {inputs, outputs})
    for (const Operand &operand : operands) {
      areAlike &= operand.dtype == (operand.rank == 4 ? type : DType::f32);
      if (operand.rank == 4)
        areRows &= operand.strides[3] == 1 && operand.strides[0] % 8 == 0 && operand.strides[1] % 8 == 0 &&
                   operand.strides[2] % 8 == 0;
    }
  if (!areAlike)
    return "element types of attention, expected bf16 or f16 throughout and statistics in f32";
  if (size % 8 != 0 || size > 128)
    return "head size, expected a multiple of 8 of at most 128 but got " + std::to_string(size);
  if (keys > (1 << 30))
    return "keys, expected at most 2^30 but got " + std::to_string(keys);
  if (!areRows)
    return "strides of attention, expected 1 within a head and multiples of 8 elsewhere";
  return {};
}

DnnAttentionGrad::DnnAttentionGrad(const Operand &q, const Operand &k, std::int64_t rows)
    : rows(static_cast<std::uint64_t>(rows <= 0 ? q.shape[0] : std::min(rows, q.shape[0]))),
      queries(static_cast<std::uint64_t>(q.shape[1])), keys(static_cast<std::uint64_t>(k.shape[1])),
      heads(static_cast<std::uint64_t>(q.shape[2])), keyHeads(static_cast<std::uint64_t>(k.shape[2])),
      size(static_cast<std::uint64_t>(q.shape[3])) {}

std::uint64_t DnnAttentionGrad::workspace() const {
  const std::uint64_t planes = rows * heads;
  const std::uint64_t scores = planes * roundedUp(queries, queryTile) * roundedUp(keys, keyTile) * 2;
  const std::uint64_t perHead = heads == keyHeads ? 0 : planes * keys * size * 2;
  return roundedUp(planes * queries * 4, 256) + scores + 2 * perHead + counters;
}

bool canDivideDnnAttentionGrad(const Operand &q, std::int64_t rows) {
  const std::int64_t batch = q.shape[0];
  return rows == batch || (rows > 0 && batch % rows == 0 && rows * q.shape[1] * q.shape[2] % 4 == 0);
}

std::int64_t dnnAttentionGradRows(const Operand &q, const Operand &k) {
  std::int64_t chosen = q.shape[0];
  for (std::int64_t rows = chosen; rows > 0 && DnnAttentionGrad(q, k, chosen).workspace() > mostWorkspace; --rows)
    if (canDivideDnnAttentionGrad(q, rows))
      chosen = rows;
  return chosen;
}

} // namespace sluice::cuda
