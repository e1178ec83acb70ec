//===- Storage.h - the element types in which numbers were stored ----------------------------===//
//
// A root is a value over real numbers, which a cast does not change: Storage states what casts did.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_STORAGE_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_STORAGE_H

#include "runtime/plan/Plan.h"

#include <string>

namespace sluice::check::proof {

/// The element types in which numbers were stored since an op computed them. Wider types round less, so a tensor that
/// was in fewer types than a value of the program has the numbers of that value with fewer roundings.
class Storage {
public:
  Storage() = default;
  explicit Storage(plan::DType dtype);
  bool operator==(const Storage &) const = default;
  /// The numbers were stored in the types of both. An integer type replaces those before it.
  void add(Storage other) { bits = other.isInteger() ? other.bits : std::uint8_t(bits | other.bits); }
  /// True if the numbers were rounded to no type that `other` was not rounded to; for integers, if the types are equal.
  bool isWithin(Storage other) const {
    return isInteger() || other.isInteger() ? bits == other.bits : (bits & ~other.bits) == 0;
  }
  /// The narrowest types.
  std::string text() const;
  /// Different for different types.
  std::int64_t number() const { return bits; }

private:
  bool isInteger() const { return bits >= integers; }
  /// Floating-point types that do not have all numbers of f64, as bits; or an integer type, added to `integers`.
  static constexpr std::uint8_t integers = 0x80;
  std::uint8_t bits = 0;
};

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_STORAGE_H
