//===- Signature.h - the dims of a kernel's operands, as its record states them ---------------===//
//
// A record's `dims` names the operands in the record's order and relates their dims:
//
//   x[rows.. c!] weight[c!] -> y[rows.. c!] rstd[rows..]
//
//   c            a factor; dims of one factor have one extent, and ranks divide them together
//   rows..       any number of factors, the same for each operand that has the name
//   g*h          one dim of two factors, the outer one first
//   []           one element
//   c!           each rank needs all of the factor
//   c!a          the same if attribute `a` is not 0; `c!a=b`: if it has the choice `b`
//   rows..!dim   the same of the dim whose number is attribute `dim`
//   c@           the kernel takes the position of its part from the valid extent of this operand
//   c@a          the same if attribute `a` is not 0
//   ~rows..      broadcast: trailing dims align; a dim that is missing or has one element repeats
//   ~c           one element repeats; an operand before decides the factor
//   rows..-a     without the dims that attribute `a` names, or with one element there
//   a[m k]^t     the last two dims are exchanged if attribute `t` is not 0
//   bias[n]+     the kernel adds the operand to the result, so ranks must not divide a factor that it sums over
//
// A factor of operands alone is reduced; the record's `terms` combine the results of its parts. Tensors of a list have
// separate factors, and so have the parameters of an update.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_SIGNATURE_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_SIGNATURE_H

#include "runtime/kernel/catalogue/Record.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A dim of an operand, or a pack of dims.
struct SignatureDim {
  /// A factor or pack by its number in `Signature::names`, and the second factor of a dim of two; -1: none.
  int name = -1, inner = -1;
  bool isPack = false, isBroadcast = false, isPositioned = false, isFull = false;
  /// The condition of `isFull`: an attribute, and its choice; empty: always.
  std::string_view fullIf = {}, choice = {};
  /// The attribute that is not 0 if `isPositioned` holds; empty: always.
  std::string_view positionedIf = {};
  /// The attribute with the dims that the pack does not have here.
  std::string_view without = {};
};

struct SignatureOperand {
  std::string_view name;
  std::vector<SignatureDim> dims;
  /// The flag that exchanges the last two dims.
  std::string_view transposedIf = {};
  bool isAddend = false;
};

struct Signature {
  std::vector<std::string_view> names;
  std::vector<SignatureOperand> inputs, outputs;
  /// The first fault of the text, or a difference between the operands' names and those of the record; empty if there
  /// is none.
  std::string fault;
  /// Each element of the results depends on the same element of the operands, with broadcasting.
  bool isPointwise = false;
};

/// The record's signature, parsed once.
const Signature &signatureOf(const KernelRecord &record);
/// Parses `record.dims`; for tests.
Signature parseSignature(const KernelRecord &record);

} // namespace sluice

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_SIGNATURE_H
