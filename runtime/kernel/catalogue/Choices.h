//===- Choices.h - named values that dialect, CPU and GPU kernels share ----------===//
//
// Device code reads them too. The enumerators of an attribute are the integers in a plan, the names those of the model
// dialect.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_CHOICES_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_CHOICES_H

#include <cstdint>
#include <string_view>

namespace sluice::kernel {

/// `predicate` of compare: a == b, a != b, a < b, a <= b, a > b, a >= b.
enum class ComparePredicate : std::uint8_t { eq, ne, lt, le, gt, ge };
inline constexpr std::string_view comparePredicateNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};

/// `approximate` of gelu: the exact form, or the approximation by tanh.
enum class GeluForm : std::uint8_t { erf, tanh };
inline constexpr std::string_view geluFormNames[] = {"none", "tanh"};

/// `reduction` of the losses.
enum class LossReduction : std::uint8_t { mean, sum };
inline constexpr std::string_view lossReductionNames[] = {"mean", "sum"};

/// Update rules. No attribute: each has a kernel.
enum class OptimizerKind : std::uint8_t { sgd, adam, adamw };

} // namespace sluice::kernel

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_CHOICES_H
