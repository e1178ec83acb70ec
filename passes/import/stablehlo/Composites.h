//===- Composites.h - composite ops from primitives of StableHLO ----------------------------===//
//
// jax.nn writes softmax, logsumexp and losses as primitives. The op at the end of each looks back at the calls before.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_STABLEHLO_COMPOSITES_H
#define SLUICE_PASSES_IMPORT_STABLEHLO_COMPOSITES_H

#include "passes/import/stablehlo/Translation.h"

namespace sluice::stablehlo {

/// sum / n ==> mean over the dims of the sum; of all rows of logsumexp(x) - x[target] cross_entropy
std::optional<std::string> meanOf(Translation &graph, const std::string &sum, double count);
/// exp(x - max) / sum(exp(x - max)) ==> softmax
std::optional<std::string> softmaxOf(Translation &graph, const std::string &dividend, const std::string &divisor);
/// log(sum(exp(x - max))) + max ==> logsumexp
std::optional<std::string> logSumExpOf(Translation &graph, const std::string &a, const std::string &b);
/// (x - max) - log(sum(exp(x - max))) ==> log_softmax
std::optional<std::string> logSoftmaxOf(Translation &graph, const std::string &a, const std::string &b);
/// log_softmax(x)[target] ==> x[target] - logsumexp(x)
std::optional<std::string> logProbabilityOf(Translation &graph, const std::string &x, std::int64_t dim,
                                            const std::string &index);
/// 1 / (1 + exp(-x)) ==> sigmoid
std::optional<std::string> sigmoidOf(Translation &graph, const std::string &divisor);
/// x 0.5 (1 + erf(x / sqrt 2)), or with tanh(sqrt(2 / pi) (x + 0.044715 x^3)) ==> gelu
std::optional<std::string> geluOf(Translation &graph, const std::string &a, const std::string &b);
/// (x - mean(x)) rsqrt(variance(x) + epsilon) weight + bias over the last dim ==> layer_norm
std::optional<std::string> layerNormOf(Translation &graph, const std::string &a, const std::string &b);
/// where(i < 0, i + size, i) ==> i for an input i that indexes a dim of this size. The trainer checks its values.
std::string withoutNegativeIndices(Translation &graph, const std::string &index, std::int64_t size);

} // namespace sluice::stablehlo

#endif // SLUICE_PASSES_IMPORT_STABLEHLO_COMPOSITES_H
