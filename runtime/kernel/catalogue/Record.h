//===- Record.h - the record of a kernel --------------------------------------===//
//
// A record states the operands and attributes of a launch, which operands may share memory, and the workspace.
// Implementations are found by KernelId (runtime/kernel/Kernel.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_RECORD_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_RECORD_H

#include "runtime/kernel/catalogue/Operand.h"

#include <initializer_list>

namespace sluice {

/// One enumerator per record, in the catalogue's order. Plans name kernels by their names.
enum class KernelId : std::uint16_t {
#define SLUICE_KERNEL(name, form, ...) name,
#include "runtime/kernel/catalogue/catalogue.def"
};

/// A list of at most N items, for constants.
template <typename T, std::size_t N> class RecordList {
public:
  constexpr RecordList() = default;
  constexpr RecordList(std::initializer_list<T> list) {
    for (const T &item : list)
      items[count++] = item;
  }
  constexpr const T *begin() const { return items; }
  constexpr const T *end() const { return items + count; }
  constexpr std::size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }

private:
  T items[N]{};
  std::size_t count = 0;
};

/// A set of element types.
class DTypeSet {
public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (DType dtype : dtypes)
      bits |= 1u << static_cast<unsigned>(dtype);
  }
  constexpr bool has(DType dtype) const { return bits >> static_cast<unsigned>(dtype) & 1; }

private:
  std::uint8_t bits = 0;
};

/// Number of operands of a launch that one operand of a record describes.
enum class OperandCount : std::uint8_t {
  one,
  /// Present by the attribute `given`, else by the number of inputs: all such operands of a record, or none.
  optional,
  oneOrMore,
  /// One per parameter of an update, or per tensor of a list; the operands of one are neighbours, before all others.
  each,
};

struct OperandRecord {
  std::string_view name;
  DTypeSet dtypes;
  OperandCount count = OperandCount::one;
  /// The attribute that is not 0 if the operand is present; empty: not by an attribute.
  std::string_view given = {};
};

enum class AttributeKind : std::uint8_t { integer, flag, choice, number, list };

/// The value of an attribute that a launch does not have: the fallback, or a number that the kernel computes; or an
/// error.
enum class AttributeAbsence : std::uint8_t { fallback, computed, refused };

struct AttributeRecord {
  std::string_view name;
  AttributeKind kind = AttributeKind::integer;
  AttributeAbsence absence = AttributeAbsence::fallback;
  /// The value of an absent integer, flag, choice or number; an absent list is empty.
  double fallback = 0;
  /// It chooses an implementation for a target, and does not change the function: no op has it.
  bool isImplementation = false;
  /// The names of the values of a choice, from 0.
  std::span<const std::string_view> choices = {};
};

/// An input and an output by name.
struct AliasRecord {
  std::string_view input, output;
};

/// What a kernel adds: two values, or a value to a sum in place.
enum class KernelAddition : std::uint8_t { none, ofValues, inPlace };

/// One of the kernels that a combined kernel computes.
struct PartRecord {
  KernelId kernel;
  /// Pairs of an operand's name in the record of the part and in that of the combined kernel, where they differ.
  RecordList<AliasRecord, 3> names = {};
};

/// The class of the reduction inside a kernel. The values are those of ReductionClass in runtime/plan/plan.fbs.
enum class KernelReduction : std::uint8_t { not_a_reduction, ordered, fixed, none };

/// How the results of the parts of a reduced factor are combined; none: they are not.
enum class KernelTerms : std::uint8_t { none, sum, maximum, logSumExp };

/// The class of work, for measured rates: bytes, a matrix product, a product by chunks of its result, a convolution as
/// a product, or attention.
enum class KernelWork : std::uint8_t { stream, product, chunkedProduct, convolution, attention };

/// The CPU implementation in addition to the reference.
enum class CpuForm : std::uint8_t { reference, fast };

/// A launch as the compiler sees it: shapes without memory, attributes with their defaults.
struct LaunchDescription {
  std::span<const Operand> inputs, outputs;
  const Attributes &attributes;
  int threads = 1;
  bool avx512 = false;
};

/// Bytes of scratch memory that a launch may take at most. Pure arithmetic on shapes.
using WorkspaceFunction = std::uint64_t (*)(const LaunchDescription &launch);

struct DeviceWorkspace {
  /// Null: the kernel of the device takes no workspace.
  WorkspaceFunction cpu = nullptr, cuda = nullptr;
};

struct KernelRecord {
  KernelId id;
  std::string_view name;
  CpuForm cpu = CpuForm::fast;
  std::string_view summary;
  /// The dims of the operands (Signature.h).
  std::string_view dims = {};
  KernelTerms terms = KernelTerms::none;
  /// Zeros in the padding of all operands add nothing to terms.
  bool ignoresZeros = false;
  /// The results are terms of a sum if all operands are.
  bool isLinear = false;
  /// The flag with which the kernel's results are not terms.
  std::string_view termsUnless = {};
  RecordList<OperandRecord, 12> inputs = {};
  RecordList<OperandRecord, 4> outputs = {};
  RecordList<AttributeRecord, 11> attributes = {};
  KernelReduction reduction = KernelReduction::not_a_reduction;
  /// Pairs of one type that may share memory if the input is not read afterwards, in order of preference.
  RecordList<AliasRecord, 6> mayAlias = {};
  /// Pairs that share memory: the kernel updates the input in place.
  RecordList<AliasRecord, 3> mustAlias = {};
  /// Inputs, the last ones, each given by an attribute of its name, that the kernel adds to an output: a launch can add
  /// to a sum. One that must share memory with its output is added to the rounded result, as `accumulate` adds it (a
  /// chunked loss adds its chunks to it one by one), and implementations find it in the output, not among their inputs.
  RecordList<AliasRecord, 3> sums = {};
  /// Added to a sum, the kernel reads and writes only the rows that its indices name; without one it writes all rows.
  bool addsToRows = false;
  DeviceWorkspace workspace = {};
  KernelWork work = KernelWork::stream;
  KernelAddition addition = KernelAddition::none;
  /// The kernels of which the kernel is the combination, in their order; a part may read the results of those before
  /// it.
  RecordList<PartRecord, 2> parts = {};

  /// The CUDA kernel is a matrix product of a library, which can leave SMs to other kernels.
  constexpr bool isLibraryProduct() const { return work == KernelWork::product || work == KernelWork::chunkedProduct; }
};

} // namespace sluice

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_RECORD_H
