//===- Catalogue.h - the records of all kernels, and functions of them ---------===//
//
// The part of the kernels that the compiler and the plan checker link: no kernel, no matrix library, no threads.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_CATALOGUE_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_CATALOGUE_H

#include "runtime/base/Status.h"
#include "runtime/kernel/catalogue/Record.h"

#include <string>
#include <utility>

namespace sluice {

/// All records, by KernelId.
std::span<const KernelRecord> catalogue();
/// Null for an unknown name.
const KernelRecord *findKernelRecord(std::string_view name);
const KernelRecord &kernelRecord(KernelId id);
std::string_view kernelName(KernelId id);
std::uint32_t catalogueVersion();

/// Number of operands of a launch.
struct OperandCounts {
  std::size_t inputs = 0, outputs = 0;
  /// `inputs` is the least number.
  bool isAtLeast = false;
};
/// The counts for a launch with these attributes, given how many operands it has: they decide on optional operands and
/// on the number of parameters of an update.
OperandCounts expectedOperands(const KernelRecord &record, const Attributes &attributes, std::size_t inputs,
                               std::size_t outputs);
/// The records of a launch's operands, one per operand. The launch has the expected number of them.
std::vector<const OperandRecord *> inputRecords(const KernelRecord &record, const Attributes &attributes,
                                                std::size_t inputs);
std::vector<const OperandRecord *> outputRecords(const KernelRecord &record, const Attributes &attributes,
                                                 std::size_t outputs);

/// True for a kernel that computes one output from one input, for each tensor of a list. A launch with inputs that an
/// attribute gives is not of a list.
bool computesEach(const KernelRecord &record);

/// (input, output) indices of a launch's operands by the record's alias pairs.
using AliasPairs = std::vector<std::pair<unsigned, unsigned>>;
AliasPairs mayAliasPairs(const KernelRecord &record, const Attributes &attributes, std::size_t inputs,
                         std::size_t outputs);
AliasPairs mustAliasPairs(const KernelRecord &record, const Attributes &attributes, std::size_t inputs,
                          std::size_t outputs);

/// "an integer", "a number" or "a list of integers": how a plan stores an attribute of the kind.
std::string_view kindText(AttributeKind kind);
/// The error in an attribute's presence or value, without the kernel's name; empty for a valid one. An attribute that
/// the record does not have is an error.
std::string attributeProblem(const KernelRecord &record, const Attributes &attributes);
/// Adds the record's fallbacks of absent attributes.
Attributes withFallbacks(const KernelRecord &record, const Attributes &attributes);

/// Ok, or a refusal that names the kernel and the difference from the record: in the number of operands, an element
/// type, or the presence or value of an attribute of the record. Kernels ignore other attributes.
Status checkLaunch(const KernelRecord &record, std::span<const Operand> inputs, std::span<const Operand> outputs,
                   const Attributes &attributes);

/// Ok, or a refusal that names the first operand whose valid extents differ from the record's signature. The launch has
/// the expected number of operands.
Status checkExtents(const KernelRecord &record, std::span<const Operand> inputs, std::span<const Operand> outputs,
                    const Attributes &attributes);

/// The target for which a plan's kernels are chosen.
struct KernelTarget {
  /// "cpu" or "cuda".
  std::string_view device = "cpu";
  int threads = 1;
  /// "avx2" or "avx512".
  std::string_view isa = {};
};

/// The distance in elements of rows of `columns` elements of two bytes with which products of a CUDA library are fast:
/// rows begin at multiples of 16 bytes, and of 128 bytes where that costs little.
constexpr std::int64_t alignedPitch(std::int64_t columns) {
  const std::int64_t multiple = columns % 8 == 0 ? 1 : columns < 512 ? 8 : 64;
  return (columns + multiple - 1) / multiple * multiple;
}

/// Workspace cap in bytes that a plan declares for a launch on the target, enough for every implementation of the
/// kernel there (docs/kernels.md, docs/cuda-kernels.md). 0 for an unknown kernel, and for a launch whose number of
/// operands or whose ranks the kernel refuses.
std::uint64_t workspaceCap(std::string_view name, std::span<const Operand> inputs, std::span<const Operand> outputs,
                           const Attributes &attributes, const KernelTarget &target);

} // namespace sluice

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_CATALOGUE_H
