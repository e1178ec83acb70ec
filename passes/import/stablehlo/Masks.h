//===- Masks.h - masks of random numbers ----------------------------------------------------===//
//
// An evaluation has no random numbers: a dropout is its operand there, and a mask of jax.random.bernoulli the
// probability that it is true. So a mask multiplies numbers, instead of choosing them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_STABLEHLO_MASKS_H
#define SLUICE_PASSES_IMPORT_STABLEHLO_MASKS_H

#include "passes/import/stablehlo/Translation.h"

namespace sluice::stablehlo {

/// Of ops that would read a mask in another way.
inline constexpr llvm::StringLiteral maskUse = "it reads a mask of jax.random.bernoulli as a truth value",
                                     maskRemedy = "choose floats by each mask with jnp.where, or multiply them by it";

/// Whether it is a mask of the marker of jax.random.bernoulli, the opposite of one, or a view of either.
bool isMask(const Translation &graph, const std::string &name);
/// 1 where a mask of isMask() is true, else 0; in an evaluation the probability that it is true. All readers of a mask
/// read the same random numbers.
std::string numbersOfMask(Translation &graph, const std::string &mask, ScalarType type);
/// where(mask, a, b) ==> a numbers + b (1 - numbers) of floats, whose value in an evaluation is the mean
std::optional<std::string> chosenByMask(Translation &graph, const std::string &mask, const std::string &a,
                                        const std::string &b);
/// x / p numbers ==> dropout for a mask that has no other reader, after all ops are read
void formDropouts(exported::Program &program);

} // namespace sluice::stablehlo

#endif // SLUICE_PASSES_IMPORT_STABLEHLO_MASKS_H
