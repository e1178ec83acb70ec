//===- KernelRules.h - the kernels that implement ops, and by which dims they may be divided -----===//
//
// This table and the rules in KernelRules.cpp are the part of the proof that states facts about kernels. They are
// written from docs/spec/model.md and the kernel records, independently of the dialects.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_KERNELRULES_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_KERNELRULES_H

#include "runtime/plan/Plan.h"
#include "runtime/plan/check/proof/Indexing.h"

#include <string>
#include <string_view>

namespace sluice::check::proof {

/// The kernel that computes the op; empty if the table has none.
std::string_view kernelOfOp(std::string_view op);
/// The ops of the table.
std::vector<std::string_view> opsWithKernels();

/// True for the kernels of the table.
bool kernelHasRule(std::string_view kernel);

/// True for updates of any number of parameters by one launch.
bool isUpdateKernel(std::string_view kernel);
/// The last operands of an update, which all of its parameters share: learning rate, step, clip coefficient, guard.
inline constexpr std::size_t updateScalars = 4;

/// The first attribute of the launch that differs from those of the op, with both values; empty if they agree. The
/// attributes of a launch are those of the kernel's record, an absent one has the record's value.
std::string differingAttribute(const plan::ProgramKindT &kind, std::span<const Shape> operands, std::string_view kernel,
                               const plan::LaunchT &launch);

/// Dims of operands and results that are divided together have one factor. -1: the dim repeats one element.
struct Factors {
  std::vector<std::vector<int>> operands, results;
  std::size_t count = 0;
};

/// The factors of a launch of the op; nullopt if it may not be divided, so all operands must be unsharded.
std::optional<Factors> factorsOf(const plan::ProgramKindT &kind, std::span<const Shape> operands,
                                 std::span<const Shape> results);

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_KERNELRULES_H
