//===- KernelRules.h - the kernels that implement ops, and by which dims they may be divided -----===//
//
// The dims of a kernel's operands are those of its record's signature (runtime/kernel/catalogue/Signature.h), which the
// dialect's sharding rules use too. unit-rules runs each kernel on the shards that it states.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_KERNELRULES_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_KERNELRULES_H

#include "runtime/kernel/catalogue/LaunchDims.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/check/proof/Contents.h"

#include <string>
#include <string_view>

namespace sluice::check::proof {

/// True for an op that the program of a plan may have.
bool isKnownOp(std::string_view op);
/// The record of the kernel that computes the op; null if no kernel does.
const KernelRecord *recordOfOp(std::string_view op);
/// Its name, or nothing.
std::string_view kernelOfOp(std::string_view op);
/// The attributes of a launch of the kernel that computes the op.
Attributes attributesOfOp(const plan::ProgramKindT &kind, std::span<const Shape> operands, const KernelRecord &record);

/// True for an op of each element of its operands alone, with broadcasting.
bool isPointwiseOp(std::string_view op);

/// True for updates of any number of parameters by one launch.
bool isUpdateKernel(std::string_view kernel);
/// The last operands of an update, which all of its parameters share: learning rate, step, clip coefficient, guard.
inline constexpr std::size_t updateScalars = 4;

/// The first attribute of the launch that differs from those of the op, with both values; empty if they agree. The
/// attributes of a launch are those of the kernel's record, an absent one has the record's value.
std::string differingAttribute(const plan::ProgramKindT &kind, std::span<const Shape> operands, std::string_view kernel,
                               const plan::LaunchT &launch);

/// The dim of an operand or result is a factor; or `outer` values of one, each of `inner` elements of a second one.
struct FactorDim {
  /// -1: the dim repeats one element. -2: the kernel needs the full dim on each rank.
  int factor = -1;
  /// The kernel takes the position of its chunk from the valid extent of this view.
  bool isPositioned = false;
  /// -1: none, or each rank needs all of it.
  int innerFactor = -1;
  std::int64_t outer = 1, inner = 1;
};
inline constexpr int repeatedDim = -1, fullDim = -2;

/// By which dims a kernel may be divided. Dims of one factor are divided together. Results without a factor that ranks
/// divide are terms, which `terms` completes.
struct Factors {
  std::vector<std::vector<FactorDim>> operands, results;
  std::size_t count = 0;
  /// nullopt: a factor that some result does not have may not be divided.
  std::optional<Terms> terms;
  /// Zeros in the padding of all operands add nothing to terms.
  bool ignoresZeros = false;
  /// The operands from this one on are added to the result, so no factor outside of results may be divided if there are
  /// any.
  std::size_t firstAddend = std::size_t(-1);
};

/// The factors of a launch of the op; nullopt if it may not be divided, so all operands must be unsharded.
std::optional<Factors> factorsOf(const plan::ProgramKindT &kind, std::span<const Shape> operands,
                                 std::span<const Shape> results);

/// True for an op whose results are terms of a sum if all its operands are.
bool isLinear(const plan::ProgramKindT &kind);

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_KERNELRULES_H
