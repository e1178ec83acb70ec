//===- AttentionShape.h - the operands of attention, resolved -----------------===//
//
// q [B, T, H, D]; k, v [B, S, G, D] with G dividing H: query head h reads key head h / (H / G). Causal: query t reads
// keys up to t + S - T, under a window the last `window` of them. Row statistics [B, H, T] are the logarithm of the sum
// of exponentials of the scaled scores, to which a bias is added and from which a mask hides keys. A row without keys
// has results and gradients of 0. Dropout keeps a probability by its index in [B, H, T, S]. In packed rows a query
// reads the keys of its document.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ATTENTIONSHAPE_H
#define SLUICE_RUNTIME_KERNEL_CPU_ATTENTIONSHAPE_H

#include "runtime/kernel/cpu/Bound.h"
#include "runtime/kernel/cpu/DropoutMask.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace sluice::cpu {

/// Limit of D, so that a row fits on the stack.
inline constexpr std::int64_t maxHeadSize = 512;

struct AttentionShape {
  std::int64_t batch = 0, queries = 0, keys = 0, heads = 0, keyHeads = 0, size = 0;
  double scale = 1;
  bool causal = false;
  /// Largest number of keys that a query reads; all keys without a window.
  std::int64_t window = 0;
  /// The inputs that are the mask and the bias, whose dims may be 1 in place of [B, H, T]; 0: none.
  std::size_t mask = 0, bias = 0;
  /// The output 3 is the gradient of the bias.
  bool hasBiasGrad = false;
  std::optional<DropoutMask> dropout;
  /// The input with the index of the first token of each token's document, [B, T]; 0: none.
  std::size_t documents = 0;
  /// Of a part of the keys, for the indices of dropout: the number of the first one, and of all.
  std::int64_t keyOrigin = 0, allKeys = 0;

  bool changesScores() const { return mask != 0 || bias != 0; }
  std::int64_t headsPerKey() const { return heads / keyHeads; }
  /// Keys that query t reads: [firstKey(t), visible(t)).
  std::int64_t visible(std::int64_t t) const { return causal ? t + 1 + keys - queries : keys; }
  std::int64_t firstKey(std::int64_t t) const { return std::max<std::int64_t>(0, visible(t) - window); }
  /// Queries that read key j: [firstQuery(j), endQuery(j)).
  std::int64_t firstQuery(std::int64_t j) const { return causal ? std::max<std::int64_t>(0, j + queries - keys) : 0; }
  std::int64_t endQuery(std::int64_t j) const {
    return causal ? std::min(queries, j + queries - keys + window) : queries;
  }

  /// Of a request of `attention` or of `attention_grad`.
  static Result<AttentionShape> ofForward(const KernelRequest &request);
  static Result<AttentionShape> ofGradient(const KernelRequest &request);

  /// The document of a token.
  std::int64_t documentOf(const Call &call, std::int64_t b, std::int64_t t) const {
    const Operand &o = call.inputs[documents];
    return loadInteger(o.data, o.dtype, b * o.strides[0] + t * o.strides[1]);
  }
};

/// Attention within one document, with the operands' parts.
struct DocumentAttention {
  AttentionShape shape;
  Call call;
};
/// Of all rows of a call with documents, in their order.
std::vector<DocumentAttention> documentsOf(const AttentionShape &shape, const Call &call);

/// The dropout of the probabilities in one call. `statistics`: the operand lse, whose position is that of the shard.
class ProbabilityDropout {
public:
  ProbabilityDropout(const AttentionShape &s, const Call &call, const Operand &statistics)
      : keys(static_cast<std::uint64_t>(s.allKeys)), keyOrigin(static_cast<std::uint64_t>(s.keyOrigin)),
        factor(s.dropout->factor), draws(s.dropout->draws(call)), rows(statistics, s.dropout->row(call)) {}

  /// The factor of one probability: 0 if it is dropped.
  double at(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t j) const {
    const std::uint64_t index = indexOf(b, h, t, j);
    return draws.keeps(draws.block(index / 4), index) ? factor : 0;
  }
  /// Those of the keys [first, first + count) of a query.
  void fill(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t first, std::int64_t count,
            float *factors) const {
    fillDropoutFactors(draws, static_cast<float>(factor), indexOf(b, h, t, first), factors, count);
  }

private:
  std::uint64_t indexOf(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t j) const {
    const std::int64_t row = b * rows.strides[0] + h * rows.strides[1] + t * rows.strides[2];
    return (rows.first + static_cast<std::uint64_t>(row)) * keys + keyOrigin + static_cast<std::uint64_t>(j);
  }

  std::uint64_t keys, keyOrigin;
  double factor;
  DropoutMask::Draws draws;
  GlobalIndex rows;
};

/// The offset of a query's row of a mask or a bias.
inline std::int64_t scoreRowAt(const Operand &o, std::int64_t b, std::int64_t h, std::int64_t t) {
  return (o.extent[0] == 1 ? 0 : b * o.strides[0]) + (o.extent[1] == 1 ? 0 : h * o.strides[1]) +
         (o.extent[2] == 1 ? 0 : t * o.strides[2]);
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ATTENTIONSHAPE_H
