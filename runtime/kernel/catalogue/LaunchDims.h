//===- LaunchDims.h - relates the extents of a launch by the signature of its kernel ----===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_LAUNCHDIMS_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_LAUNCHDIMS_H

#include "runtime/kernel/catalogue/Record.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using Extents = std::span<const std::int64_t>;

/// A factor of a launch.
struct LaunchFactor {
  std::int64_t size = 1;
  /// Each rank needs all of it.
  bool isFull = false;
};
/// A dim of an operand of a launch.
struct LaunchDim {
  /// Numbers of factors, outermost first; none: the dim has or repeats one element.
  std::vector<int> factors;
  bool isPositioned = false;
};
/// The factors of a launch, in the order in which operands name them.
struct LaunchDims {
  std::vector<LaunchFactor> factors;
  std::vector<std::vector<LaunchDim>> inputs, outputs;
  /// How results combine that lack a factor which ranks divide; none: ranks must not divide it.
  KernelTerms terms = KernelTerms::none;
  /// The first input that each rank adds to its result, or the number of inputs.
  std::size_t firstAddend = 0;
};

/// The operand whose extents differ from the signature.
struct ExtentProblem {
  bool isOutput = false;
  std::size_t operand = 0;
  /// `[3, c]`: the extents that other operands decide, and the names of the others.
  std::string expected;
};

/// The factors of a launch with these operands; nullopt, and the first operand that does not fit, if extents differ.
/// The record has a signature, and the numbers of operands are as expectedOperands returns them.
std::optional<LaunchDims> launchDims(const KernelRecord &record, const Attributes &attributes,
                                     std::span<const Extents> inputs, std::span<const Extents> outputs,
                                     ExtentProblem *problem = nullptr);

/// The extents of the outputs of a launch with these inputs, for a signature whose outputs have no names that inputs
/// lack; nullopt, and the first operand that does not fit, if extents differ.
std::optional<std::vector<std::vector<std::int64_t>>> resultExtents(const KernelRecord &record,
                                                                    const Attributes &attributes,
                                                                    std::span<const Extents> inputs,
                                                                    ExtentProblem *problem = nullptr);

/// Extents by the names of a signature: one of a factor, any number of a pack.
using NamedExtents = std::map<std::string_view, std::vector<std::int64_t>>;
struct OperandExtents {
  const OperandRecord *record;
  std::vector<std::int64_t> extents;
};
/// Operands of a launch, without those that the attributes do not give, and with one tensor of each list.
struct LaunchExtents {
  std::vector<OperandExtents> inputs, outputs;
};
/// Operands whose names have the extents `names`, which has all names of the signature and may have others.
/// `withOptional`: also those optional ones that no attribute decides.
LaunchExtents launchExtents(const KernelRecord &record, const Attributes &attributes, const NamedExtents &names,
                            bool withOptional = false);

} // namespace sluice

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_LAUNCHDIMS_H
